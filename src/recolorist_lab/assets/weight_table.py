"""The files of weights: name, size, checksum, address and licence of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from recolorist.errors import RecoloristError

__all__ = ["WEIGHTS", "DownloadError", "WeightFile", "WeightsError"]


class WeightsError(RecoloristError):
    """Weights that are missing here, or have another size or checksum than they should."""


class DownloadError(RecoloristError):
    """Weights that could not be downloaded."""


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of weights.

    ``sha256`` may be shortened to the digits that its publisher put into the name. ``bytes`` is None where it is not known.
    ``address`` is the official one, or None. ``instead`` names larger files that hold the same tensors, and ``keys`` is the
    pattern of the tensors that are taken from them. ``names`` are further names under which the very same file is published.
    """

    file: str
    sha256: str
    bytes: int | None
    address: str | None
    licence: str
    what: str
    instead: tuple[str, ...] = ()
    keys: str = ".*"
    names: tuple[str, ...] = ()


WEIGHTS: Final[Mapping[str, WeightFile]] = MappingProxyType(
    {
        "fid_inception": WeightFile(
            "fid_inception_pool3.pth",
            "ed45cb790e0d3eb2034a7576b0dfea20c86072f59f07647fe50966c50c227d67",
            87_460_879,
            address=None,
            licence="Apache-2.0",
            what="Inception of the classic FID (TensorFlow, 2015-12-05) up to the pooled 2,048 features",
            instead=("fid_inception_official",),
            keys=r"(Conv2d|Mixed)_.*",
        ),
        "fid_inception_official": WeightFile(
            "pt_inception-2015-12-05-6726825d.pth",
            "6726825d",
            None,
            address="https://github.com/mseitzer/pytorch-fid/releases/download/fid_weights/pt_inception-2015-12-05-6726825d.pth",
            licence="Apache-2.0",
            what="the same network with its classifier, as published",
            names=("weights-inception-2015-12-05-6726825d.pth",),
        ),
        "inception_v3": WeightFile(
            "inception_v3_google-0cc3c7bd.pth",
            "0cc3c7bd",
            None,
            address="https://download.pytorch.org/models/inception_v3_google-0cc3c7bd.pth",
            licence="BSD-3-Clause",
            what="torchvision's ImageNet Inception v3, for fid_backend='torchvision'",
        ),
        "alexnet_features": WeightFile(
            "alexnet_features.pth",
            "977ab27536b0aba222aabda4566fe5a7c2b331e180f1c908304a11cacfef0650",
            9_882_965,
            address=None,
            licence="BSD-3-Clause",
            what="convolutions of torchvision's AlexNet, for LPIPS alex",
            instead=("alexnet",),
            keys=r"features\..*",
        ),
        "alexnet": WeightFile(
            "alexnet-owt-7be5be79.pth",
            "7be5be79",
            None,
            address="https://download.pytorch.org/models/alexnet-owt-7be5be79.pth",
            licence="BSD-3-Clause",
            what="torchvision's AlexNet with its classifier, as published",
        ),
        "vgg16": WeightFile(
            "vgg16-397923af.pth",
            "397923af",
            None,
            address="https://download.pytorch.org/models/vgg16-397923af.pth",
            licence="BSD-3-Clause",
            what="torchvision's VGG-16, for LPIPS vgg and for Styleformer",
        ),
        "vgg19": WeightFile(
            "vgg19-dcbb9e9d.pth",
            "dcbb9e9d",
            None,
            address="https://download.pytorch.org/models/vgg19-dcbb9e9d.pth",
            licence="BSD-3-Clause",
            what="torchvision's VGG-19, behind the losses of StylizingViT",
        ),
        "vgg_normalised": WeightFile(
            "vgg_normalised.pth",
            "804ca2835ecf7539f0cd2a7ac3c18ce81e6f8468969ae7117ac0c148d286bb4a",
            80_102_481,
            address="https://github.com/naoto0804/pytorch-AdaIN/releases/download/v0.0.0/vgg_normalised.pth",
            licence="MIT; weights of Oxford's VGG group CC BY 4.0",
            what="normalised VGG-19 of the style-transfer networks, all 53 layers, as published",
        ),
        "vgg_normalised_relu4_1": WeightFile(
            "vgg_normalised_relu4_1.pth",
            "6664210481d349c54430f5328685a7d16e762f9010382213392acdf428cb42ec",
            14_029_997,
            address=None,
            licence="MIT; weights of Oxford's VGG group CC BY 4.0",
            what="layers 0 to 30 of the normalised VGG-19, up to relu4_1",
            instead=("vgg_normalised",),
            keys=r"([0-9]|[12][0-9]|30)\..*",
        ),
        "vgg_normalised_stage5_half": WeightFile(
            "vgg_normalised_stage5_half.pth",
            "8ff1eeb0ccd3e5ae9f13ff54c39ed62cde54b496b2b2b1268433997910fbe781",
            18_882_263,
            address=None,
            licence="MIT; weights of Oxford's VGG group CC BY 4.0",
            what="layers 31 to 43 of the normalised VGG-19, relu4_1 to relu5_1, rounded to float16",
            instead=("vgg_normalised",),
            keys=r"(3[1-9]|4[0-3])\..*",
        ),
        "adain_decoder": WeightFile(
            "adain_decoder.pth",
            "379ca41d59f3a37eed3599bbbc2560c19da5c458870a5ffd3a9dd41aa88f9472",
            14_023_458,
            address="https://github.com/naoto0804/pytorch-AdaIN/releases/download/v0.0.0/decoder.pth",
            licence="MIT",
            what="AdaIN's decoder, as published",
        ),
    }
)
