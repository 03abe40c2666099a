"""Build the compiled loops with the address and undefined-behaviour sanitizers and run their tests. Run by `make sanitize`.

The build lies in build/sanitize and does not replace the one in use. Needs gcc or clang with both sanitizers, on Linux.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
BUILD: Final = ROOT / "build" / "sanitize"
FLAGS: Final = "-fsanitize=address,undefined -fno-omit-frame-pointer -g"
TESTS: Final = ("tests/core", "tests/golden", "tests/hostile/test_arrays.py", "tests/property", "tests/equivalence")
_REPORT: Final = re.compile(r"ERROR: AddressSanitizer|runtime error:|SUMMARY: (?:Address|UndefinedBehavior)Sanitizer")


def main() -> None:
    """Build, run the tests named on the command line (by default those of the loops), and fail on any report."""
    shutil.rmtree(BUILD, ignore_errors=True)
    for name in ("src", "tests", "setup.py", "pyproject.toml", "conftest.py", "README.md", "LICENSE", "configs"):
        source = ROOT / name
        ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
        if source.is_dir():
            shutil.copytree(source, BUILD / name, ignore=ignored)
        else:
            shutil.copy(source, BUILD / name)
    flags = os.environ | {"CFLAGS": FLAGS, "LDFLAGS": FLAGS}
    subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=BUILD, env=flags, check=True)
    built = list((BUILD / "src/recolorist/core/kernels").glob("_kernels*.so"))
    if not built:
        sys.exit("the loops were not built; see the compiler's message above")
    sys.exit(_run(sys.argv[1:] or list(TESTS)))


def _run(tests: list[str]) -> int:
    """Run tests on the instrumented loops; the sanitizer must be loaded before Python itself."""
    library = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    undefined = subprocess.run(["gcc", "-print-file-name=libubsan.so"], capture_output=True, text=True, check=True).stdout.strip()
    environment = os.environ | {
        "LD_PRELOAD": f"{library} {undefined}",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",  # Python itself keeps memory until it ends
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # so that writing past an array of ours is seen
        "PYTHONPATH": str(BUILD / "src"),
    }
    check = (
        "from recolorist.core import kernels; import sys; sys.exit(kernels.active() != 'c' or 'sanitize' not in kernels.__file__)"
    )
    subprocess.run([sys.executable, "-c", check], cwd=BUILD, env=environment, check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-s", "-n", "0", "-p", "no:cacheprovider", *tests],
        cwd=BUILD,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    reports = _REPORT.findall(done.stdout)
    print(done.stdout if reports else done.stdout[-4000:])
    print(f"{len(reports)} reports of the sanitizers")
    return done.returncode or bool(reports)


if __name__ == "__main__":
    main()
