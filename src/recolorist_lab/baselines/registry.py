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
    """One line of the table: module and class, the name the paper prints, and where it was published."""

    module: str
    cls: str
    title: str
    venue: str

    @property
    def in_place(self) -> bool:
        """Whether its module is there."""
        return find_spec(self.module) is not None


def _method_of(plugin: Plugin) -> Method:
    """The line of a network from outside; what it prints is the class's own name."""
    found = plugin.load()
    return Method(found.__module__, found.__qualname__, title=found.name, venue=plugin.origin)


_BUILT_IN: Final = MappingProxyType(
    {
        "adain": Method("recolorist_lab.baselines.networks.adain", "AdaIN", title="AdaIN", venue="ICCV 2017"),
        "artflow": Method("recolorist_lab.baselines.networks.artflow", "ArtFlow", title="ArtFlow", venue="CVPR 2021"),
        "efdm": Method("recolorist_lab.baselines.networks.efdm", "EFDM", title="EFDM", venue="CVPR 2022"),
        "iecontrast": Method(
            "recolorist_lab.baselines.networks.iecontrast", "IEContrAST", title="IEContrAST", venue="NeurIPS 2021"
        ),
        "mast": Method("recolorist_lab.baselines.networks.mast", "MAST", title="MAST", venue="ACM MM 2020"),
        "sanet": Method("recolorist_lab.baselines.networks.sanet", "SANet", title="SANET", venue="CVPR 2019"),
        "styleformer": Method(
            "recolorist_lab.baselines.networks.styleformer", "Styleformer", title="Styleformer", venue="ICCV 2021"
        ),
        "stytr2": Method("recolorist_lab.baselines.networks.stytr2", "StyTr2", title="StyTr2", venue="CVPR 2022"),
        "contrimix": Method("recolorist_lab.baselines.networks.contrimix", "ContriMix", title="Contrimix", venue="COMPAY 2024"),
        "sgvits": Method("recolorist_lab.baselines.networks.sgvits", "SGViTs", title="SGViTs", venue="MICCAI 2024"),
        "stylizingvit": Method(
            "recolorist_lab.baselines.networks.stylizingvit", "StylizingViT", title="StylizingViT", venue="ISBI 2026"
        ),
        "modflows": Method("recolorist_lab.baselines.networks.modflows", "ModFlows", title="Modflows", venue="AAAI 2025"),
        "wct2": Method("recolorist_lab.baselines.networks.wct2", "WCT2", title="WCT2", venue="ICCV 2019"),
    }
)


#: Every network by its name; plugins come last.
METHODS: Final = Registry("networks", _BUILT_IN, _method_of)


def class_of(name: str) -> type[Baseline]:
    """The class of a method; its module is imported now and not before."""
    unknown([name], METHODS, "the table of methods")
    method = METHODS[name]
    if not method.in_place:
        raise OptionError(f"{method.title} is not in place yet; in place are {', '.join(_in_place())}")
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
    unknown(options, defaults, f"the options of {METHODS[name].title}")
    import torch

    from recolorist_lab.baselines.base import Made

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # of the CPU alone, where weights are drawn
        model = found(encoder=encoder, **options)
    model.made = Made(name, encoder, seed, {key: value for key, value in options.items() if value != defaults[key]})
    return model


def _in_place() -> list[str]:
    return [name for name, method in METHODS.items() if method.in_place]
