from __future__ import annotations

import copy
import json
import os
import pickle  # noqa: TID251 - a spawned loader worker gets its transforms by it
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # otherwise the import asks the network for a newer version
A = pytest.importorskip("albumentations", reason="albumentations is an extra")
pytest.importorskip("torch", reason="loader workers are PyTorch's")

import recolorist as rc  # noqa: E402 - skipped without the framework
from recolorist import _adapters as adapters  # noqa: E402
from recolorist.albumentations import Colorist  # noqa: E402
from recolorist.augment import samplers  # noqa: E402
from recolorist.augment.colorist import Decision  # noqa: E402
from tests.frameworks import workers  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*workers.LOADER_WARNINGS)

TILES = workers.tiles(8, seed=1)
BANK = workers.bank()
IS_X = hasattr(A.BasicTransform, "sample_parameters")  #: AlbumentationsX


class Pipeline:
    """A Compose as the harness calls it."""

    def __init__(self, compose: Any) -> None:
        self.compose = compose

    def __call__(self, image: workers.Image, mask: workers.Image, index: int) -> tuple[Any, Any]:  # noqa: ARG002
        out = self.compose(image=image, mask=mask)
        return out["image"], out["mask"]


def unpacked(params: Any) -> Any:
    """The parameters of a record; AlbumentationsX puts them into another dictionary."""
    return params.get("params", params)


def decisions_of(transform: Any) -> Any:
    """What the last call decided, as plain data."""
    return unpacked(transform.get_applied_params())["decisions"]


def replayed(out: Any) -> Any:
    """What a call of a ReplayCompose decided."""
    return unpacked(out["replay"]["transforms"][0]["params"])["decisions"]


def pipeline(seed: int = 7, **options: Any) -> Any:
    return A.Compose([Colorist(BANK, **{"p": 1.0} | options)], seed=seed)


class TestWorkers:
    @pytest.mark.parametrize("persistent", [False, True])
    def test_workers_and_epochs_differ_and_a_rerun_repeats(self, persistent: bool) -> None:
        runs = []
        for _ in range(2):
            dataset = workers.Repeated(Pipeline(pipeline()))
            runs.append(workers.two_epochs(dataset, persistent_workers=persistent))
            workers.assert_varied(runs[-1])
            workers.assert_kept(runs[-1], dataset, "ndarray uint8 (20, 28, 3)")
        assert runs[0] == runs[1]

    def test_the_coin_differs_too(self) -> None:
        dataset = workers.Repeated(Pipeline(pipeline(p=0.5)), count=40)
        epochs = workers.two_epochs(dataset)
        untouched = workers.two_epochs(workers.Repeated(Pipeline(A.Compose([]))))[0][0].image
        changed = [tuple(image == untouched for image in part) for epoch in epochs for part in workers.by_worker(epoch)]
        assert len(set(changed)) == 4
        assert 16 <= sum(map(sum, changed)) <= 64  # of 80 at one half: five deviations

    def test_another_seed_draws_otherwise(self) -> None:
        first, second = (workers.two_epochs(workers.Repeated(Pipeline(pipeline(seed))))[0] for seed in (1, 2))
        assert first != second

    def test_the_main_process_repeats_with_its_seed(self) -> None:
        first, second = ([pipeline()(image=tile)["image"] for tile in TILES] for _ in range(2))
        assert all(map(np.array_equal, first, second))


