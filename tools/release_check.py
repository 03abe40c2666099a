"""Build the wheel and the source archive and look at them as a stranger would: `make release-check`.

Every step prints one line; the first that fails ends the check with its output. What cannot be asked from here (an advisory
service that is out of reach) is printed, and `--strict` makes it a failure, as it must be where a release is made.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = (
    *(
        "recolorist/__init__.py",
        "recolorist/core/kernels/_kernels.abi3.so",
        "recolorist/py.typed",
        "recolorist/report/common.css",
    ),
    *(
        "recolorist_lab/__init__.py",
        "recolorist_lab/py.typed",
        "recolorist_lab/cli/main.py",
        "recolorist_lab/configs/spaces.toml",
    ),
)
SOURCES = (
    "src/recolorist/core/kernels/_kernels.c",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "CITATION.cff",
    "pyproject.toml",
    "setup.py",
)
FORBIDDEN = ("tests/", "benchmarks/", ".so.", "__pycache__", ".c", ".h", ".ipynb")
MOST_BYTES = 3_000_000  # an extra megabyte in a wheel is something that does not belong there
BUILT = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
ACTIVE = "from recolorist.core import kernels; print(kernels.active())"


class CheckError(Exception):
    """A step that failed, with its message."""


def main() -> int:
    """Run every step."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where the archives and the bill of materials go")
    parser.add_argument("--strict", action="store_true", help="fail where a step cannot be done from here")
    parser.add_argument(
        "--containers", action="store_true", help="also run the containers' install steps, with every extra (large)"
    )
    options = parser.parse_args()
    try:
        check(options.out, strict=options.strict, containers=options.containers)
    except CheckError as error:
        print(f"FAILED  {error}", file=sys.stderr)
        return 1
    return 0


