"""The contracts that every adapter keeps, whatever the framework and the options; docs/contracts.md is the table of them."""

from __future__ import annotations

import copy
import pickle  # noqa: TID251 - a spawned loader worker gets its transforms by it
import random
from typing import Any

import numpy as np
import pytest

from tests.frameworks import workers
from tests.frameworks.contracts import CASES, FRAMEWORKS, EveryOptionSet, Subject, images

#: The dtypes of images that each framework documents and the adapter takes as they are.
DTYPES = {
    "torchvision": ("uint8", "uint16", "float32", "float64"),
    "albumentations": ("uint8", "float32"),
    "monai": ("uint8", "uint16", "float32", "float64"),
    "kornia": ("float16", "float32", "float64"),
    "huggingface": ("uint8", "uint16", "float32", "float64"),
}
ADAPTERS = {
    "torchvision": "Colorist",
    "albumentations": "Colorist",
    "monai": "RandColorist",
    "kornia": "RandomColorist",
    "huggingface": "ColoristTransform",
}


@pytest.mark.parametrize(("name", "options"), CASES)
class TestEveryOptionSet:
    def test_shape_dtype_and_type_are_kept(self, name: str, options: dict[str, Any]) -> None:
        subject = Subject(name, **options).seed(1)
        given = subject.give(images(name)[0])
        out = subject.call(given)
        assert (tuple(out.shape), out.dtype) == (tuple(given.shape), given.dtype)
        assert isinstance(out, type(given))

    def test_the_input_is_not_written(self, name: str, options: dict[str, Any]) -> None:
        image = images(name)[0]
        before = image.copy()
        subject = Subject(name, **options).seed(1)
        out = np.asarray(subject.call(subject.give(image)))
        assert image.tobytes() == before.tobytes()
        assert not np.array_equal(out, subject.give(before))

    def test_the_result_does_not_depend_on_strides(self, name: str, options: dict[str, Any]) -> None:
        image = images(name)[0]
        subject = Subject(name, **options)
        wide = np.zeros((image.shape[0], 2 * image.shape[1], 3), image.dtype)
        wide[:, ::2] = image
        out = [np.asarray(subject.seed(1).call(subject.give(each))) for each in (image, wide[:, ::2], np.asfortranarray(image))]
        for other in out[1:]:
            np.testing.assert_allclose(other, out[0], rtol=0, atol=1e-6 if name == "kornia" else 0)

    def test_seeds_reproduce(self, name: str, options: dict[str, Any]) -> None:
        subject, given = Subject(name, **options), images(name)
        first = subject.seed(1).run(given)
        assert subject.seed(2).run(given) != first
        assert subject.seed(1).run(given) == first
        assert Subject(name, **options).seed(1).run(given) == first

    def test_copies_and_pickles_do_the_same(self, name: str, options: dict[str, Any]) -> None:
        subject, given = Subject(name, **options), images(name)
        wanted = subject.seed(3).run(given)
        for copied in (copy.deepcopy(subject.pipeline), pickle.loads(pickle.dumps(subject.pipeline))):  # noqa: S301 - our own
            other = copy.copy(subject)
            other.pipeline = copied
            assert other.seed(3).run(given) == wanted
        assert subject.seed(3).run(given) == wanted

    def test_the_same_when_compiled(self, name: str, options: dict[str, Any]) -> None:
        """Drawing stays out of the graph."""
        if name not in ("torchvision", "monai", "kornia"):
            pytest.skip("takes no tensors")
        subject = Subject(name, **options)
        import torch

        torch.compiler.reset()
        given = subject.give(images(name)[0])
        wanted = subject.seed(1).call(given)
        compiled = torch.compile(subject.pipeline, backend="eager")
        subject.seed(1)
        assert torch.allclose(compiled(given), wanted, rtol=0, atol=1e-6 if name == "kornia" else 0)