class TestImages:
    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_dtype_and_statistics(self, dtype: str) -> None:
        image = TILES[0] if dtype == "uint8" else (TILES[0] / 255).astype(np.float32)
        out = pipeline()(image=image)["image"]
        assert (out.dtype, out.shape) == (np.dtype(dtype), image.shape)
        means = out.reshape(-1, 3).mean(axis=0) / (255 if dtype == "uint8" else 1)
        nearest = np.abs(BANK.mean - means).max(axis=1).min()
        assert nearest < 0.02 < np.abs(BANK.mean - TILES[0].reshape(-1, 3).mean(axis=0) / 255).max(axis=1).min()

    def test_equals_the_core_for_the_same_decision(self) -> None:
        transform = Colorist(BANK, p=1.0)
        out = transform(image=TILES[0])["image"]
        decision = Decision.from_json(json.dumps(decisions_of(transform)["image"][0]))
        assert decision.plan is not None
        assert decision.row is not None
        assert np.array_equal(out, rc.apply(TILES[0], decision.plan))
        assert np.array_equal(out, rc.match(TILES[0], BANK.moments(decision.row)))

    def test_a_stack_takes_one_style_and_each_image_its_own_plan(self) -> None:
        transform = Colorist(BANK, p=1.0)
        out = transform(images=TILES)["images"]
        decisions = decisions_of(transform)["images"]
        assert len({one["style"] for one in decisions}) == 1
        style = BANK.moments(decisions[0]["row"])
        assert np.array_equal(out, np.stack([rc.match(tile, style) for tile in TILES]))

    def test_volumes_as_well(self) -> None:
        transform = Colorist(BANK, p=1.0)
        volumes = TILES.reshape(2, 4, *TILES.shape[1:])
        out = transform(volume=volumes[0], volumes=volumes)
        rows = {one["row"] for several in decisions_of(transform).values() for one in several}
        assert len(rows) == 1
        assert out["volumes"].shape == volumes.shape
        assert np.array_equal(out["volume"], out["volumes"][0])

    def test_further_images_get_the_same_map(self) -> None:
        transform = Colorist(BANK, p=1.0)
        compose = A.ReplayCompose([transform], additional_targets={"other": "image"})
        out = compose(image=TILES[0], other=TILES[1])
        plan = rc.Plan.from_json(json.dumps(replayed(out)["image"][0]["plan"]))
        assert np.array_equal(out["other"], rc.apply(TILES[1], plan))

    def test_never_called_with_probability_zero(self) -> None:
        assert np.array_equal(pipeline(p=0.0)(image=TILES[0])["image"], TILES[0])

    def test_one_of_forces_it(self) -> None:
        out = A.Compose([A.OneOf([Colorist(BANK, p=0.001)], p=1.0)])(image=TILES[0])["image"]
        assert not np.array_equal(out, TILES[0])


class TestMasks:
    mask = np.zeros((20, 28), np.uint8)
    mask[4:15, 3:20] = 1

    @pytest.mark.parametrize("kind", ["uint8", "bool", "float32", "int64"])
    def test_by_key(self, kind: str) -> None:
        transform = Colorist(BANK, p=1.0, mask_key="mask", apply_to="mask")
        out = transform(image=TILES[0], mask=self.mask.astype(kind))
        style = BANK.moments(decisions_of(transform)["image"][0]["row"])
        expected = rc.match(TILES[0], style, mask=self.mask.astype(bool), apply_to="mask")
        assert np.array_equal(out["image"], expected)
        assert np.array_equal(out["image"][self.mask == 0], TILES[0][self.mask == 0])
        assert out["mask"].dtype == kind

    def test_one_for_each_image_of_a_stack(self) -> None:
        transform = Colorist(BANK, p=1.0, mask_key="tissue")
        masks = np.stack([np.roll(self.mask, i) for i in range(len(TILES))])
        out = transform(images=TILES, tissue=masks)["images"]
        style = BANK.moments(decisions_of(transform)["images"][0]["row"])
        assert np.array_equal(out, np.stack([rc.match(t, style, mask=m) for t, m in zip(TILES, masks, strict=True)]))
        shared = transform(images=TILES, tissue=self.mask)["images"]
        style = BANK.moments(decisions_of(transform)["images"][0]["row"])
        assert np.array_equal(shared[3], rc.match(TILES[3], style, mask=self.mask))

    def test_by_rule(self) -> None:
        image = np.where(self.mask[..., None], TILES[0], np.uint8(250))
        transform = Colorist(BANK, p=1.0, mask="tissue")
        out = transform(image=image)["image"]
        style = BANK.moments(decisions_of(transform)["image"][0]["row"])
        assert np.array_equal(out, rc.match(image, style, mask=image.min(axis=-1) < 0.86 * 255))

    def test_missing_entry_is_named(self) -> None:
        with pytest.raises(rc.RecoloristError, match="no entry 'tissue'"):
            Colorist(BANK, p=1.0, mask_key="tissue")(image=TILES[0])


