"""The examples in docstrings of a framework's guest are run where the framework is installed."""

from importlib.util import find_spec
from typing import Final

_GUESTS: Final = {
    "src/recolorist/albumentations.py": ("albumentations",),
    "src/recolorist/huggingface.py": ("datasets",),
    "src/recolorist/kornia.py": ("kornia", "torch"),
    "src/recolorist/monai.py": ("monai", "torch"),
    "src/recolorist/torch": ("torch",),
    "src/recolorist/torchvision.py": ("torch", "torchvision"),
}

collect_ignore = [path for path, frameworks in _GUESTS.items() if any(find_spec(name) is None for name in frameworks)]
