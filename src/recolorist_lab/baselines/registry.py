"""The table of networks: the thirteen in the paper's order and with its names, and the module of each."""

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

__all__ = ["ENCODERS", "METHODS", "Method", "build", "class_of", "name_of", "options_of"]

ENCODERS: Final = ("auto", "random")
_OWN: Final = ("self", "encoder")


class Method(NamedTuple):
    """A row of the table: module and class, the name the paper prints, and where it was published."""

    module: str
    cls: str
    title: str
    venue: str

    @property
    def in_place(self) -> bool:
        """Whether its module exists."""
        return find_spec(self.module) is not None


def _method_of(plugin: Plugin) -> Method:
    """Return the row of a plugin's network; its title is the class's own name."""
    network = plugin.load()
    return Method(network.__module__, network.__qualname__, title=network.name, venue=plugin.origin)


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


def name_of(text: str, *, must_exist: bool = True) -> str:
    """Return the key of a network that is named by its key or as the paper prints it, in any case.

    Args:
        text: The name as typed.
        must_exist: Whether an unknown name is an error; otherwise it is returned as it came.

    Returns:
        A key of :data:`METHODS`.

    Raises:
        OptionError: If there is no such network.

    Example:
        >>> name_of("Contrimix"), name_of("SANET"), name_of("adain")
        ('contrimix', 'sanet', 'adain')
    """
    if text in METHODS:
        return text
    lower = text.lower()
    match = next((name for name, method in METHODS.items() if lower in (name.lower(), method.title.lower())), text)
    if must_exist:
        unknown([match], METHODS, "name of a network")
    return match


def class_of(name: str) -> type[Baseline]:
    """Import and return the class of a network.

    Args:
        name: The name of the network.

    Returns:
        The class.

    Raises:
        OptionError: If there is no network of this name.
    """
    method = METHODS[name_of(name)]
    if not method.in_place:
        raise OptionError(f"{method.title} is not implemented yet; implemented are {', '.join(_in_place())}")
    network: type[Baseline] = getattr(importlib.import_module(method.module), method.cls)
    return network


def options_of(name: str) -> dict[str, Any]:
    """Return the options of a network and their defaults, read off its constructor.

    Args:
        name: The method.

    Returns:
        Defaults by name.
    """
    parameters = inspect.signature(class_of(name).__init__).parameters
    return {key: parameter.default for key, parameter in parameters.items() if key not in _OWN}


def build(name: str, *, encoder: str = "auto", seed: int = 0, **options: Any) -> Baseline:
    """Build a network with fresh weights; the global generator of torch is left as it was.

    Args:
        name: A key of :data:`METHODS`, or the name that the paper prints.
        encoder: ``auto`` reads the weights of frozen networks from files, ``random`` draws them too, for tests and timing.
        seed: From which weights are drawn.
        **options: Those of the network; see :func:`options_of`.

    Returns:
        The network, ready to be trained, or to be given weights.

    Raises:
        OptionError: If the network or an option is unknown.

    Example:
        >>> build("ContriMix", stains=4).name
        'Contrimix'
    """
    name = name_of(name)
    if encoder not in ENCODERS:
        raise OptionError(f"encoder={encoder!r}; accepted are {', '.join(ENCODERS)}")
    network = class_of(name)
    defaults = options_of(name)
    unknown(options, defaults, f"the options of {METHODS[name].title}")
    import torch

    from recolorist_lab.baselines.base import Made

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # of the CPU alone, where weights are drawn
        model = network(encoder=encoder, **options)
    model.made = Made(name, encoder, seed, {key: value for key, value in options.items() if value != defaults[key]})
    return model


def _in_place() -> list[str]:
    return [name for name, method in METHODS.items() if method.in_place]