class TestSamplers:
    def test_never_itself(self) -> None:
        pair = rc.StyleBank.build(TILES[:2], keys=["a", "b"], split="train")
        transform = Colorist(pair, p=1.0, sample_key="name")
        rows = set()
        for _ in range(20):
            transform(image=TILES[0], name="a")
            rows.add(decisions_of(transform)["image"][0]["style"])
        assert rows == {"b"}

    @pytest.mark.parametrize(
        ("sampler", "entries", "same"),
        [
            ("same_label", {"label_key": "label"}, True),
            ("other_label", {"label_key": "label"}, False),
            ("other_domain", {"domain_key": "domain"}, False),
        ],
    )
    def test_labels_and_domains(self, sampler: str, entries: dict[str, Any], same: bool) -> None:
        transform = Colorist(BANK, p=1.0, sampler=sampler, **entries)
        what = next(iter(entries.values()))
        own = {"label": np.int64(2), "domain": "hospital 3"}
        for _ in range(30):
            transform(image=TILES[0], **own)
            row = decisions_of(transform)["image"][0]["row"]
            assert ((BANK.label(row) if what == "label" else BANK.domain(row)) == str(own[what])) == same


class TestWrittenOut:
    def test_by_value_and_back(self) -> None:
        small = BANK.subset(domain="hospital 1")
        written = A.Compose([Colorist(small, p=0.7, strength=(0.5, 1.0), max_gain=float("inf"), mask="tissue")])
        text = json.dumps(A.to_dict(written))
        again = A.from_dict(json.loads(text))
        written.set_random_seed(3)
        again.set_random_seed(3)
        assert again.transforms[0].bank.fingerprint == small.fingerprint
        assert again.transforms[0].bank.keys == small.keys
        assert again.transforms[0].bank.size == small.size == (20, 28)
        for tile in TILES:
            assert np.array_equal(written(image=tile)["image"], again(image=tile)["image"])
        assert json.dumps(A.to_dict(again)["transform"]["transforms"]) == json.dumps(json.loads(text)["transform"]["transforms"])

    def test_large_by_path_and_digest(self, tmp_path: Path) -> None:
        large = workers.bank(adapters.MOST_BY_VALUE + 1)
        path = large.save(tmp_path / "styles.bank")
        written = A.to_dict(A.Compose([Colorist(path, p=1.0)]))
        entry = written["transform"]["transforms"][0]["bank"]
        assert set(entry) == {"path", "sha256"}
        assert len(json.dumps(written)) < 2000
        again = A.from_dict(json.loads(json.dumps(written)))
        assert again.transforms[0].bank.fingerprint == large.fingerprint
        large.subset(label="1").save(path)
        with pytest.raises(rc.RecoloristError, match="SHA-256 differs"):
            A.from_dict(written)
        path.unlink()
        with pytest.raises(rc.RecoloristError, match="not there"):
            A.from_dict(written)

    def test_large_without_a_file_serves_this_process_and_is_not_written(self) -> None:
        large = A.ReplayCompose([Colorist(workers.bank(adapters.MOST_BY_VALUE + 1), p=1.0)])
        assert "257 styles" in repr(large)
        out = large(image=TILES[0])
        assert np.array_equal(A.ReplayCompose.replay(out["replay"], image=TILES[0])["image"], out["image"])
        with pytest.raises(TypeError, match="StyleBank is not JSON serializable"):
            json.dumps(out["replay"])

    def test_histograms_go_by_path(self, tmp_path: Path) -> None:
        path = rc.StyleBank.build(TILES, split="train", with_histograms=True).save(tmp_path / "few.bank")
        written = A.to_dict(A.Compose([Colorist(str(path), method="histogram", p=1.0)]))
        again = A.from_dict(json.loads(json.dumps(written)))
        other = workers.tiles(1, seed=9)[0]
        assert not np.array_equal(again(image=other)["image"], other)

    def test_functions_cannot_be_written(self) -> None:
        with pytest.raises(TypeError, match="function is not JSON serializable"):
            json.dumps(A.to_dict(A.Compose([Colorist(BANK, sampler=samplers.uniform)])))

    def test_pickled(self) -> None:
        one = pipeline(p=0.5)
        other = pickle.loads(pickle.dumps(one))  # noqa: S301 - our own
        assert all(np.array_equal(one(image=tile)["image"], other(image=tile)["image"]) for tile in TILES)