def check(out: Path, *, strict: bool, containers: bool) -> None:
    """Build, look inside, install in empty environments, ask for known faults, write the bill of materials."""
    shutil.rmtree(out, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", out, ROOT)
    wheel, archive = (one(out.glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    version = runpy.run_path(str(ROOT / "src" / "recolorist" / "_version.py"))["__version__"]
    expect(f"-{version}-" in wheel.name, f"{wheel.name} is not of version {version}")
    tell("built", f"{wheel.name}, {archive.name}")
    look_into(wheel, archive)
    run(sys.executable, "-m", "twine", "check", "--strict", wheel, archive)
    tell("metadata", "twine finds nothing wrong")
    run(Path(sys.executable).parent / "abi3audit", "--strict", wheel)
    tell("stable ABI", "abi3audit finds no symbol beyond Python 3.11's")
    with tempfile.TemporaryDirectory() as folder:
        installs(Path(folder), wheel, archive, out)
        known_faults(Path(folder) / "wheel", strict=strict)
        containers_lint(strict=strict)
        container_steps(Path(folder), extras="lab,slides,dicom" if containers else "")


def look_into(wheel: Path, archive: Path) -> None:
    """What must be in there is, and nothing else."""
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in WANTED if name not in names]
    expect(not missing, f"the wheel lacks {missing}")
    strangers = [name for name in names if any(mark in name if mark.endswith("/") else name.endswith(mark) for mark in FORBIDDEN)]
    expect(not strangers, f"the wheel holds {strangers}")
    expect("-cp311-abi3-" in wheel.name, f"{wheel.name} is not for the stable ABI")
    expect(
        wheel.stat().st_size < MOST_BYTES, f"the wheel has {wheel.stat().st_size:,} bytes; at most {MOST_BYTES:,} are expected"
    )
    with tarfile.open(archive) as opened:
        sources = opened.getnames()
    missing = [name for name in SOURCES if not any(source.endswith(f"/{name}") for source in sources)]
    expect(not missing, f"the source archive lacks {missing}")
    expect(not any("/tests/" in name for name in sources), "the source archive holds tests")
    tell(
        "contents", f"{len(names)} files, {wheel.stat().st_size / 1e6:.2f} MB in the wheel, {len(sources)} in the source archive"
    )


def installs(folder: Path, wheel: Path, archive: Path, out: Path) -> None:
    """The wheel, and the source archive with and without a compiler, in environments with nothing else."""
    python = environment(folder / "wheel", wheel)
    expect(output_of(python, "-c", ACTIVE) == "c", "the wheel's loops are not active")
    run(python, "-m", "pip", "check")
    run(folder / "wheel" / "bin" / "recolorist", "demo", "--out", folder / "demo")
    tell("wheel", "installs into an empty environment, compiled loops active, the demo runs")
    run(sys.executable, "-m", "cyclonedx_py", "environment", python, "--output-file", out / "bom.json")
    count = len(json.loads((out / "bom.json").read_text("utf-8"))["components"])
    tell("bill of materials", f"{count} components in {out / 'bom.json'}")
    bare = environment(folder / "bare", archive, {"CC": "/bin/false"})
    expect(output_of(bare, "-c", ACTIVE) == "numpy", "without a compiler something else than the NumPy fallback is active")
    same = "import numpy as np, recolorist as rc; r = np.random.default_rng(0).integers(0, 256, (2, 64, 48, 3), dtype=np.uint8); "
    same += "import hashlib; print(hashlib.sha256(rc.match(r[0], r[1]).tobytes()).hexdigest())"
    is_equal = output_of(python, "-c", same) == output_of(bare, "-c", same)
    expect(is_equal, "the NumPy fallback gives other bits than the compiled loops")
    tell("no compiler", "installs from the source archive, NumPy fallback active, same bits")


def known_faults(environment_folder: Path, *, strict: bool) -> None:
    """Ask an advisory service about every dependency."""
    python = environment_folder / "bin" / "python"
    site = output_of(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--path", site, "--format", "json"], capture_output=True, text=True, check=False
    )
    parts = json.loads(done.stdout or '{"dependencies": []}')["dependencies"]
    faults = [part["name"] for part in parts if part.get("vulns")]
    unasked = [part["name"] for part in parts if part.get("skip_reason") and part["name"] not in ("recolorist", "pip")]
    expect(not faults, f"known faults in {faults}")
    if unasked or not parts:
        expect(not strict, f"no answer about {unasked or 'anything'}: {done.stderr.strip().splitlines()[-1:]}")
        tell("known faults", f"NOT CHECKED: the advisory service did not answer about {len(unasked) or 'all'} dependencies")
        return
    tell("known faults", f"none in {len(parts)} dependencies")


def containers_lint(*, strict: bool) -> None:
    """What hadolint thinks of the Dockerfile."""
    linter = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if linter is None:
        expect(not strict, "hadolint is not installed")
        tell("containers", "NOT LINTED: hadolint is not installed")
        return
    run(linter, ROOT / "containers" / "Dockerfile")
    tell("containers", "hadolint finds nothing wrong")


def copied(folder: Path) -> Path:
    """What the Dockerfile copies into its first stage, and nothing else; the Apptainer definition must name the same."""
    text = (ROOT / "containers" / "Dockerfile").read_text("utf-8")
    definition = (ROOT / "containers" / "recolorist.def").read_text("utf-8")
    for line in re.findall(r"^COPY (?!--)(.+)$", text, re.MULTILINE):
        *names, target = line.split()
        for name in names:
            place = folder / target / (Path(name).name if target.endswith("/") else "")
            place.parent.mkdir(parents=True, exist_ok=True)
            source = ROOT / name
            shutil.copytree(source, place, ignore=BUILT) if source.is_dir() else shutil.copy(source, place)
            expect(f"\n    {name.split('/')[0]} /src/" in definition, f"containers/recolorist.def does not copy {name}")
    return folder


def container_steps(folder: Path, extras: str) -> None:
    """What both containers run, in a fresh environment, on nothing but what they copy."""
    source = copied(folder / "copied")
    run("sh", source / "containers" / "install.sh", source, folder / "container", extras)
    python = folder / "container" / "bin" / "python"
    expect(output_of(python, "-c", ACTIVE) == "c", "the container's loops are not active")
    studies = "from importlib.resources import files; print((files('recolorist_lab') / 'configs' / 'check.toml').is_file())"
    expect(output_of(python, "-c", studies) == "True", "the container has no study files")
    pins = (ROOT / "containers" / "lock.txt").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for line in project["dependencies"]:
        name = line.split(">=")[0]
        expect(f"\n{name}==" in f"\n{pins}".lower(), f"containers/lock.txt does not pin {name}; make it anew with `make lock`")
    tell("containers", f"the install steps work in a fresh environment (extras: {extras or 'none; --containers runs them all'})")


def environment(folder: Path, package: Path, variables: dict[str, str] | None = None) -> Path:
    """An empty environment with one package."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package, variables=variables)
    return python


def run(*words: object, variables: dict[str, str] | None = None) -> None:
    """Run a command; its output is shown only if it fails."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, env={**os.environ, **(variables or {})}
    )
    expect(done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def output_of(*words: object) -> str:
    """What a command prints; run elsewhere, so that what is installed is imported and not what lies here."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, cwd=tempfile.gettempdir())
    expect(done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout.strip()


def one(paths: Iterable[Path]) -> Path:
    """The only one of them."""
    found = list(paths)
    expect(len(found) == 1, f"one archive was expected, there are {found}")
    return found[0]


def expect(holds: object, otherwise: str) -> None:
    """Fail with a sentence unless something holds."""
    if not holds:
        raise CheckError(otherwise)


def tell(step: str, words: str) -> None:
    """One line a step."""
    print(f"ok      {step}: {words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
