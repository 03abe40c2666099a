"""Colorist for Albumentations, with serialisation and exact replay.

Albumentations 2.0 copies its generators into every loader worker, so that all workers draw the same, and again in the next epoch.
Here the worker's own seed is added to each number from the pipeline's generator, whose seed still decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist import _adapters as adapters
from recolorist.augment.colorist import Decision
from recolorist.augment.samplers import Sampler
from recolorist.errors import OptionError

try:
    from albumentations.core.transforms_interface import BaseTransformInitSchema, ImageOnlyTransform
except ModuleNotFoundError as error:
    raise adapters.explain_missing("albumentations", error) from error

__all__ = ["Colorist"]

_STACKS: Final = ("images", "volume", "volumes")


class Colorist(ImageOnlyTransform):
    """With probability ``p``, give an image the colour statistics of a style drawn from a bank.

    The drawn parameters are a few numbers: the style's name, the strength, the plan. In a stack (``images``, ``volume``) all
    images take the same style, each by its own plan; further images (``additional_targets``) get the map of ``image``.

    Args:
        bank: A :class:`recolorist.StyleBank`, or the path of a saved one.
        method: A key of :data:`recolorist.MATCHERS`.
        space: A key of :data:`recolorist.SPACES`.
        sampler: A name of :mod:`recolorist.samplers`, or a callable.
        strength: 0 leaves the image, 1 matches it fully; a pair is a range to draw from.
        max_gain: Largest factor on a channel.
        max_clip: Largest share of values that may be clipped.
        mask: ``"tissue"``, ``"fundus"``, or a callable from image to mask.
        apply_to: Change ``"all"`` pixels, or only those of the ``"mask"``.
        data_range: Largest value of floating-point images.
        mask_key: Name of the entry of the call that is the foreground mask; ``mask`` is for calls without one.
        sample_key: Name of the entry that is the image's key in the bank, so that it is not matched to itself.
        label_key: Name of the entry that is its label, for samplers that need it.
        domain_key: Name of the entry that is its domain.
        allow_split: Accept banks of other splits than training.
        p: Probability of changing an image.

    Raises:
        OptionError: An option is unknown or outside its limits.

    Targets:
        image, volume

    Image types:
        uint8, float32

    Example:
        >>> import albumentations as A
        >>> tiles = np.random.default_rng(0).integers(0, 256, (8, 24, 16, 3), dtype=np.uint8)
        >>> from recolorist import StyleBank
        >>> pipeline = A.Compose([Colorist(StyleBank.build(tiles, split="train"), p=1.0)], seed=1)
        >>> out = pipeline(image=tiles[0], mask=tiles[0, ..., 0])
        >>> out["image"].shape, out["image"].dtype, np.array_equal(out["mask"], tiles[0, ..., 0])
        ((24, 16, 3), dtype('uint8'), True)
    """

    class InitSchema(BaseTransformInitSchema):
        """The types of the options; their defaults are those of ``__init__``."""

        bank: Any
        method: str
        space: str
        sampler: str | Callable[..., Any]
        strength: float | tuple[float, float]
        max_gain: float
        max_clip: float | None
        mask: str | Callable[..., Any] | None
        apply_to: Literal["all", "mask"]
        data_range: float | None
        mask_key: str | None
        sample_key: str | None
        label_key: str | None
        domain_key: str | None
        allow_split: bool

    def __init__(
        self,
        bank: Any,
        method: str = "mean_std",
        space: str = "rgb",
        sampler: str | Sampler = "uniform",
        strength: float | tuple[float, float] = 1.0,
        max_gain: float = 10.0,
        max_clip: float | None = None,
        mask: str | Callable[[Any], Any] | None = None,
        apply_to: Literal["all", "mask"] = "all",
        data_range: float | None = None,
        mask_key: str | None = None,
        sample_key: str | None = None,
        label_key: str | None = None,
        domain_key: str | None = None,
        allow_split: bool = False,  # noqa: FBT002 - in this library p is the last one
        p: float = 0.3,
    ) -> None:
        """Check every option once, here."""
        arguments = locals()
        super().__init__(p=p)
        self.bank, self._path = adapters.open_bank(bank)
        self.options = {name: arguments[name] for name in self.InitSchema.__annotations__ if name != "bank"}
        self._core = adapters.build_colorist(arguments | {"bank": self.bank}, p=1.0, seed=0)  # should_apply asks for p
        self._entry: Any = None

    # ---- draw -----------------------------------------------------------------------------------------------------------

    def should_apply(self, force_apply: bool = False) -> bool:  # noqa: FBT002 - the framework's signature
        """Draw whether to change the image, differently in each worker."""
        return force_apply or adapters.draw_chance(self.p, self._draw_place())

    def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Draw one style, and decide the map for every image of the call."""
        place = self._draw_place()
        decisions: dict[str, list[Decision]] = {}
        inside = self._entry_of(data, "mask")
        if data.get("image") is not None:
            decisions["image"] = [self._decide(data["image"], place, data, inside)]
        for name in _STACKS:
            if data.get(name) is not None:
                images = _frames(name, data[name])
                masks = _masks(inside, images)
                decisions[name] = [self._decide(image, place, data, mask) for image, mask in zip(images, masks, strict=True)]
        if self.deterministic:  # a replay is kept, and sent about as JSON
            return {"decisions": {name: [decision.to_json() for decision in each] for name, each in decisions.items()}}
        return {"decisions": decisions}

    def _decide(self, image: Any, place: int, data: dict[str, Any], mask: Any) -> Decision:
        content = {"key": "sample", "label": "label", "domain": "domain"}
        draw = adapters.draw_style(self._core, place, **{name: self._entry_of(data, key) for name, key in content.items()})
        return self._core.decide(image, draw, self._core.mask_of(image, adapters.mask_to_bool(mask)))

    def _draw_place(self) -> int:
        return adapters.mix_worker_seed(self.py_random.getrandbits(63))

    def _entry_of(self, data: dict[str, Any], name: str) -> Any:
        """Return the entry of the call that the option ``{name}_key`` names, or None if it names none."""
        key = self.options[f"{name}_key"]
        if key is not None and key not in data:
            raise OptionError(f"the call has no entry {key!r}, which {name}_key names; it has {', '.join(data)}")
        return None if key is None else data[key]

    # ---- apply ----------------------------------------------------------------------------------------------------------

    def apply_with_params(self, params: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Apply; the mask is taken from the call, so that it need not be among the parameters."""
        inside = self._entry_of(kwargs, "mask")
        applied: dict[str, Any] = super().apply_with_params({**params, "inside": inside}, *args, **kwargs)
        return applied

    def apply(self, img: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002 - the framework's signature
        """Apply what was decided for the image."""
        return self._apply_decision(img, params["decisions"]["image"][0], params.get("inside"))

    def apply_to_images(self, images: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Apply what was decided, image by image."""
        return self._apply_to_stack("images", images, params)

    def apply_to_volume(self, volume: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Apply what was decided, slice by slice."""
        return self._apply_to_stack("volume", volume, params)

    def apply_to_volumes(self, volumes: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Apply what was decided, slice by slice of each volume."""
        return self._apply_to_stack("volumes", volumes, params).reshape(np.shape(volumes))

    def _apply_to_stack(self, name: str, images: Any, params: dict[str, Any]) -> NDArray[Any]:
        frames = _frames(name, images)
        decisions, masks = params["decisions"][name], _masks(params.get("inside"), frames)
        if len(decisions) != len(frames):
            raise OptionError(f"{len(decisions)} images were drawn for, and {len(frames)} came; replay on as many")
        return np.stack([self._apply_decision(*each) for each in zip(frames, decisions, masks, strict=True)])

    def _apply_decision(self, image: NDArray[Any], decision: Decision | str, mask: Any) -> NDArray[Any]:
        known = Decision.from_json(decision) if isinstance(decision, str) else decision
        done: NDArray[Any] = self._core.apply(image, known, mask=adapters.mask_to_bool(mask))
        return done

    # ---- write out ------------------------------------------------------------------------------------------------------

    def get_transform_init_args(self) -> dict[str, Any]:
        """Return every option as plain data; the bank by value, or a large one by its file and SHA-256.

        A large bank that has no file, and functions as sampler or mask, stay objects: they replay in this process, and JSON
        refuses them. Albumentations also calls this when it prints a pipeline, so it must not fail.
        """
        if self._entry is None:
            self._entry = adapters.encode_bank(self.bank, self._path)
        return {"bank": self._entry} | self.options

    def __repr__(self) -> str:
        """Return the bank in short and every option."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({self.bank!r}, {options}, p={self.p:g})"


def _frames(name: str, images: Any) -> Any:
    """A stack as a sequence of images."""
    return [image for volume in images for image in volume] if name == "volumes" else images


def _masks(mask: Any, images: Any) -> Sequence[Any]:
    """One mask for each image of a stack: its own, or that of all."""
    own = mask is not None and np.shape(mask)[:3] == (len(images), *np.shape(images[0])[:2])
    return mask if own else [mask] * len(images)
