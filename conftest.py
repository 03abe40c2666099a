"""Settings before anything is collected; examples of an adapter run only where its framework is installed."""

import os
import signal
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, Final

from recolorist.demo import synthetic

# importing Albumentations would ask the network for a newer release, and warn when it gets no answer
os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")

# started in the background of a script, a process ignores Ctrl-C, and so would every command the tests start and interrupt
with suppress(ValueError):  # only a main thread may say so
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

# many tests draw the same few synthetic slides, which takes longer than what they test; those who get a map may not write to it
_draw: Final = synthetic.draw


@lru_cache(maxsize=64)
def _draw_once(*arguments: Any) -> Any:
    dyes = _draw(*arguments)
    dyes.flags.writeable = False
    return dyes


synthetic.draw = _draw_once

# what tests write need not survive a loss of power; that files are flushed is tested by noting the calls
os.fsync = lambda _: None

_ADAPTERS: Final = {
    "src/recolorist/albumentations.py": ("albumentations",),
    "src/recolorist/huggingface.py": ("datasets",),
    "src/recolorist/kornia.py": ("kornia", "torch"),
    "src/recolorist/monai.py": ("monai", "torch"),
    "src/recolorist/torch": ("torch",),
    "src/recolorist/torchvision.py": ("torch", "torchvision"),
    "src/recolorist_lab/baselines": ("torch",),
    "src/recolorist_lab/metrics": ("torch",),
    "tests/lab/baselines": ("torch",),
    "tests/lab/metrics": ("torch", "torchmetrics", "torch_fidelity", "lpips"),
    "tests/lab/assets/test_torch_files.py": ("torch",),
    "tests/lab/assets/test_weights.py": ("torch",),
    "tests/lab/assets/test_zoo.py": ("torch", "timm"),
}

collect_ignore = [path for path, frameworks in _ADAPTERS.items() if any(find_spec(name) is None for name in frameworks)]
