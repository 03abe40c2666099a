"""Harmonising under torchvision v2: the bytes of the core, in every type of image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra recolorist[torch]")
transforms = pytest.importorskip("recolorist.torchvision", reason="torchvision is an extra")

from PIL import Image  # noqa: E402 - skipped without the framework
from torchvision import tv_tensors  # noqa: E402
from torchvision.transforms import v2  # noqa: E402

import recolorist as rc  # noqa: E402
from recolorist.errors import ImageError  # noqa: E402
from tests.augment.test_harmoniser import BANK, LIKE, OTHER  # noqa: E402

CORE = rc.Harmoniser(BANK, "edge")
TRANSFORM: Any = transforms.Harmonise(BANK, "edge")


def channel_first(image: Any) -> Any:
    return torch.from_numpy(np.ascontiguousarray(np.moveaxis(image, -1, -3)))


@pytest.mark.parametrize("image", [LIKE[0], OTHER[0]], ids=["inside", "outside"])
class TestImages:
    def test_of_every_type(self, image: Any) -> None:
        wanted = CORE(image)
        pil = TRANSFORM(Image.fromarray(image))
        assert isinstance(pil, Image.Image)
        assert np.array_equal(np.asarray(pil), wanted)
        wrapped = TRANSFORM(tv_tensors.Image(channel_first(image)))
        assert type(wrapped) is tv_tensors.Image
        assert torch.equal(wrapped.as_subclass(torch.Tensor), channel_first(wanted))
        assert torch.equal(TRANSFORM(channel_first(image)[None])[0], channel_first(wanted))

    def test_in_a_pipeline_with_everything_else_as_it_was(self, image: Any) -> None:
        mask, boxes = tv_tensors.Mask(torch.ones(19, 23)), torch.ones(2, 4)
        boxes = tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(19, 23))
        sample = {"image": tv_tensors.Image(channel_first(image)), "mask": mask, "boxes": boxes, "label": 3}
        out = v2.Compose([TRANSFORM])(sample)
        assert torch.equal(out["image"], channel_first(CORE(image)))
        assert (out["mask"] is mask, out["boxes"] is boxes, out["label"]) == (True, True, 3)


def test_a_video_is_judged_as_a_whole() -> None:
    frames = np.stack([OTHER[0], OTHER[1]])
    out = TRANSFORM(tv_tensors.Video(channel_first(frames)))
    wanted = CORE(frames.reshape(-1, 23, 3)).reshape(frames.shape)
    assert type(out) is tv_tensors.Video
    assert torch.equal(out.as_subclass(torch.Tensor), channel_first(wanted))
    assert TRANSFORM(tv_tensors.Video(channel_first(frames[:0]))).shape[0] == 0


def test_its_text_has_the_options() -> None:
    assert "gate='edge'" in repr(TRANSFORM)


def test_an_array_alone_is_refused_because_torchvision_would_pass_it_through() -> None:
    with pytest.raises(ImageError, match=r"v2\.ToImage\(\)"):
        TRANSFORM(OTHER[0])
    image, depths = tv_tensors.Image(channel_first(OTHER[0])), OTHER[1]
    out, beside = TRANSFORM(image, depths)  # beside an image it is something else, such as a map of depths
    assert np.array_equal(out.numpy(), channel_first(CORE(OTHER[0])).numpy())
    assert beside is depths


def test_a_batch_is_judged_image_by_image() -> None:
    batch = tv_tensors.Image(channel_first(np.stack([LIKE[0], OTHER[0]])))
    expected = channel_first(np.stack([CORE(LIKE[0]), CORE(OTHER[0])]))
    assert torch.equal(TRANSFORM(batch).as_subclass(torch.Tensor), expected)


def test_a_video_without_frames_stays_as_it_is() -> None:
    video = tv_tensors.Video(torch.zeros(0, 3, 8, 9, dtype=torch.uint8))
    assert TRANSFORM(video).shape == video.shape
