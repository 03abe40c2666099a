"""Build the compiled loops and take the study files along; everything else about the package is in pyproject.toml."""

import os
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# Contraction is off because a fused multiply-add rounds once where NumPy rounds twice, and the two must give the same bits; for
# the same reason there is no fast-math. Without errno and traps more loops vectorise. Never march=native:
# a wheel must run on other machines. g0 keeps build paths out of it.
UNIX_FLAGS = ["-O3", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-g0"]
MSVC_FLAGS = ["/O2", "/fp:precise"]

# One wheel for every Python from 3.11 on. The free-threaded builds have no limited API, so they get a wheel of their own.
ABI3 = not sysconfig.get_config_var("Py_GIL_DISABLED")


class BuildKernels(build_ext):
    def build_extension(self, ext: Extension) -> None:
        ext.extra_compile_args = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else UNIX_FLAGS
        try:
            super().build_extension(ext)
        except Exception:
            print(
                "recolorist: the compiled loops could not be built (is there a C compiler?). "
                "The installation goes on without them: the NumPy fallback gives the same bits, more slowly."
            )
            raise  # the extension is optional, so setuptools notes this and carries on


class BuildWithStudies(build_py):
    """`recolorist-lab reproduce` reads the files of configs/, which lie beside the package here and inside it in a wheel."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "recolorist_lab" / "configs"
        self.mkpath(str(target))
        for study in sorted(Path("configs").glob("*.toml")):
            self.copy_file(str(study), str(target / study.name))


_PARTS = (
    *("audit", "converted", "converted_module", "counts", "floats", "formulas", "levels", "map", "math", "module", "pairs"),
    *("patches", "philox", "ranks", "ranks_module", "shares", "single", "spaces", "transport"),
    *("x86", "x86_audit", "x86_levels", "x86_matrix", "x86_vnni"),
)
kernels = Extension(
    "recolorist.core.kernels._kernels",
    sources=["src/recolorist/core/kernels/_kernels.c"],
    depends=[f"src/recolorist/core/kernels/_kernels_{part}.h" for part in _PARTS],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if ABI3 else [],
    py_limited_api=ABI3,
    optional=True,
)

setup(
    ext_modules=[] if os.environ.get("RECOLORIST_NO_EXTENSION") == "1" else [kernels],
    cmdclass={"build_ext": BuildKernels, "build_py": BuildWithStudies},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if ABI3 else {},
)
