"""Study 5: measure the quality of a transfer by each of the thirteen networks and by Colorist.

Contents and styles are loaded at the method's native size and transferred. Outputs are written to 8 bits and brought to the
evaluation size, where the metrics of the colour-space study are computed. A network's weights come from the cell that trained it.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from recolorist.core.match import match
from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.baselines.registry import METHODS, class_of
from recolorist_lab.data.named import data_of
from recolorist_lab.data.pixels import Bytes, resize_square
from recolorist_lab.runs.config import Json, identity, operational, unknown
from recolorist_lab.runs.kind import Context
from recolorist_lab.runs.seeds import SEEDS
from recolorist_lab.studies.protocol import EVALUATION_SIZE, Paired, open_pairs, refuse_odd_pairs
from recolorist_lab.studies.spaces.cell import METRICS
from recolorist_lab.studies.transfer.train import WEIGHTS

if TYPE_CHECKING:
    from recolorist_lab.baselines.base import Baseline
    from recolorist_lab.metrics import Evaluation, Triple

__all__ = ["COLORIST", "NOTHING", "SHOWN", "StylisingPairs", "Transfer", "model_of", "native_size", "run"]

COLORIST: Final = "colorist"
NOTHING: Final = "none"  #: the control: contents stay as they are
_OURS: Final = (COLORIST, NOTHING)
SHOWN: Final = "shown.npz"  #: kept beside the result: the first pairs, for the picture that sets methods side by side
_SHOWN: Final = 4


@dataclass(frozen=True)
class Transfer:
    """One evaluation. ``native`` 0 is the method's own size; ``options`` are the method's, as ``name=value``.

    ``weights`` names a file made by `recolorist-lab baseline convert` or `train`: in the folder RECOLORIST_WEIGHTS, or a path.
    Without it a network has the weights of the cell that trained it, or published ones that are found by themselves.
    """

    method: str = identity()
    dataset: str = identity("synthetic")
    seed: int = identity(SEEDS[0])
    pairs: int = identity(800)
    split: str = identity("train")
    size: int = identity(EVALUATION_SIZE)
    native: int = identity(0)
    resize: Literal["squash", "letterbox"] = identity("squash")
    options: tuple[str, ...] = identity(())
    weights: str = identity("")
    fid_backend: Literal["classic", "torchvision"] = identity("classic")
    metrics: tuple[str, ...] = identity(METRICS)
    batch: int = identity(16)
    root: str = operational("")
    features: str = operational("")
    device: str = operational("cpu")
    threads: int = operational(0)

    def __post_init__(self) -> None:
        refuse_odd_pairs(self.pairs, self.seed, self.size)
        unknown([self.method], (*METHODS, *_OURS), "method")
        unknown(self.metrics, METRICS, "metrics")
        if self.size < 32 or self.native < 0 or self.batch < 1 or self.threads < 0:
            raise OptionError(
                f"size={self.size}, native={self.native}, batch={self.batch}, threads={self.threads}; the evaluation needs 32 "
                "pixels or more, and nothing is negative"
            )


def native_size(config: Transfer) -> int:
    """Return the side at which a method gets its images; Colorist works at the size of the study.

    Args:
        config: The configuration of the cell.

    Returns:
        Pixels.
    """
    if config.native:
        return config.native
    return config.size if config.method in _OURS else class_of(config.method).native_size


def run(config: Transfer, context: Context) -> Mapping[str, Json]:
    """Transfer every pair and measure the results.

    Args:
        config: The configuration of the cell.
        context: Where the cell keeps checkpoints and files.

    Returns:
        The result, as the ledger stores it.

    Raises:
        RecoloristError: A pair was lost.
    """
    from recolorist_lab.metrics import FeatureCache, evaluate

    if config.threads:
        import torch

        torch.set_num_threads(config.threads)
    native = native_size(config)
    paired = open_pairs(replace(config, size=native))
    work = StylisingPairs(config, *model_of(config, context.inputs), native)
    evaluation = evaluate(
        work.triples(paired),
        metrics=config.metrics,
        fid_backend=config.fid_backend,
        batch=config.batch,
        device=config.device,
        cache=FeatureCache(Path(config.features)) if config.features else FeatureCache(),
        style_key=f"{data_of(config)}/{config.split}/{native}-{config.size}/{config.resize}/{config.seed}/{config.pairs}",
    )
    if evaluation.n != config.pairs:
        raise RecoloristError(f"{evaluation.n} of {config.pairs} pairs came through the evaluation; no result is reported")
    context.keep(SHOWN, work.shown())
    basis: dict[str, Json] = {"native": native, "weights": work.weights, "images": len(paired.samples)}
    return {**basis, "repeats": paired.pairs.repeats, **_result_of(evaluation, work)}


class StylisingPairs:
    """One method applied to the pairs, and the pairs that it keeps to show."""

    def __init__(self, config: Transfer, model: Baseline | None, weights: str, native: int) -> None:
        self.config, self.model, self.weights, self.native = config, model, weights, native
        self.seconds: list[float] = []
        self._shown_triples: list[tuple[Bytes, Bytes, Bytes]] = []

    def triples(self, paired: Paired) -> Iterator[Triple]:
        """Stylise pairs.

        Args:
            paired: The pairs.

        Yields:
            Content, style and output at the evaluation size.
        """
        from recolorist_lab.metrics import Triple

        for pair in paired.stream():
            content, style = pair.content.image, pair.style.image
            start = time.perf_counter()
            output = self.transferred(content, style)
            self.seconds.append(time.perf_counter() - start)
            content, style, output = (resize_square(image, self.config.size)[0] for image in (content, style, output))
            if len(self._shown_triples) < _SHOWN:
                self._shown_triples.append((content, style, output))
            yield Triple(content, style, output)

    def shown(self) -> bytes:
        """Return the first pairs as arrays.

        Returns:
            A file of `(pairs, 3, H, W, 3)`: content, style and output.
        """
        target = io.BytesIO()
        np.savez_compressed(target, shown=np.array(self._shown_triples))
        return target.getvalue()

    def transferred(self, content: Bytes, style: Bytes) -> Bytes:
        """Stylise one pair.

        Args:
            content: The content.
            style: The style.

        Returns:
            The output.
        """
        if self.config.method == NOTHING:
            return content
        if self.model is None:
            return np.asarray(match(content, style))
        import torch

        tensors = [torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 255.0 for image in (content, style)]
        out = self.model.stylise(*(tensor.to(self.config.device) for tensor in tensors))
        return np.asarray((out[0].permute(1, 2, 0) * 255.0).round().to(torch.uint8).cpu().numpy())


def model_of(config: Transfer, inputs: Mapping[str, Sequence[Any]]) -> tuple[Baseline | None, str]:
    """Load the network with the weights of its training cell, or with published ones.

    Args:
        config: The configuration of the cell.
        inputs: Finished cells that this one builds on.

    Returns:
        The network, None for our own methods; and which weights it has.

    Raises:
        OptionError: There are no weights, or several.
    """
    if config.method in _OURS:
        return None, "none"
    from recolorist_lab.baselines import store
    from recolorist_lab.baselines.options import parsed
    from recolorist_lab.baselines.pretrained import ready

    options = parsed(config.method, config.options)
    trained = [cell for cells in inputs.values() for cell in cells if cell.config["method"] == config.method]
    if len(trained) > 1:
        raise OptionError(f"{len(trained)} cells trained {config.method}; name the fields that tell them apart in `needs.on`")
    if config.weights:
        if trained:
            raise OptionError(f"{config.method} has both a training cell and weights={config.weights!r}; leave one out")
        return ready(config.method, _file(config.weights), device=config.device, **options), "published"
    if not trained:
        return ready(config.method, device=config.device, **options), "published"
    tensors, metadata = store.unpacked(trained[0].read(WEIGHTS), "the weights of the training cell")
    return store.made_of("the weights of the training cell", tensors, metadata, device=config.device, **options), "trained"


def _file(name: str) -> Path:
    """Return a file of weights, in the folder of weights or at the path."""
    path = Path(os.environ.get("RECOLORIST_WEIGHTS", ".")).expanduser() / name
    if not path.is_file():
        raise OptionError(
            f"weights={name!r} are not at {path}; make them with `recolorist-lab baseline convert`, and put them into the folder "
            "that RECOLORIST_WEIGHTS names"
        )
    return path


def _result_of(evaluation: Evaluation, work: StylisingPairs) -> dict[str, Json]:
    values = evaluation.to_dict()
    names = [name for name in values if name not in ("n", "seconds", "choices")]
    return {
        "pairs": evaluation.n,
        **{name: values[name] for name in names},
        "choices": values["choices"],
        "transform_ms": 1000 * float(np.median(work.seconds)),
    }
