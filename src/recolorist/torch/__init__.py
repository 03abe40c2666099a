"""Colorist for PyTorch.

:class:`ToNormalizedTensor` turns uint8 images into normalised tensors, with or without new colours, in one pass.
:class:`ColoristDataset` draws by (seed, epoch, index of the sample): equal for any number of workers, and after a resume.
:class:`ColoristIterable` and :class:`ColoristMapper` do so by the key of the sample, for streams, WebDataset and torchdata.
:class:`ColorMatch` changes (B, C, H, W) batches on any device, with a bank or within the batch.
:class:`Harmonise` stands in front of a model after training, and goes with it to ONNX and TorchScript.
:class:`ParameterCollate` is for drawing in the worker and applying on the GPU.
"""

from recolorist import _adapters as adapters
from recolorist.augment.epochs import RepeatedEpochWarning

try:
    from recolorist.torch.colormatch import ColorMatch, Draws
    from recolorist.torch.dataset import ColoristDataset
    from recolorist.torch.fused import ToNormalizedTensor
    from recolorist.torch.harmonise import Harmonise
    from recolorist.torch.parameters import ParameterCollate, Parameters, WithParameters
    from recolorist.torch.samples import ColoristIterable, ColoristMapper
    from recolorist.torch.tensors import DetachedWarning
except ModuleNotFoundError as error:
    raise adapters.explain_missing("torch", error) from error

__all__ = [
    "ColorMatch",
    "ColoristDataset",
    "ColoristIterable",
    "ColoristMapper",
    "DetachedWarning",
    "Draws",
    "Harmonise",
    "ParameterCollate",
    "Parameters",
    "RepeatedEpochWarning",
    "ToNormalizedTensor",
    "WithParameters",
]
