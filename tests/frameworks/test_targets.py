"""What each framework passes beside images, in containers, stacks and records, over every option set."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from tests.frameworks.contracts import BANK, NOT_IN_KORNIA, OPTION_SETS, Subject, bank_for, images

EVERY = pytest.mark.parametrize("options", OPTION_SETS.values(), ids=OPTION_SETS)
IN_KORNIA = {name: options for name, options in OPTION_SETS.items() if name not in NOT_IN_KORNIA}


class TestTorchvision:
    @EVERY
    def test_masks_boxes_and_points_are_the_same_objects(self, options: dict[str, Any]) -> None:
        subject = Subject("torchvision", **options).seed(1)
        import torch
        from torchvision import tv_tensors

        picture = tv_tensors.Image(subject.give(images("torchvision")[0]))
        size = (20, 28)
        others: list[Any] = [
            tv_tensors.Mask(torch.ones(size, dtype=torch.uint8)),
            tv_tensors.BoundingBoxes(torch.tensor([[1, 2, 9, 8]]), format="XYXY", canvas_size=size),
            {"label": 3, "name": "scan", "none": None},
        ]
        if hasattr(tv_tensors, "KeyPoints"):
            others.append(tv_tensors.KeyPoints(torch.tensor([[3, 4]]), canvas_size=size))
        out, (same, *rest) = subject.pipeline({"image": picture, "others": others}).values()
        assert type(out) is tv_tensors.Image
        assert not torch.equal(out, picture)
        assert same is others[0]
        assert all(new is old for new, old in zip([rest[0], *rest[2:]], [others[1], *others[3:]], strict=True))
        assert rest[1] == others[2]

    @EVERY
    def test_videos_and_batches_keep_their_shape(self, options: dict[str, Any]) -> None:
        subject = Subject("torchvision", **options)
        import torch
        from torchvision import tv_tensors

        frames = torch.from_numpy(np.moveaxis(images("torchvision"), -1, 1).copy())
        for kind in (tv_tensors.Video, tv_tensors.Image, torch.as_tensor):
            for given in (kind(frames), kind(frames[:0])):
                out = subject.seed(1).pipeline(given)
                assert (type(out), out.shape, out.dtype) == (type(given), given.shape, given.dtype)
                assert out.is_contiguous()
        together = subject.seed(1).pipeline(frames)
        for one, frame in zip(together, frames, strict=True):
            assert torch.equal(subject.seed(1).pipeline(frame), one)

    def test_containers_of_the_framework(self) -> None:
        subject = Subject("torchvision")
        import torch
        from torchvision.transforms import v2

        image = subject.give(images("torchvision")[0])
        inner = subject.pipeline.transforms[0]
        for outer in (
            v2.RandomApply([inner], p=1.0),
            v2.RandomChoice([inner]),
            v2.RandomOrder([inner]),
            torch.nn.Sequential(inner),
        ):
            assert outer(image).shape == image.shape
            assert not torch.equal(outer(image), image)
        assert inner.state_dict() == {}


class TestAlbumentations:
    @EVERY
    def test_masks_boxes_and_points_are_untouched(self, options: dict[str, Any]) -> None:
        module = Subject("albumentations").module
        import albumentations as A  # noqa: N812 - named as its users do

        image = images("albumentations")[0]
        mask = (image[..., 0] > 100).astype(np.uint8)
        pipeline = A.Compose(
            [A.NoOp(p=1.0), module.Colorist(bank_for(options), p=1.0, **options)],  # NoOp: boxes alone would be warned of
            bbox_params=A.BboxParams(format="pascal_voc", label_fields=["classes"]),
            keypoint_params=A.KeypointParams(format="xy"),
            seed=1,
        )
        boxes, points = np.array([[1.0, 2, 9, 8]], np.float32), np.array([[3.0, 4]], np.float32)
        out = pipeline(image=image, mask=mask, masks=[mask, 1 - mask], bboxes=boxes, classes=[7], keypoints=points)
        assert not np.array_equal(out["image"], image)
        assert np.array_equal(out["mask"], mask)
        assert [each.tobytes() for each in out["masks"]] == [mask.tobytes(), (1 - mask).tobytes()]
        np.testing.assert_allclose(out["bboxes"], boxes, rtol=1e-6)  # the framework divides by the size and multiplies again
        assert np.array_equal(out["keypoints"], points)
        assert list(out["classes"]) == [7]

    @EVERY
    def test_stacks_keep_their_shape(self, options: dict[str, Any]) -> None:
        subject, stack = Subject("albumentations", **options).seed(1), images("albumentations", 4)
        for name, given in {"images": stack, "volume": stack, "volumes": stack.reshape(2, 2, 20, 28, 3)}.items():
            out = subject.pipeline(**{name: given})[name]
            assert (out.shape, out.dtype) == (given.shape, given.dtype)
            assert out.flags["C_CONTIGUOUS"]
            assert not np.array_equal(out, given)

    @EVERY
    def test_written_and_read_again(self, options: dict[str, Any]) -> None:
        subject, given = Subject("albumentations", **options), images("albumentations")
        import albumentations as A  # noqa: N812

        again = copy.copy(subject)
        again.pipeline = A.from_dict(json.loads(json.dumps(A.to_dict(subject.pipeline))))
        assert again.seed(5).run(given) == subject.seed(5).run(given)

    @EVERY
    def test_replayed_from_its_record(self, options: dict[str, Any]) -> None:
        module = Subject("albumentations").module
        import albumentations as A  # noqa: N812

        image = images("albumentations")[0]
        out = A.ReplayCompose([module.Colorist(bank_for(options), p=1.0, **options)])(image=image)
        again = A.ReplayCompose.replay(json.loads(json.dumps(out["replay"])), image=image)
        assert np.array_equal(again["image"], out["image"])


class TestMonai:
    @EVERY
    def test_the_dictionary_version_does_the_same(self, options: dict[str, Any]) -> None:
        subject = Subject("monai", **options)
        import torch
        from monai.data.meta_tensor import MetaTensor

        tensor = subject.give(images("monai")[0])
        change = subject.module.RandColoristd("image", bank_for(options), prob=1.0, **options)
        mask, affine = torch.ones(1, 20, 28), torch.diag(torch.tensor([2.0, 3, 4, 1]))
        given: dict[str, Any] = {"image": MetaTensor(tensor, affine=affine, meta={"name": "scan"}), "mask": mask, "label": 4}
        change.set_random_state(1)
        out = change(given)
        subject.pipeline.transforms[0].set_random_state(1)
        assert torch.equal(out["image"].as_tensor(), subject.call(tensor).as_tensor())
        assert out["mask"] is mask
        assert out["label"] == 4
        assert torch.equal(out["image"].affine, affine.to(out["image"].affine))
        assert out["image"].meta["name"] == "scan"
        assert torch.equal(given["image"].as_tensor(), tensor)

    @EVERY
    def test_volumes_keep_their_shape(self, options: dict[str, Any]) -> None:
        subject = Subject("monai", **options).seed(1)
        import torch

        volume = torch.from_numpy(np.moveaxis(images("monai", 4), (-1, 0), (0, -1)).copy())  # (C, H, W, D)
        out = subject.call(volume)
        assert (out.shape, out.dtype) == (volume.shape, volume.dtype)
        assert not torch.equal(out.as_tensor(), volume)

    def test_tracking_of_metadata_may_be_off(self) -> None:
        subject = Subject("monai").seed(1)
        import torch
        from monai.data.meta_obj import set_track_meta

        set_track_meta(False)
        try:
            assert type(subject.call(subject.give(images("monai")[0]))) is torch.Tensor
        finally:
            set_track_meta(True)

    def test_a_result_without_gradients_is_announced(self) -> None:
        subject = Subject("monai").seed(1)
        from recolorist.torch import DetachedWarning

        given = (subject.give(images("monai")[0]) / 255.0).requires_grad_()
        with pytest.warns(DetachedWarning, match="ColorMatch"):
            out = subject.call(given)
        assert not out.requires_grad

    def test_a_cached_dataset_still_draws(self) -> None:
        subject = Subject("monai")
        import torch
        from monai.data.dataset import CacheDataset
        from monai.transforms.compose import Compose, OneOf
        from monai.transforms.utility.array import Lambda

        inner, given = subject.pipeline.transforms[0], [subject.give(image) for image in images("monai")]
        data = CacheDataset(given, Compose([Lambda(torch.as_tensor), OneOf([inner])]).set_random_state(1), progress=False)
        assert not torch.equal(data[0], data[0])
        assert not torch.equal(data[0].as_tensor(), given[0])


class TestKornia:
    @pytest.mark.parametrize("options", IN_KORNIA.values(), ids=IN_KORNIA)
    def test_masks_boxes_and_points_are_untouched_and_params_replay(self, options: dict[str, Any]) -> None:
        module = Subject("kornia").module
        import kornia.augmentation as K  # noqa: N812
        import torch

        batch = torch.from_numpy(np.moveaxis(images("kornia"), -1, 1).copy())
        others = (
            (batch[:, :1] > 0.5).float(),
            torch.tensor([[[1.0, 2, 9, 8]]]).repeat(3, 1, 1),
            torch.tensor([[[3.0, 4]]]).repeat(3, 1, 1),
        )
        change = K.AugmentationSequential(
            module.RandomColorist(BANK, p=1.0, **options), data_keys=["input", "mask", "bbox_xyxy", "keypoints"]
        )
        out, *rest = change(batch, *others)
        assert not torch.equal(out, batch)
        assert all(map(torch.equal, rest, others))
        again, *_ = change(batch, *others, params=change._params)
        assert torch.equal(again, out)

    @pytest.mark.parametrize("options", IN_KORNIA.values(), ids=IN_KORNIA)
    def test_videos_and_empty_batches(self, options: dict[str, Any]) -> None:
        module = Subject("kornia").module
        import kornia.augmentation as K  # noqa: N812
        import torch

        change = module.RandomColorist(BANK, p=1.0, **options)
        batch = torch.from_numpy(np.moveaxis(images("kornia", 4), -1, 1).copy())
        assert change(batch[:0]).shape == (0, 3, 20, 28)
        video = batch.reshape(1, 4, 3, 20, 28)
        out = K.VideoSequential(change, data_format="BTCHW", same_on_frame=True)(video)
        assert (out.shape, out.dtype) == (video.shape, video.dtype)
        assert change.state_dict() == {}


class TestHuggingface:
    @EVERY
    def test_views_maps_and_streams_are_the_same(self, options: dict[str, Any]) -> None:
        change = Subject("huggingface", **options).seed(2).pipeline
        import datasets
        from PIL import Image

        columns = {"image": [Image.fromarray(each) for each in images("huggingface")], "index": [0, 1, 2], "label": list("abc")}
        table = datasets.Dataset.from_dict(columns)
        wanted = [np.asarray(row["image"]) for row in table.with_transform(change)]
        assert not np.array_equal(wanted[0], images("huggingface")[0])
        stream = [change({"image": [row["image"]], "index": [row["index"]]})["image"][0] for row in table.to_iterable_dataset()]
        mapped = table.to_iterable_dataset().map(change, batched=True, batch_size=2)
        for one, other, row in zip(wanted, stream, mapped, strict=True):
            assert np.array_equal(one, other)
            assert np.array_equal(one, row["image"])
        assert [row["label"] for row in table.with_transform(change)] == list("abc")
        assert list(change({"label": [], "image": [], "index": []})) == ["label", "image", "index"]