class TestReplay:
    @pytest.mark.parametrize("method", ["mean_std", "covariance", "histogram"])
    def test_exactly_and_as_json(self, method: str, tmp_path: Path) -> None:
        path = rc.StyleBank.build(TILES, split="train", with_histograms=True).save(tmp_path / "few.bank")
        compose = A.ReplayCompose([Colorist(path, method=method, p=0.6), A.HorizontalFlip(p=0.5)])
        compose.set_random_seed(2)
        applied = 0
        for tile in TILES:
            out = compose(image=tile)
            kept = json.loads(json.dumps(out["replay"]))
            applied += kept["transforms"][0]["applied"]
            assert np.array_equal(A.ReplayCompose.replay(kept, image=tile)["image"], out["image"])
            assert len(json.dumps(kept["transforms"][0]["params"])) < 3000  # tiny
        assert 0 < applied < len(TILES)

    def test_with_a_mask_that_is_not_among_the_parameters(self) -> None:
        compose = A.ReplayCompose([Colorist(BANK, p=1.0, mask_key="mask", apply_to="mask")])
        out = compose(image=TILES[0], mask=TestMasks.mask)
        assert len(json.dumps(out["replay"]["transforms"][0]["params"])) < 3000
        assert np.array_equal(A.ReplayCompose.replay(out["replay"], image=TILES[0], mask=TestMasks.mask)["image"], out["image"])

    def test_a_stack_of_another_length_gets_the_same_style(self) -> None:
        transform = Colorist(BANK, p=1.0)
        out = A.ReplayCompose([transform])(images=TILES)
        row = replayed(out)["images"][0]["row"]
        again = A.ReplayCompose.replay(out["replay"], images=TILES[5:])["images"]
        assert np.array_equal(again, np.stack([rc.match(tile, BANK.moments(row)) for tile in TILES[5:]]))

    @pytest.mark.parametrize("options", [{}, {"sampler": "gaussian"}, {"sampler": "other_domain", "domain_key": "site"}], ids=str)
    def test_a_record_of_an_image_on_a_stack(self, options: dict[str, Any]) -> None:
        compose = A.ReplayCompose([Colorist(BANK, p=1.0, **options)])
        named = {"site": "hospital 1"} if "domain_key" in options else {}  # 2.0.0 refuses entries that no option names
        out = compose(image=TILES[0], **named)
        kept = json.loads(json.dumps(out["replay"]))
        again = A.ReplayCompose.replay(kept, images=TILES, **named)["images"]
        assert np.array_equal(again[0], out["image"])
        assert not np.array_equal(again[1], TILES[1])


class TestTargets:
    def test_added_stacks(self) -> None:
        added = {"frames": "images", "left": "image", "scan": "volume"}
        compose = A.ReplayCompose([Colorist(BANK, p=1.0)], additional_targets=added)
        out = compose(image=TILES[0], frames=TILES[:3], images=TILES, left=TILES[1], scan=TILES[2:6], volume=TILES[4:])
        row = replayed(out)["image"][0]["row"]
        expected = np.stack([rc.match(tile, BANK.moments(row)) for tile in TILES])
        assert np.array_equal(out["image"], expected[0])
        assert np.array_equal(out["frames"], expected[:3])
        assert np.array_equal(out["images"], expected)
        assert np.array_equal(out["scan"], expected[2:6])

    @pytest.mark.skipif(IS_X, reason="AlbumentationsX takes added targets beside their own kind only")
    def test_added_stacks_alone(self) -> None:
        compose = A.Compose([Colorist(BANK, p=1.0)], additional_targets={"frames": "images"})
        assert compose(frames=TILES)["frames"].shape == TILES.shape

    def test_no_image_in_a_stack(self) -> None:
        out = Colorist(BANK, p=1.0)(images=TILES[:0])["images"]
        assert out.shape == TILES[:0].shape

    def test_strict_pipelines_take_named_entries(self) -> None:
        names: dict[str, Any] = {"sample_key": "name", "label_key": "class", "domain_key": "site", "mask_key": "tissue"}
        transform = Colorist(BANK, p=1.0, **names)
        assert transform.targets_as_params == ["tissue", "name", "class", "site"]
        compose = A.Compose([transform], strict=True)
        out = compose(image=TILES[0], name="3", site="hospital 1", tissue=TestMasks.mask, **{"class": "1"})
        assert not np.array_equal(out["image"], TILES[0])
        with pytest.raises(ValueError, match="other"):
            compose(image=TILES[0], name="3", site="hospital 1", tissue=TestMasks.mask, other=1, **{"class": "1"})

    @pytest.mark.filterwarnings("error")
    def test_named_entries_do_not_disturb_a_replay(self) -> None:
        compose = A.ReplayCompose([Colorist(BANK, p=1.0, sample_key="name")])
        out = compose(image=TILES[0], name="3")
        assert np.array_equal(A.ReplayCompose.replay(out["replay"], image=TILES[0], name="3")["image"], out["image"])

    @pytest.mark.skipif(IS_X, reason="AlbumentationsX saves the options instead")
    def test_applied_parameters_are_plain_data(self) -> None:
        compose = A.Compose([Colorist(BANK, p=1.0, sample_key="name")], save_applied_params=True)
        out = compose(image=TILES[0], images=TILES[:2], name=np.int64(3))
        assert json.loads(json.dumps(out["applied_transforms"]))[0][1]["draw"]["key"] == "3"


