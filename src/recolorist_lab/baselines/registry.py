"""The table of methods: the thirteen networks in the order and under the names of the paper, and where each lives."""

from __future__ import annotations

import importlib
import inspect
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from recolorist.errors import OptionError
from recolorist_lab.plugins import Plugin, Registry
from recolorist_lab.runs.config import unknown

if TYPE_CHECKING:
    from recolorist_lab.baselines.base import Baseline

__all__ = ["ENCODERS", "METHODS", "Method", "build", "class_of", "options_of"]

ENCODERS: Final = ("auto", "random")
_OWN: Final = ("self", "encoder")


class Method(NamedTuple):
    """One line of the table: the name the paper prints, module and class, and where it was published."""

    name: str
    module: str
    cls: str
    venue: str

    @property
    def in_place(self) -> bool:
        """Whether its module is there."""
        return find_spec(self.module) is not None


def _method_of(plugin: Plugin) -> Method:
    """The line of a network from outside; what it prints is the class's own name."""
    found = plugin.load()
    return Method(found.name, found.__module__, found.__qualname__, plugin.origin)


_BUILT_IN: Final = MappingProxyType(
    {
        "adain": Method("AdaIN", "recolorist_lab.baselines.networks.adain", "AdaIN", "ICCV 2017"),
        "artflow": Method("ArtFlow", "recolorist_lab.baselines.networks.artflow", "ArtFlow", "CVPR 2021"),
        "efdm": Method("EFDM", "recolorist_lab.baselines.networks.efdm", "EFDM", "CVPR 2022"),
        "iecontrast": Method("IEContrAST", "recolorist_lab.baselines.networks.iecontrast", "IEContrAST", "NeurIPS 2021"),
        "mast": Method("MAST", "recolorist_lab.baselines.networks.mast", "MAST", "ACM MM 2020"),
        "sanet": Method("SANET", "recolorist_lab.baselines.networks.sanet", "SANet", "CVPR 2019"),
        "styleformer": Method("Styleformer", "recolorist_lab.baselines.networks.styleformer", "Styleformer", "ICCV 2021"),
        "stytr2": Method("StyTr2", "recolorist_lab.baselines.networks.stytr2", "StyTr2", "CVPR 2022"),
        "contrimix": Method("Contrimix", "recolorist_lab.baselines.networks.contrimix", "ContriMix", "COMPAY 2024"),
        "sgvits": Method("SGViTs", "recolorist_lab.baselines.networks.sgvits", "SGViTs", "MICCAI 2024"),
        "stylizingvit": Method("StylizingViT", "recolorist_lab.baselines.networks.stylizingvit", "StylizingViT", "ISBI 2026"),
        "modflows": Method("Modflows", "recolorist_lab.baselines.networks.modflows", "ModFlows", "AAAI 2025"),
        "wct2": Method("WCT2", "recolorist_lab.baselines.networks.wct2", "WCT2", "ICCV 2019"),
    }
)


#: Every network by its name; plugins come last.
METHODS: Final = Registry("networks", _BUILT_IN, _method_of)


def class_of(name: str) -> type[Baseline]:
    """The class of a method; its module is imported now and not before."""
    unknown([name], METHODS, "the table of methods")
    method = METHODS[name]
    if not method.in_place:
        raise OptionError(f"{method.name} is not in place yet; in place are {', '.join(_in_place())}")
    found: type[Baseline] = getattr(importlib.import_module(method.module), method.cls)
    return found


def options_of(name: str) -> dict[str, Any]:
    """The options of a method and their defaults, read off its constructor."""
    parameters = inspect.signature(class_of(name).__init__).parameters
    return {key: one.default for key, one in parameters.items() if key not in _OWN}


def build(name: str, *, encoder: str = "auto", seed: int = 0, **options: Any) -> Baseline:
    """A method with fresh weights: those of its frozen networks from files, the others drawn from ``seed``.

    ``encoder="random"`` draws the frozen networks too, which is enough for tests and timing, and no good for pictures. The
    global generator of torch is left as it was.
    """
    if encoder not in ENCODERS:
        raise OptionError(f"encoder={encoder!r}; accepted are {', '.join(ENCODERS)}")
    found = class_of(name)
    defaults = options_of(name)
    unknown(options, defaults, f"the options of {METHODS[name].name}")
    import torch

    from recolorist_lab.baselines.base import Made

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # of the CPU alone, where weights are drawn
        model = found(encoder=encoder, **options)
    model.made = Made(name, encoder, seed, {key: value for key, value in options.items() if value != defaults[key]})
    return model


def _in_place() -> list[str]:
    return [name for name, method in METHODS.items() if method.in_place]
