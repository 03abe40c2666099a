"""Compile the loops of the Studio's page to WebAssembly: src/recolorist/studio/kernels.c to kernels.wasm beside it.

Run as `python -m tools.studio_wasm` after a change of the C code it includes; comments do not count. It needs clang and lld
(Debian: apt install clang lld). The file records a digest of its sources and the compiler, so that a test finds whether it is up
to date.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

__all__ = ["build", "code_of", "compiler", "record_of", "source_digest"]

FOLDER: Final = Path(__file__).parents[1] / "src" / "recolorist" / "studio"
SOURCE: Final = FOLDER / "kernels.c"
TARGET: Final = FOLDER / "kernels.wasm"
SECTION: Final = b"recolorist"
# As in setup.py: no contraction and no fast-math, or the bits would not be those of the library.
FLAGS: Final = (
    *("--target=wasm32", "-std=c11", "-nostdlib", "-ffreestanding", "-O3", "-g0"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    *("-msimd128", "-mbulk-memory", "-Wall", "-Wextra", "-Wno-unused-function"),
    *("-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=262144"),  # counts of digits take 24 KiB, ties a few more
)
_INCLUDE: Final = re.compile(r'^#include "([^"]+)"$', re.MULTILINE)
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.DOTALL)


def source_digest() -> str:
    """Return the SHA-256 of the code of the source, of all it includes, and of the flags."""
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in _sources(SOURCE, []):
        digest.update(f"{path.name}\0{code_of(path.read_text('utf-8'))}".encode())
    return digest.hexdigest()


def code_of(text: str) -> str:
    """Return C code without its comments, empty lines and the spaces between words."""
    lines = (" ".join(line.split()) for line in _COMMENT.sub(" ", text).splitlines())
    return "\n".join(filter(None, lines))


def _sources(path: Path, known: list[Path]) -> list[Path]:
    if path not in known:
        known.append(path)
        for name in _INCLUDE.findall(path.read_text("utf-8")):
            _sources((path.parent / name).resolve(), known)
    return known


def compiler() -> str | None:
    """Return the first line of what the compiler says of itself; None if there is none that links WebAssembly."""
    if shutil.which("clang") is None or shutil.which("wasm-ld") is None:
        return None
    output = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True)
    return output.stdout.splitlines()[0]


def build() -> bytes:
    """Compile, and add the record of sources and compiler as a section that browsers pass over.

    Raises:
        RuntimeError: There is no compiler, or it failed.
    """
    version = compiler()
    if version is None:
        raise RuntimeError("clang and lld are needed to build the page's loops (Debian: apt install clang lld)")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "kernels.wasm"
        command = ["clang", *FLAGS, "-o", str(target), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        code = target.read_bytes()
    record = json.dumps({"sources": source_digest(), "compiler": version}).encode()
    content = bytes([len(SECTION)]) + SECTION + record
    return code + b"\0" + _varint(len(content)) + content


def record_of(module: bytes) -> dict[str, Any]:
    """Return what :func:`build` recorded in a module."""
    record: dict[str, Any] = json.loads(module[module.rindex(SECTION) + len(SECTION) :])
    return record


def _varint(number: int) -> bytes:
    """Write a length as WebAssembly does: seven bits at a time, the lowest first."""
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


if __name__ == "__main__":
    print(f"{TARGET.name}: {TARGET.write_bytes(build()):,} bytes")
