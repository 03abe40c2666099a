"""Collections as functions: same result for any number of processes, and nothing lost, overwritten or done twice."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import recolorist as rc
from recolorist.augment.colorist import Colorist
from recolorist.collections import api as batch
from recolorist.collections.api import Where
from recolorist.collections.audit import AuditWork, Limits, panel_of
from recolorist.collections.items import Item, collected
from recolorist.collections.run import Failure, chunks_of, run
from recolorist.collections.target import Journal, OutputError, Target, recorded
from recolorist.collections.work import Augment, Measure
from recolorist.errors import ImageError, OptionError, RecoloristError, StatisticsError
from recolorist.io.images import Reading, read_image
from recolorist.io.write import encode
from tests.commands import collection, contents, picture

TWO = Where(jobs=2)


def mixed_collection(folder: Path) -> Path:
    """JPEG files plain, progressive, with coarse colours, turned, and with a profile; PNG files with alpha and of 16 bits."""
    folder.mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    kinds: list[dict[str, Any]] = [{}, {"progressive": True}, {"subsampling": 2}, {"exif": exif}, {"icc_profile": b"p" * 99}]
    for i, options in enumerate(kinds):
        Image.fromarray(picture(i)).save(folder / f"{i}.jpg", quality=90, **options)
    Image.fromarray(picture(7, channels=4)).save(folder / "alpha.png")
    (folder / "deep.png").write_bytes(encode(picture(8).astype(np.uint16) * 257, ".png"))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return collection(tmp_path / "data")


@pytest.fixture
def bank(folder: Path) -> rc.StyleBank:
    return batch.build_bank(folder, split="train", domain_from=0).bank


class TestItems:
    def test_a_folder(self, folder: Path) -> None:
        with collected(folder, domain_from=0) as images:
            assert len(images) == 6
            first = images.items[0]
            assert (first.key, first.label, first.domain) == ("hospital_a/benign/tile 000.png", "benign", "hospital_a")
            assert [item.key for item in images.items] == sorted(item.key for item in images.items)

    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
    def test_a_manifest(self, tmp_path: Path, folder: Path, suffix: str) -> None:
        rows = [
            {"path": path.relative_to(tmp_path).as_posix(), "label": str(i), "domain": "x", "split": ("train", "test")[i % 2]}
            for i, path in enumerate(sorted(folder.rglob("*.png")))
        ]
        path = tmp_path / f"m{suffix}"
        if suffix == ".parquet":
            pytest.importorskip("pyarrow.parquet").write_table(pytest.importorskip("pyarrow").Table.from_pylist(rows), path)
        else:
            mark = "," if suffix == ".csv" else "\t"
            path.write_text("\n".join(mark.join(row) for row in [list(rows[0]), *(list(row.values()) for row in rows)]), "utf-8")
        with collected(path, split="train") as images:
            assert [item.label for item in images.items] == ["0", "2", "4"]
            assert images.splits == ("test", "train")
        with pytest.raises(OptionError, match="no split 'val'"), collected(path, split="val"):
            pass
        with pytest.raises(OptionError, match="would leak into training"):
            batch.build_bank(path)
        assert batch.build_bank(path, split="train").bank.split == "train"

    @pytest.mark.parametrize("bad", ["../secret.png", "/etc/hosts.png", "data/../../x.png"])
    def test_a_manifest_cannot_lead_out_of_its_folder(self, tmp_path: Path, bad: str) -> None:
        (tmp_path / "m.csv").write_text(f"path\n{bad}\n", "utf-8")
        with pytest.raises(OptionError, match="does not lie below"), collected(tmp_path / "m.csv"):
            pass

    def test_a_list(self, tmp_path: Path, folder: Path) -> None:
        paths = sorted(folder.rglob("*.png"))
        (tmp_path / "list.txt").write_text("\n".join(str(path) for path in paths), "utf-8")
        for source in (tmp_path / "list.txt", paths):
            with collected(source, root=tmp_path) as images:
                assert images.items[0].key == "data/hospital_a/benign/tile 000.png"
        with pytest.raises(OptionError, match="listed twice"), collected([paths[0], paths[0]], root=tmp_path):
            pass

    def test_stacks(self, tmp_path: Path) -> None:
        stack = np.stack([picture(i) for i in range(5)])
        labels = np.arange(5)[:, None]
        np.savez_compressed(
            tmp_path / "m.npz", train_images=stack, train_labels=labels, test_images=stack[:2], test_labels=labels[:2]
        )
        np.save(tmp_path / "s.npy", stack)
        found = batch.build_bank(tmp_path / "m.npz", split="train").bank
        assert found.fingerprint == rc.StyleBank.from_npz(tmp_path / "m.npz").fingerprint
        assert (found.split, found.keys, found.labels) == ("train", tuple("01234"), tuple("01234"))
        assert batch.build_bank(tmp_path / "s.npy").bank.fingerprint == found.fingerprint
        with pytest.raises(OptionError, match="splits train, test"):
            batch.build_bank(tmp_path / "m.npz")

    @pytest.mark.parametrize("name", ["none", "empty", "a.csv", "b.csv", "c.npz"])
    def test_what_is_no_collection(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "empty").mkdir()
        (tmp_path / "a.csv").write_text("file,label\nx,y\n", "utf-8")
        (tmp_path / "b.csv").write_bytes(b"\xff\xfe\0\0")
        (tmp_path / "c.npz").write_bytes(b"nothing")
        with pytest.raises(RecoloristError):
            batch.build_bank(tmp_path / name)


class TestBank:
    def test_the_same_for_any_number_of_processes(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "many", 40)
        one, two = (batch.build_bank(folder, where=Where(jobs=jobs)).bank for jobs in (1, 2))
        assert one.fingerprint == two.fingerprint == rc.StyleBank.from_folder(folder).fingerprint
        assert one.keys == two.keys

    def test_bad_files_are_named_and_the_rest_is_measured(self, folder: Path) -> None:
        (folder / "bad.png").write_bytes(b"nothing")
        (folder / "empty.jpg").touch()
        Image.fromarray(picture()[..., 0]).save(folder / "grey.png")
        result = batch.build_bank(folder)
        assert len(result.bank) == 6
        assert [failure.key for failure in result.failures] == ["bad.png", "empty.jpg", "grey.png"]
        assert "1 channel(s), most others have 3" in result.failures[2].message

    def test_all_bad(self, tmp_path: Path) -> None:
        (tmp_path / "bad.png").write_bytes(b"nothing")
        with pytest.raises(ImageError, match=r"none of 1 file\(s\) could be measured"):
            batch.build_bank(tmp_path)

    def test_options_reach_the_pixels(self, folder: Path) -> None:
        tissue = batch.build_bank(folder, mask="tissue", space="lab", with_histograms=True).bank
        assert (tissue.space, tissue.histograms is not None) == ("lab", True)
        assert batch.build_bank(folder, space="yiq").bank.space == "rgb"

    def test_huge_files_go_through_in_strips(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", picture(0, (300, 300)))
        whole = batch.build_bank(tmp_path).bank
        assert batch.build_bank(tmp_path, reading=Reading(max_pixels=1000)).bank.fingerprint == whole.fingerprint

    def test_reference_is_the_average_style(self, bank: rc.StyleBank) -> None:
        found = batch.reference(bank, "hospital_b")
        chosen = bank.subset(domain="hospital_b")
        assert np.allclose(found.mean, chosen.mean.mean(axis=0))
        assert np.allclose(found.cov, chosen.cov.mean(axis=0))


class TestAugment:
    def test_equals_the_augmentation_image_by_image(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        result = batch.augment(folder, tmp_path / "out", bank, copies=2, seed=5, where=TWO)
        aug = Colorist(bank, 1.0, seed=5)
        for record in result.records:
            expected = aug(read_image(folder / record["source"]), record["source"], epoch=record["copy"])
            assert np.array_equal(read_image(tmp_path / "out" / record["output"]), expected)
        assert len(result.records) == 12
        assert {record["output"] for record in result.records} >= {
            "hospital_a/benign/tile 000_1.png",
            "hospital_a/benign/tile 000_2.png",
        }

    def test_provenance_is_enough_to_do_it_again(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        batch.augment(folder, tmp_path / "out", bank)
        lines = (tmp_path / "out" / "provenance.jsonl").read_text("utf-8").splitlines()
        assert len(lines) == 6
        for line in lines:
            record = json.loads(line)
            plan = rc.Plan.from_json(json.dumps(record["plan"]))
            source = read_image(folder / record["source"])
            assert np.array_equal(rc.apply(source, plan), read_image(tmp_path / "out" / record["output"]))
            assert record["audit"]["clipped_overall"] == rc.audit(source, plan).clipped_overall
            assert record["style"] in bank.keys
            assert record["style"] != record["source"]
        assert sorted(contents(tmp_path / "out")) == sorted([*(json.loads(line)["output"] for line in lines), "provenance.jsonl"])

    @pytest.mark.parametrize(
        "options", [{}, {"copies": 2, "p": 0.6, "strength": (0.2, 1.0)}, {"max_clip": 0.001}, {"max_gain": 0.5}]
    )
    def test_the_short_way_leads_where_the_long_one_does(
        self, tmp_path: Path, bank: rc.StyleBank, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
    ) -> None:
        mixed = mixed_collection(tmp_path / "mixed")
        batch.augment(mixed, tmp_path / "short", bank, where=Where(jobs=1), **options)
        monkeypatch.setattr(Augment, "_by_level", False)
        batch.augment(mixed, tmp_path / "long", bank, where=Where(jobs=1), **options)
        assert contents(tmp_path / "short") == contents(tmp_path / "long")
        assert len(contents(tmp_path / "short")) == 1 + 7 * options.get("copies", 1)

    def test_jpeg_equals_the_augmentation_image_by_image(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        mixed = mixed_collection(tmp_path / "mixed")
        result = batch.augment(mixed, tmp_path / "out", bank, seed=3, strength=(0.0, 1.0), where=TWO)
        aug = Colorist(bank, 1.0, seed=3, strength=(0.0, 1.0))
        jpegs = [record for record in result.records if record["source"].endswith(".jpg")]
        assert len(jpegs) == 5
        for record in jpegs:
            source = read_image(mixed / record["source"])
            decision = aug.params(source, record["source"])
            assert rc.Plan.from_json(json.dumps(record["plan"])) == decision.plan
            assert (tmp_path / "out" / record["output"]).read_bytes() == encode(aug.apply(source, decision), ".jpg")
            assert record["audit"]["clipped"] == rc.audit(source, decision.plan).clipped.tolist()

    def test_the_same_for_any_number_of_processes(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        many = collection(tmp_path / "many", 40)
        for jobs in (1, 2):
            batch.augment(many, tmp_path / str(jobs), bank, where=Where(jobs=jobs))
        assert contents(tmp_path / "1") == contents(tmp_path / "2")

    @pytest.mark.parametrize(
        "options", [{"method": "histogram"}, {"space": "lab"}, {"sampler": "other_domain"}, {"full_audit": True}]
    )
    def test_options(self, tmp_path: Path, folder: Path, options: dict[str, Any]) -> None:
        bank = batch.build_bank(folder, domain_from=0, with_histograms=True, space=options.get("space", "rgb")).bank
        result = batch.augment(folder, tmp_path / "out", bank, domain_from=0, **options)
        assert (len(result.records), result.failures) == (6, [])
        domains = [(record["source"].split("/")[0], str(record["style"]).split("/")[0]) for record in result.records]
        assert options != {"sampler": "other_domain"} or all(own != other for own, other in domains)

    def test_probability(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        result = batch.augment(folder, tmp_path / "out", bank, p=0.0)
        assert all(record["style"] is None for record in result.records)
        for record in result.records:
            assert np.array_equal(read_image(folder / record["source"]), read_image(tmp_path / "out" / record["output"]))

    @pytest.mark.parametrize("options", [{"p": 2}, {"copies": 0}, {"sampler": "best"}, {"method": "magic"}, {"strength": 3}])
    def test_wrong_options_are_refused_before_anything_is_written(
        self, tmp_path: Path, folder: Path, bank: rc.StyleBank, options: dict[str, Any]
    ) -> None:
        with pytest.raises(RecoloristError):
            batch.augment(folder, tmp_path / "out", bank, **options)
        assert not (tmp_path / "out").exists()

    def test_another_split_is_refused(self, tmp_path: Path, folder: Path) -> None:
        held_out = batch.build_bank(folder, split="test").bank
        with pytest.raises(OptionError, match="would leak"):
            batch.augment(folder, tmp_path / "out", held_out)
        assert batch.augment(folder, tmp_path / "out", held_out, allow_split=True).failures == []

    def test_stacks_become_files(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        np.save(tmp_path / "s.npy", np.stack([picture(i) for i in range(3)]))
        batch.augment(tmp_path / "s.npy", tmp_path / "out", bank)
        assert sorted(contents(tmp_path / "out")) == ["000000.png", "000001.png", "000002.png", "provenance.jsonl"]

    def test_huge_images(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        (tmp_path / "big").mkdir()
        np.save(tmp_path / "big" / "a.npy", picture(0, (300, 300)))
        whole = batch.augment(tmp_path / "big", tmp_path / "whole", bank)
        strips = batch.augment(tmp_path / "big", tmp_path / "strips", bank, reading=Reading(max_pixels=1000))
        assert strips.failures == []
        assert whole.records[0]["plan"] == strips.records[0]["plan"]
        assert (tmp_path / "whole" / "a.npy").read_bytes()[-270000:] == (tmp_path / "strips" / "a.npy").read_bytes()[-270000:]


class TestHarmonise:
    def test_every_image_gets_the_style(self, tmp_path: Path, folder: Path) -> None:
        style = rc.measure(picture(9))
        result = batch.harmonise(folder, tmp_path / "out", style, style_name="nine")
        for record in result.records:
            expected = rc.match(read_image(folder / record["source"]), style)
            assert np.array_equal(read_image(tmp_path / "out" / record["output"]), expected)
            assert record["style"] == "nine"

    def test_pooled_tiles_keep_their_differences(self, tmp_path: Path) -> None:
        dark, pale = picture(0) // 2, picture(0) // 2 + 100
        for name, pixels in (("slide/dark.png", dark), ("slide/pale.png", pale)):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / name)
        style = rc.Moments(1, [120.0] * 3, np.eye(3) * 400.0, 255.0)
        batch.harmonise(tmp_path / "slide", tmp_path / "apart", style)
        batch.harmonise(tmp_path / "slide", tmp_path / "pooled", style, pool=True)
        apart, pooled = (
            [float(read_image(tmp_path / way / name).mean()) for name in ("dark.png", "pale.png")] for way in ("apart", "pooled")
        )
        assert abs(apart[1] - apart[0]) < 1
        assert pooled[1] - pooled[0] > 20
        both = np.concatenate([read_image(tmp_path / "pooled" / name) for name in ("dark.png", "pale.png")])
        assert np.abs(both.mean(axis=(0, 1)) - 120).max() < 0.5


class TestResume:
    def test_skips_what_is_done_and_verifies_it(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        whole = contents(out)
        lost, *others = sorted(name for name in whole if name.endswith(".png"))
        (out / lost).unlink()
        before = {name: (out / name).stat().st_mtime_ns for name in others}
        result = batch.augment(folder, out, bank, resume=True)
        assert (result.kept, len(result.records), result.failures) == (5, 6, [])
        assert contents(out) == whole
        assert {name: (out / name).stat().st_mtime_ns for name in others} == before

    def test_a_changed_output_is_named_and_not_touched(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        victim = next(out.rglob("*.png"))
        whole = victim.read_bytes()
        victim.write_bytes(whole[:-1])
        result = batch.augment(folder, out, bank, resume=True)
        assert [failure.key for failure in result.failures] == [victim.relative_to(out).as_posix()]
        assert "differs from what was recorded" in result.failures[0].message
        assert victim.read_bytes() == whole[:-1]
        assert batch.augment(folder, out, bank, resume=True, force=True).failures == []
        assert victim.read_bytes() == whole

    def test_a_changed_source_or_option_is_done_again(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        Image.fromarray(picture(77)).save(folder / "hospital_a" / "benign" / "tile 000.png")
        result = batch.augment(folder, out, bank, resume=True)
        assert [failure.key for failure in result.failures] == ["hospital_a/benign/tile 000.png"]  # it would replace a file
        assert batch.augment(folder, out, bank, resume=True, force=True).kept == 5
        assert batch.augment(folder, out, bank, seed=1, resume=True, force=True).kept == 0

    def test_a_torn_journal_and_half_files_are_swept_up(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        whole = contents(out)
        lines = (out / "provenance.jsonl").read_bytes().splitlines(keepends=True)
        (out / "provenance.jsonl").unlink()
        (out / ".provenance.journal").write_bytes(b"".join(lines[:3]) + lines[3][:20])
        (out / "hospital_a" / ".x-1-1.recolorist-part").write_bytes(b"half")
        result = batch.augment(folder, out, bank, resume=True)
        assert (result.kept, result.failures) == (3, [])
        assert contents(out) == whole

    def test_nothing_is_overwritten(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        out = tmp_path / "out"
        batch.augment(folder, out, bank)
        before = contents(out)
        with pytest.raises(OptionError, match=r"7 of the outputs exist.*--resume.*--force"):
            batch.augment(folder, out, bank, seed=1)
        assert contents(out) == before
        batch.augment(folder, out, bank, seed=1, force=True)
        assert contents(out) != before


class TestTarget:
    @pytest.mark.parametrize("name", ["../x", "/x", "a/../b", "a//b", "", "a/./b", "nul\0"])
    def test_names_that_lead_elsewhere(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(OptionError, match="cannot be the name of an output"):
            Target(str(tmp_path)).place(name, b"x")

    def test_links_below_the_target_are_not_followed(self, tmp_path: Path) -> None:
        out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
        out.mkdir()
        elsewhere.mkdir()
        (out / "sub").symlink_to(elsewhere, target_is_directory=True)
        (elsewhere / "victim").write_bytes(b"mine")
        (out / "link").symlink_to(elsewhere / "victim")
        for force in (False, True):
            with pytest.raises(ImageError, match="links there are not followed"):
                Target(str(out), force).place("sub/x", b"data")
        with pytest.raises(ImageError, match="exists in the target"):
            Target(str(out)).place("link", b"data")
        Target(str(out), force=True).place("link", b"data")  # replaces the link, not what it leads to
        assert contents(elsewhere) == {"victim": b"mine"}
        assert not (out / "link").is_symlink()

    def test_the_same_bytes_again_are_as_good_as_written(self, tmp_path: Path) -> None:
        target = Target(str(tmp_path))
        target.place("a/b", b"data")
        target.place("a/b", b"data")
        with pytest.raises(ImageError, match="with other content"):
            target.place("a/b", b"other")
        assert contents(tmp_path) == {"a/b": b"data"}

    def test_long_names(self, tmp_path: Path) -> None:
        Target(str(tmp_path)).place("x" * 255, b"data")
        with pytest.raises(ImageError, match="was not written"):
            Target(str(tmp_path)).place("x" * 256, b"data")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
    def test_read_only(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o555)
        with pytest.raises(OutputError):
            Target(str(tmp_path)).place("x", b"data")

    def test_a_failing_disk_is_an_error_at_once_and_leaves_nothing(
        self, tmp_path: Path, folder: Path, bank: rc.StyleBank, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        written = 0

        def full(handle: int, data: Any) -> int:
            nonlocal written
            written += 1
            if written > 2:
                raise OSError(28, "No space left on device")
            return len(memoryview(data)) if handle < 0 else real(handle, data)

        real = os.write
        monkeypatch.setattr("recolorist.collections.target.os.write", full)
        with pytest.raises(OutputError, match="No space left"):
            batch.augment(folder, tmp_path / "out", bank)
        monkeypatch.undo()
        left = contents(tmp_path / "out")
        assert sum(name.endswith(".png") for name in left) == 2
        assert not [name for name in left if "part" in name]
        result = batch.augment(folder, tmp_path / "out", bank, resume=True)
        assert (len(result.records), result.failures) == (6, [])

    def test_records_that_are_not_ours(self, tmp_path: Path) -> None:
        target = Target(str(tmp_path))
        journal = Journal(target)
        journal.add(['{"source": "a", "output": "b", "sha256": "c"}'])
        journal.close(None)
        (tmp_path / "provenance.jsonl").write_bytes(b'{"x": 1}\n[1]\nnonsense\n\xff\n')
        assert [record["output"] for record in recorded(target)] == ["b"]


class TestClashes:
    def test_two_sources_one_output(self, tmp_path: Path, folder: Path, bank: rc.StyleBank) -> None:
        (folder / "x.dcm").write_bytes(b"\0" * 128 + b"DICM")
        (folder / "x.png").write_bytes(encode(picture(), ".png"))
        with pytest.raises(OptionError, match=r"x\.dcm and x\.png would both be written as x\.png"):
            batch.augment(folder, tmp_path / "out", bank)

    @pytest.mark.parametrize("inside", [".", "below"])
    def test_a_target_inside_the_source(self, folder: Path, bank: rc.StyleBank, inside: str) -> None:
        with pytest.raises(OptionError, match="lies inside the source"):
            batch.augment(folder, folder / inside, bank)


class TestAudit:
    def test_clipping_is_that_of_an_audit(self, folder: Path, bank: rc.StyleBank) -> None:
        result = batch.audit(folder, bank)
        for line in result.lines:
            image = read_image(folder / line["source"])
            shares = [
                rc.audit(image, rc.plan(rc.measure(image), bank.moments(row))).predicted_clipped_overall for row in range(6)
            ]
            assert line["clip_worst"] == max(shares)
            assert line["clip_median"] == pytest.approx(float(np.median(shares)), abs=1e-15)
            assert line["mean"] == pytest.approx((rc.measure(image).mean / 255).tolist(), rel=1e-14)
            assert line["std"] == pytest.approx((rc.measure(image).std / 255).tolist(), rel=1e-14)

    @pytest.mark.parametrize("scale", [1, 257])
    def test_hard_roundings(self, scale: int) -> None:
        """Gains and offsets that land exactly on half a level, for 8 and 16 bits."""
        high = 255 * scale
        levels = np.arange(high + 1).astype(np.uint8 if scale == 1 else np.uint16)[None]
        content = rc.measure(levels)
        for gain, shift in ((1.0, 0.5), (1.0, -0.5), (2.0, -0.5), (0.5, 0.0), (1.5, -0.25), (1.0, high / 2 + 0.5)):
            goal = rc.Moments(1, (content.mean * gain + shift) / high, content.cov * (gain / high) ** 2, 1.0)
            if not 0 <= goal.mean[0] <= 1:
                continue
            bank = rc.StyleBank(goal.mean[None], goal.cov[None], np.array([1]), ["x"])
            work = AuditWork(Reading(), None, panel_of(bank), Limits())
            from recolorist.collections.audit import Levels, _counts
            from recolorist.core.image import open_image

            (line,) = work.finish([Levels(Item("a", "a"), _counts(open_image(levels), None), (1, high + 1), "x")])
            expected = rc.audit(levels, rc.plan(content, bank.moments(0))).predicted_clipped_overall
            assert line["clip_median"] == expected

    def test_flags(self, tmp_path: Path) -> None:
        blank = np.full((20, 20, 3), 240, np.uint8)
        blank[3, 3] = 239
        flat = picture()
        flat[..., 1] = 7
        white = picture()
        white[:10] = 255
        for name, pixels in (("blank", blank), ("flat", flat), ("white", white), *((f"ok{i}", picture(i)) for i in range(8))):
            Image.fromarray(pixels).save(tmp_path / f"{name}.png")
        result = batch.audit(tmp_path)
        flags = {line["source"]: set(line["flags"]) for line in result.lines}
        assert flags["blank.png"] >= {"near_blank", "outlier"}
        assert "flat" in flags["flat.png"]
        assert "saturated" in flags["white.png"]
        assert result.summary["flags"]["near_blank"] == 1
        assert not any(flags[f"ok{i}.png"] - {"outlier"} for i in range(8))

    def test_floats_and_declared_bits(self, tmp_path: Path) -> None:
        np.save(tmp_path / "f.npy", picture().astype(np.float32) / 255)
        np.save(tmp_path / "w.npy", picture().astype(np.uint16) * 16)
        result = batch.audit(tmp_path, reading=Reading(bits=12))
        first, second = (line["mean"] for line in result.lines)
        assert first == pytest.approx((picture().mean(axis=(0, 1)) / 255).tolist(), abs=1e-5)
        assert second == pytest.approx((picture().mean(axis=(0, 1)) * 16 / 4095).tolist(), rel=1e-12)
        assert len(batch.audit(tmp_path, reading=Reading(bits=10)).failures) == 1  # it holds levels above 1023

    def test_the_same_for_any_number_of_processes(self, tmp_path: Path, bank: rc.StyleBank) -> None:
        folder = collection(tmp_path / "many", 30)
        one, two = (batch.audit(folder, bank, where=Where(jobs=jobs)) for jobs in (1, 2))
        assert one.lines == two.lines


class TestDrift:
    def test_the_same_images_are_inside_and_others_are_not(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "data", 60)
        bank = batch.build_bank(folder).bank
        result = batch.drift(bank, folder)
        assert result.overall.share < 0.05
        assert [group.name for group in result.groups] == ["hospital_a", "hospital_b"]
        for path in folder.rglob("*.png"):
            shifted = np.clip(read_image(path).astype(int) + np.array([0, 0, 90]), 0, 255).astype(np.uint8)
            Image.fromarray(shifted).save(path)
        moved = batch.drift(bank, folder)
        assert moved.overall.drifted
        assert moved.overall.to_dict()["words"].startswith("blue")
        assert sum(line["outside"] for line in moved.lines) == moved.overall.outside

    def test_grey_and_colour(self, tmp_path: Path) -> None:
        folder = collection(tmp_path / "data", 60)
        Image.fromarray(picture()[..., 0]).save(tmp_path / "grey.png")
        with pytest.raises(StatisticsError, match="must agree"):
            batch.drift(batch.build_bank(folder).bank, tmp_path / "grey.png")


@dataclasses.dataclass(frozen=True)
class Deadly:
    """Work that kills its process on one item, always or the first time."""

    marker: str
    always: bool

    def __call__(self, item: Item) -> str:
        if item.key == "13" and (self.always or not Path(self.marker).exists()):
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if item.key == "7":
            raise ZeroDivisionError("a bug")
        return item.key.upper()

    def finish(self, values: list[Any]) -> list[Any]:
        return values


@dataclasses.dataclass(frozen=True)
class Importing:
    """Work that tells what it had to import."""

    work: Any

    def __call__(self, item: Item) -> tuple[str, ...]:
        before = set(sys.modules)
        self.work(item)
        return tuple(sorted(set(sys.modules) - before))

    def finish(self, values: list[Any]) -> list[Any]:
        return values


class TestRunning:
    @pytest.mark.parametrize("always", [False, True], ids=["once", "always"])
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
    def test_a_killed_worker_costs_at_most_its_own_image(self, tmp_path: Path, always: bool) -> None:
        items = [Item(str(i), "") for i in range(40)]
        found: Sequence[Any] = [value for _, value in sorted(run(Deadly(str(tmp_path / "m"), always), items, 2))]
        assert len(found) == 40
        assert found[7] == Failure("7", "ZeroDivisionError: a bug")
        assert isinstance(found[13], Failure) is always
        assert [value for value in found if not isinstance(value, Failure)] == [
            str(i) for i in range(40) if i != 7 and (i != 13 or not always)
        ]

    @pytest.mark.parametrize("work", [Measure(Reading()), AuditWork(Reading())], ids=["bank", "audit"])
    def test_a_worker_need_not_import_anything_for_its_first_image(self, tmp_path: Path, work: Any) -> None:
        many = [Item(f"{i}.jpg", str(tmp_path / f"{i}.jpg")) for i in range(24)]
        for item in many:
            Path(item.path).write_bytes(encode(picture(), ".jpg"))
        assert {value for _, value in run(Importing(work), many, 2)} == {()}

    def test_chunks_hold_everything_in_order(self) -> None:
        items = [Item(str(i), "") for i in range(1001)]
        for jobs in (1, 2, 64):
            chunks = chunks_of(items, jobs)
            assert [item for _, chunk in chunks for item in chunk] == items
            assert all(items[start] is chunk[0] for start, chunk in chunks)
            assert max(len(chunk) for _, chunk in chunks) <= 32

    def test_wrong_engines_and_jobs(self) -> None:
        wrong: list[dict[str, Any]] = [{"engine": "dask"}, {"jobs": 0}]
        for options in wrong:
            with pytest.raises(RecoloristError):
                list(run(Deadly("", always=False), [Item("1", "")], **options))
