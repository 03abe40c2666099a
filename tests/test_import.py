"""What `import recolorist`, its command and its adapters load, in a fresh interpreter each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import recolorist

OPTIONAL = ("torch", "torchvision", "skimage", "matplotlib", "PIL", "scipy", "typer", "rich", "cv2", "albumentations", "monai")
SOURCE = str(Path(recolorist.__file__).parents[1])


def fresh(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter that finds the same package as this one."""
    kept = {name: value for name, value in os.environ.items() if name != "RECOLORIST_KERNEL" and not name.startswith("COV")}
    search = {"PYTHONPATH": SOURCE, "PYTHONWARNINGS": "error"}
    return subprocess.run(  # noqa: S603 - our own interpreter, our own code
        [sys.executable, "-c", code], env=kept | search | environment, capture_output=True, text=True, check=False, timeout=600
    )


def answer(code: str, **environment: str) -> Any:
    done = fresh(code, **environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def added(before: str, code: str, **environment: str) -> set[str]:
    """Return the modules that some code loads after other code."""
    names = "print(json.dumps(sorted(set(sys.modules) - before)))"
    return set(answer(f"import sys, json\n{before}\nbefore = set(sys.modules)\n{code}\n{names}", **environment))


def packages(names: set[str]) -> set[str]:
    return {name.split(".")[0] for name in names}


def test_importing_loads_numpy_only() -> None:
    loaded = packages(added("", "import recolorist"))
    assert "numpy" in loaded
    assert not set(OPTIONAL) & loaded


def test_importing_loads_the_core_and_nothing_above_it() -> None:
    ours = {name.split(".")[1] for name in added("", "import recolorist") if name.startswith("recolorist.")}
    assert ours <= {"_version", "core", "errors", "optional"}


def test_training_names_are_loaded_on_first_use() -> None:
    assert "recolorist.augment.colorist" in added("import recolorist", "recolorist.Colorist")


def test_help_loads_no_image_library() -> None:
    code = (
        "import io, contextlib\n"
        "sys.argv = ['recolorist', '--help']\n"
        "from recolorist.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit): main()\n"
    )
    assert not (set(OPTIONAL) - {"typer", "rich"}) & packages(added("", code))


def test_matching_without_scikit_image_spaces_loads_numpy_only() -> None:
    code = (
        "import sys, json, numpy as np, recolorist as rc\n"
        "image = np.arange(90, dtype=np.uint8).reshape(5, 6, 3)\n"
        "[rc.match(image, image // 2, m, s) for m in rc.MATCHERS for s in ('rgb', 'yuv', 'hsi', 'lalphabeta')]\n"
        "rc.audit(image, image // 2).to_json()\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    assert not set(OPTIONAL) & set(answer(code))


def test_no_network_and_no_file_written() -> None:
    """Sockets and opening for writing raise inside the process; import and match work all the same."""
    code = (
        "import sys, json\n"
        "sys.dont_write_bytecode = True\n"
        "seen = []\n"
        "def watch(event, args):\n"
        "    writes = event == 'open' and isinstance(args[1], str) and set(args[1]) & set('wax+')\n"
        "    if event.startswith(('socket.', 'urllib.', 'subprocess.')) or writes: seen.append([event, str(args[:1])])\n"
        "sys.addaudithook(watch)\n"
        "import numpy as np, recolorist as rc\n"
        "image = np.arange(90, dtype=np.uint8).reshape(5, 6, 3)\n"
        "rc.match(image, image // 2)\n"
        "own = list(seen)\n"
        "import socket; socket.socket().close()\n"
        "print(json.dumps([own, len(seen)]))"
    )
    own, with_a_socket = answer(code)
    assert own == []
    assert with_a_socket > 0  # the watch does see sockets


class TestKernel:
    CODE = "import json; from recolorist.core import kernels; print(json.dumps(kernels.active()))"

    def test_numpy_on_request(self) -> None:
        assert answer(self.CODE, RECOLORIST_KERNEL="numpy") == "numpy"

    def test_compiled_by_default_where_built(self) -> None:
        from recolorist.core import kernels

        assert answer(self.CODE) == answer(self.CODE, RECOLORIST_KERNEL="") == ("c" if kernels._compiled else "numpy")

    @pytest.mark.parametrize("name", ["fortran", "NUMPY", "1", " "])
    def test_unknown_is_a_sentence(self, name: str) -> None:
        done = fresh("import recolorist", RECOLORIST_KERNEL=name)
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1
        assert last.startswith("recolorist.errors.")
        assert repr(name) in last
        assert "choose from" in last
        assert "'numpy'" in last

    BLOCKED = (
        "import sys, json\n"
        "class NoCompiler:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'recolorist.core.kernels._kernels': raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, NoCompiler())\n"
    )

    def test_works_without_the_extension(self) -> None:
        work = (
            "import hashlib, numpy as np, recolorist as rc\n"
            "from recolorist.core import kernels\n"
            "rng = np.random.default_rng(0)\n"
            "content, style = rng.integers(0, 256, (2, 31, 27, 3), dtype=np.uint8)\n"
            "images = [rc.match(c, s, m) for m in rc.MATCHERS for c, s in ((content, style), (content / 255, style / 255))]\n"
            "digest = hashlib.sha256(b''.join(image.tobytes() for image in images)).hexdigest()\n"
            "print(json.dumps([kernels.active(), digest]))"
        )
        active, digest = answer(self.BLOCKED + work)
        assert active == "numpy"
        assert digest == answer("import json\n" + work)[1]

    def test_asking_for_what_is_not_there(self) -> None:
        done = fresh(self.BLOCKED + "import recolorist", RECOLORIST_KERNEL="c")
        last = done.stderr.strip().splitlines()[-1]
        assert done.returncode == 1
        assert last.startswith("recolorist.errors.")
        assert "C compiler" in last
