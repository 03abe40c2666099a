"""Colorist for Albumentations, with serialisation and exact replay.

Albumentations 2.0 copies its generators into every loader worker, so that all workers draw the same, and again in the next epoch.
Here the worker's own seed is added to each number from the pipeline's generator, whose seed still decides.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from recolorist import _adapters as adapters
from recolorist.augment.colorist import Decision, Draw
from recolorist.augment.samplers import Sampler
from recolorist.augment.styles import name_of_sampler
from recolorist.bank.style_bank import StyleBank
from recolorist.errors import OptionError
from recolorist.harmonise.albumentations import Harmonise

adapters.forbid_update_check()
try:
    from albumentations.core.transforms_interface import BaseTransformInitSchema, ImageOnlyTransform
except ModuleNotFoundError as error:
    raise adapters.explain_missing("albumentations", error) from error

__all__ = ["Colorist", "Harmonise"]

_KEEPS_STATE: Final = hasattr(ImageOnlyTransform, "get_params_dependent_on_data")  # 2.0; AlbumentationsX keeps it in the call
_KINDS: Final = ("image", "images", "volume", "volumes")
_ENTRIES: Final = ("mask", "sample", "label", "domain")
_NAMES: Final = {"key": "sample", "label": "label", "domain": "domain"}


class Colorist(ImageOnlyTransform):
    """With probability ``p`` (0.3 by default), give an image the colour statistics of a style drawn from a bank.

    The image is measured, a style is drawn, and each channel gets the mean and standard deviation of the style. Put it before
    ``Normalize``.

    Args:
        bank (StyleBank | str | Path): The styles, or the path of a saved bank (.rcb, .json).
        method (str): A key of :data:`recolorist.MATCHERS`. Default: 'mean_std'.
        space (str): A key of :data:`recolorist.SPACES`. Default: 'rgb'.
        sampler (str | Callable): A name of :mod:`recolorist.samplers`, or a callable. Default: 'uniform'.
        strength (float | tuple[float, float]): 0 leaves the image, 1 matches it fully; a pair is a range to draw from.
            Default: 1.0.
        max_gain (float): Largest factor on a channel. Default: 10.0.
        max_clip (float | None): Largest share of values that may be clipped. Default: None.
        mask (str | Callable | None): ``"tissue"``, ``"fundus"``, or a callable from image to mask; the pixels to measure.
            Default: None.
        apply_to ("all" | "mask"): Change all pixels, or only those of the mask. Default: 'all'.
        data_range (float | None): Largest value of floating-point images; 1 if None. Default: None.
        max_loss (float | None): Largest share of patches that may lose more than half of their detail. Default: None.
        mask_key (str | None): Name of the entry of the call that is the foreground mask; ``mask`` is for calls without one.
            Default: None.
        sample_key (str | None): Name of the entry that is the image's key in the bank, so that it is not matched to itself.
            Default: None.
        label_key (str | None): Name of the entry that is its label, for samplers that need it. Default: None.
        domain_key (str | None): Name of the entry that is its domain, for samplers that need it. Default: None.
        allow_split (bool): Accept banks of other splits than training. Default: False.
        blank ("keep" | "match"): Leave blank images as they are and draw no style of one, or treat them like all others.
            Default: 'keep'.
        bank_form ("auto" | "embedded" | "path"): How ``A.save`` writes the bank: in the pipeline itself, as the path of its file
            with its SHA-256, or embedded up to 256 styles and by its path beyond. Default: 'auto'.
        p (float): Probability of applying the transform. Default: 0.3, where Albumentations' own transforms have 0.5.

    Targets:
        image, images, volume, volumes

    Image types:
        uint8, float32

    Number of channels:
        As many as the images of the bank: 3 for colour, 1 for grey.

    Raises:
        OptionError: An option is unknown or outside its limits.

    Note:
        - Masks, bounding boxes and key points are not changed.
        - In a stack (``images``, ``volume``) all images take the same style, each by its own plan. Further images
          (``additional_targets``) get the map of ``image``.
        - The drawn parameters are a few numbers: the style's name, the strength, the plan. ``ReplayCompose`` repeats them to the
          byte, and on images that were not recorded it gives the same style.
        - uint16 and float64 images are taken as well.

    Examples:
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
        max_loss: float | None
        mask: str | Callable[..., Any] | None
        apply_to: Literal["all", "mask"]
        data_range: float | None
        mask_key: str | None
        sample_key: str | None
        label_key: str | None
        domain_key: str | None
        allow_split: bool
        blank: Literal["keep", "match"]
        bank_form: Literal["auto", "embedded", "path"]

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
        max_loss: float | None = None,
        mask_key: str | None = None,
        sample_key: str | None = None,
        label_key: str | None = None,
        domain_key: str | None = None,
        allow_split: bool = False,  # noqa: FBT002 - in this library p is the last one
        blank: Literal["keep", "match"] = "keep",
        bank_form: Literal["auto", "embedded", "path"] = "auto",
        p: float = 0.3,
    ) -> None:
        """Check every option once, here."""
        arguments = locals()
        super().__init__(p=p)
        self.bank, self._path = adapters.open_bank(bank)
        self.options = {name: arguments[name] for name in self.InitSchema.__annotations__ if name != "bank"}
        self._core = adapters.build_colorist(arguments | {"bank": self.bank}, p=1.0, seed=0)  # should_apply asks for p
        self._entry: Any = None if bank_form == "auto" else adapters.encode_bank(self.bank, self._path, bank_form)

    # ---- draw -----------------------------------------------------------------------------------------------------------

    @property
    def targets_as_params(self) -> list[str]:
        """Return the entries of the call that the options name, so that ``Compose(strict=True)`` takes them."""
        return [key for name in _ENTRIES if (key := self.options[f"{name}_key"]) is not None]

    def should_apply(self, force_apply: bool = False) -> bool:  # noqa: FBT002 - the framework's signature
        """Draw whether to change the image, differently in each worker."""
        return force_apply or adapters.draw_chance(self.p, self._draw_place(self.py_random))

    def update_transform_params(self, params: dict[str, Any], data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Refuse a call without an entry that an option names, and note the shape of the first image."""
        for name in _ENTRIES:
            self._entry_of(data, name)
        for _name, kind, value in self._pictures(data):
            frames = _frames(kind, value)
            return {**params, "shape": np.shape(frames[0])} if len(frames) else params
        return params

    if _KEEPS_STATE:

        @property
        def params(self) -> dict[str, Any]:
            """The parameters of the last call, as plain data; empty if nothing was drawn."""
            return _to_plain(self._params)

        @params.setter
        def params(self, params: dict[str, Any]) -> None:
            self._params = params

        def get_params_dependent_on_data(self, params: dict[str, Any], data: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
            """Draw one style, and decide the map for every image of the call."""
            drawn = self._draw(data, self._draw_place(self.py_random))
            return _to_plain(drawn) if self.deterministic else drawn  # a record is kept, and written as JSON

    else:

        def sample_parameters(self, params: dict[str, Any], data: dict[str, Any], targets: Any, sampling: Any) -> Any:  # noqa: ARG002
            """Draw one style, and decide the map for every image of the call."""
            from albumentations.core.transform_params import SampledParams  # of AlbumentationsX

            return SampledParams(params=_to_plain(self._draw(data, self._draw_place(sampling.py_random))))

    def _draw(self, data: dict[str, Any], place: int) -> dict[str, Any]:
        names = {option: adapters.format_name(self._entry_of(data, entry)) for option, entry in _NAMES.items()}
        draw, inside = adapters.draw_style(self._core, place, **names), self._entry_of(data, "mask")
        decisions: dict[str, list[Decision]] = {}
        for name, kind, value in self._pictures(data):
            if kind != "image":
                frames = _frames(kind, value)
                decisions[name] = [self._decide(*pair, draw) for pair in zip(frames, _masks(inside, frames), strict=True)]
            elif "image" not in decisions:  # further images get its map
                decisions["image"] = [self._decide(value, inside, draw)]
        return {"draw": {"place": place, **names}, "decisions": decisions}

    def _decide(self, image: Any, mask: Any, draw: Draw) -> Decision:
        return self._core.decide(image, draw, self._core.mask_of(image, adapters.mask_to_bool(mask)))

    def _draw_place(self, generator: Any) -> int:
        return adapters.mix_worker_seed(generator.getrandbits(63))

    def _entry_of(self, data: dict[str, Any], name: str) -> Any:
        """Return the entry of the call that the option ``{name}_key`` names, or None if it names none."""
        key = self.options[f"{name}_key"]
        if key is not None and key not in data:
            raise OptionError(f"the call has no entry {key!r}, which {name}_key names; it has {', '.join(data)}")
        return None if key is None else data[key]

    def _pictures(self, data: dict[str, Any]) -> list[tuple[str, str, Any]]:
        """Return name, kind and value of every entry that is an image or a stack of them, the image itself first."""
        kinds = {name: self._additional_targets.get(name, name) for name, value in data.items() if value is not None}
        pictures = [(name, kind, data[name]) for name, kind in kinds.items() if kind in _KINDS]
        return sorted(pictures, key=lambda entry: entry[0] != "image")

    # ---- apply ----------------------------------------------------------------------------------------------------------

    def apply_with_params(self, params: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:  # noqa: ARG002 - the framework's signature
        """Apply to every image; the mask is taken from the call, so that it need not be among the parameters."""
        known = dict(getattr(params, "params", params))  # AlbumentationsX has a class for them
        known["inside"] = self._entry_of(kwargs, "mask")
        changed = {name: self._key2func[name](value, **known, target=name) for name, kind, value in self._pictures(kwargs)}
        return {**kwargs, **changed}

    def apply(self, img: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002 - the framework's signature
        """Apply what was decided for the image."""
        return self._apply_to("image", "image", [img], params)[0]

    def apply_to_images(self, images: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Apply what was decided, image by image."""
        return self._apply_to_stack("images", images, params)

    def apply_to_volume(self, volume: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Apply what was decided, slice by slice."""
        return self._apply_to_stack("volume", volume, params)

    def apply_to_volumes(self, volumes: NDArray[Any], *args: Any, **params: Any) -> NDArray[Any]:  # noqa: ARG002
        """Apply what was decided, slice by slice of each volume."""
        return self._apply_to_stack("volumes", volumes, params)

    def _apply_to_stack(self, kind: str, images: Any, params: dict[str, Any]) -> NDArray[Any]:
        frames = _frames(kind, images)
        if not len(frames):
            return np.asarray(images)
        return np.stack(self._apply_to(kind, params.get("target", kind), frames, params)).reshape(np.shape(images))

    def _apply_to(self, kind: str, target: str, images: Any, params: dict[str, Any]) -> list[NDArray[Any]]:
        """Apply what was recorded for these images; others get the recorded style, each by its own map."""
        masks = [params.get("inside")] if kind == "image" else _masks(params.get("inside"), images)
        recorded = params["decisions"].get("image" if kind == "image" else target, [])
        chosen = [_to_decision(entry) for entry in recorded]
        if len(chosen) != len(images):
            draw = adapters.draw_style(self._core, **params["draw"])
            chosen = [self._decide(*pair, draw) for pair in zip(images, masks, strict=True)]
        return [self._apply_decision(*parts) for parts in zip(images, chosen, masks, strict=True)]

    def _apply_decision(self, image: NDArray[Any], decision: Decision, mask: Any) -> NDArray[Any]:
        return np.ascontiguousarray(self._core.apply(image, decision, mask=adapters.mask_to_bool(mask)))

    # ---- write out ------------------------------------------------------------------------------------------------------

    def set_deterministic(self, flag: bool, save_key: str = "replay") -> Colorist:
        """Record for a replay, without the framework's warning about named entries: the record holds what was read of them."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*could work incorrectly in ReplayMode")
            super().set_deterministic(flag, save_key)
        return self

    def get_transform_init_args(self) -> dict[str, Any]:
        """Return every option as plain data; the bank in the form that ``bank_form`` names.

        Functions as sampler or mask stay objects, and so does a large bank without a file. They replay in this process.
        """
        if self._entry is None:
            self._entry = adapters.encode_bank(self.bank, self._path, self.options["bank_form"])
        return {"bank": self._entry} | self.options

    def to_dict_private(self) -> dict[str, Any]:
        """Return the transform as plain data, for ``A.save`` and ``A.to_dict``.

        Raises:
            OptionError: The bank is large and has no file, and nothing says in which form to write it.
        """
        arguments = self.get_transform_init_args()
        if isinstance(arguments["bank"], StyleBank) and not self.deterministic:  # a replay may stay in this process
            raise OptionError(
                f"{self.bank!r} has more than {adapters.MOST_BY_VALUE} styles or histograms, and no file, so it is not written "
                "into the pipeline. Save it and pass its path as bank, or pass bank_form='embedded' to write every style."
            )
        return {"__class_fullname__": self.get_class_fullname(), **self.get_base_init_args(), **arguments}

    def __repr__(self) -> str:
        """Return the bank in short and every option."""
        sampler = self.options["sampler"]
        shown = self.options | {"sampler": name_of_sampler(sampler) if callable(sampler) else sampler}
        options = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        return f"{type(self).__name__}({self.bank!r}, {options}, p={self.p!r})"


def _to_plain(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as dictionaries, lists, texts and numbers."""
    if "decisions" not in params:
        return params
    decisions = {
        name: [json.loads(_to_decision(entry).to_json()) for entry in entries] for name, entries in params["decisions"].items()
    }
    return {**params, "decisions": decisions}


def _to_decision(entry: Decision | dict[str, Any]) -> Decision:
    return entry if isinstance(entry, Decision) else Decision.from_json(json.dumps(entry))


def _frames(kind: str, images: Any) -> Any:
    """Return an image, a stack or a stack of volumes as a sequence of images."""
    if kind == "image":
        return [images]
    return [image for volume in images for image in volume] if kind == "volumes" else images


def _masks(mask: Any, images: Any) -> Sequence[Any]:
    """Return one mask for each image of a stack: its own, or that of all."""
    own = mask is not None and len(images) and np.shape(mask)[:3] == (len(images), *np.shape(images[0])[:2])
    return mask if own else [mask] * len(images)
