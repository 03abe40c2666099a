"""Write containers/lock.txt: the exact versions of everything the containers install, as pip resolves them today."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = "# Written by `make lock`: what the containers install. Torch without local part serves builds with and without CUDA.\n"


def main() -> None:
    """Install into a new environment, ask what came, and keep all but the project itself."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.run([*pip, "install", "--quiet", "-c", ROOT / "constraints.txt", f"{ROOT}[lab,slides,dicom]"], check=True)
        frozen = subprocess.run([*pip, "freeze"], check=True, capture_output=True, text=True).stdout
    lines = [re.sub(r"\+\w+$", "", line) for line in frozen.splitlines() if "==" in line]
    (ROOT / "containers" / "lock.txt").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} versions in containers/lock.txt")


if __name__ == "__main__":
    main()