class TestBankForms:
    LARGE = workers.bank(adapters.MOST_BY_VALUE + 1)

    def test_embedded_at_any_size(self, tmp_path: Path) -> None:
        compose = A.Compose([Colorist(self.LARGE, p=1.0, bank_form="embedded")])
        A.save(compose, tmp_path / "pipeline.json")
        again = A.load(tmp_path / "pipeline.json")
        assert again.transforms[0].bank.fingerprint == self.LARGE.fingerprint

    def test_by_path_at_any_size(self, tmp_path: Path) -> None:
        path = self.LARGE.subset(domain="hospital 1").save(tmp_path / "few.rcb")
        written = A.to_dict(A.Compose([Colorist(path, bank_form="path")]))
        assert set(written["transform"]["transforms"][0]["bank"]) == {"path", "sha256"}

    def test_neither_is_refused_in_words(self, tmp_path: Path) -> None:
        with pytest.raises(rc.RecoloristError, match="Save it and pass its path"):
            A.save(A.Compose([Colorist(self.LARGE)]), tmp_path / "pipeline.json")
        with pytest.raises(rc.RecoloristError, match="needs a bank with a file"):
            Colorist(BANK, bank_form="path")
        with pytest.raises(rc.RecoloristError, match="histograms cannot be embedded"):
            Colorist(rc.StyleBank.build(TILES, split="train", with_histograms=True), bank_form="embedded")


class TestHost:
    def test_the_schema_has_no_defaults(self) -> None:
        own = set(Colorist.InitSchema.model_fields) - {"strict"}
        assert all(Colorist.InitSchema.model_fields[name].is_required() for name in own)
        assert own == set(Colorist(BANK).get_transform_init_args()) | {"p"}

    @pytest.mark.parametrize("wrong", [{"p": 1.5}, {"strength": "much"}, {"space": "cmyk"}, {"mask": "sky"}, {"bank": 3}])
    def test_wrong_options_are_refused(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Colorist(**{"bank": BANK} | wrong)

    def test_a_test_split_is_refused(self) -> None:
        leak = rc.StyleBank.build(TILES, split="test")
        with pytest.raises(rc.RecoloristError, match="leak"):
            Colorist(leak)
        Colorist(leak, allow_split=True)

    def test_copies_are_independent(self) -> None:
        one = pipeline()
        other = copy.deepcopy(one)
        one(image=TILES[0])
        assert np.array_equal(pipeline()(image=TILES[1])["image"], other(image=TILES[1])["image"])

    def test_missing_host_says_how_to_get_it(self) -> None:
        code = "import sys; sys.modules['albumentations'] = None\nimport recolorist.albumentations"
        done = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": SOURCE}
        )
        assert "pip install 'recolorist[albumentations]'" in done.stderr


SOURCE = str(Path(rc.__file__).parents[1])