@pytest.mark.parametrize("name", FRAMEWORKS)
class TestEveryFramework:
    @pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)
    def test_workers_and_epochs_differ_and_a_rerun_repeats(self, name: str) -> None:
        """All option sets in the same two workers."""
        pytest.importorskip("torch")
        data = EveryOptionSet(name)
        first, again = data.load(2), EveryOptionSet(name).load(2)
        assert first == again
        for number, label in enumerate(data.labels):
            drawn = {
                (epoch, worker): [digests[number] for where, digests in samples if where == worker]
                for epoch, samples in enumerate(first)
                for worker in range(2)
            }
            assert {len(digests) for digests in drawn.values()} == {4}, label
            assert len({tuple(digests) for digests in drawn.values()}) == 4, label
            assert len({digest for digests in drawn.values() for digest in digests}) > 8, label

    def test_an_index_makes_draws_the_same_for_any_workers(self, name: str) -> None:
        if name != "huggingface":
            pytest.skip("the framework does not say which sample it is")
        pytest.importorskip("torch")
        alone, shared = (
            [[digests for _, digests in samples] for samples in EveryOptionSet(name).load(count)] for count in (0, 2)
        )
        assert alone == shared

    def test_documented_dtypes(self, name: str) -> None:
        tile = images("torchvision")[0]
        subject = Subject(name)
        for dtype in DTYPES[name]:
            scale = {"uint8": 1, "uint16": 257}.get(dtype, 1 / 255)
            given = subject.give((tile * np.float64(scale)).astype(dtype))
            out = subject.seed(1).call(given)
            assert out.dtype == given.dtype, dtype
            assert not np.array_equal(np.asarray(out), np.asarray(given)), dtype

    @pytest.mark.filterwarnings("ignore:the bank's images were")
    @pytest.mark.parametrize("size", [(1, 1), (1, 28), (20, 1)], ids=str)
    def test_the_smallest_images(self, name: str, size: tuple[int, int]) -> None:
        subject = Subject(name).seed(1)
        given = subject.give(images(name)[0][: size[0], : size[1]].copy())
        out = subject.call(given)
        assert (tuple(out.shape), out.dtype) == (tuple(given.shape), given.dtype)

    def test_results_are_contiguous(self, name: str) -> None:
        subject = Subject(name).seed(1)
        given = subject.give(images(name)[0])
        out = subject.call(given if name in ("albumentations", "huggingface") else given.contiguous())
        assert np.asarray(out).flags["C_CONTIGUOUS"]

    def test_memory_that_must_not_be_written(self, name: str) -> None:
        if name not in ("albumentations", "huggingface"):
            pytest.skip("tensors are always writable")
        image = images(name)[0]
        image.flags.writeable = False
        assert Subject(name).seed(1).call(image).shape == image.shape

    def test_probability_zero_changes_nothing(self, name: str) -> None:
        subject, given = Subject(name, p=0.0).seed(1), images(name)
        assert subject.run(given) == [np.ascontiguousarray(subject.give(image)).tobytes() for image in given]

    def test_other_generators_are_left_alone(self, name: str) -> None:
        """A pipeline beside ours keeps its own random numbers."""
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002 - the generator of others, which must stay as it is
        wanted = random.getstate(), np.random.get_state()[1].tobytes()  # type: ignore[index]  # noqa: NPY002
        Subject(name).seed(1).run(images(name))
        assert (random.getstate(), np.random.get_state()[1].tobytes()) == wanted  # type: ignore[index]  # noqa: NPY002

    def test_torch_draws_only_where_the_framework_does(self, name: str) -> None:
        torch = pytest.importorskip("torch")
        subject = Subject(name).seed(1)
        before = torch.get_rng_state()
        subject.run(images(name))
        assert torch.equal(torch.get_rng_state(), before) == (name not in ("torchvision", "kornia"))

    def test_the_first_line_says_the_default_probability(self, name: str) -> None:
        kind = getattr(Subject(name).module, ADAPTERS[name])
        assert "(0.3 by default)" in str(kind.__doc__).splitlines()[0]
