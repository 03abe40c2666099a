"""A manifest identifies pixels: other images under the same names are other data, and are noticed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from typer.testing import CliRunner

from recolorist.errors import OptionError
from recolorist_lab.cli.main import app
from recolorist_lab.data.banks import cached_bank
from recolorist_lab.data.cards import Card
from recolorist_lab.data.index import CountError, check, index
from recolorist_lab.data.loader import Samples
from recolorist_lab.data.manifest import Manifest
from recolorist_lab.data.own import IndexOptions, index_folder
from recolorist_lab.data.registry import card_of
from recolorist_lab.data.statistics import summary
from tests.lab.fakes import medmnist
from tests.lab.fakes.parts import saved_arrays

OFFICIAL = Path(__file__).parents[4] / "shared" / "data" / "medmnist"


@pytest.fixture
def fake(tmp_path: Path) -> Card:
    """BreastMNIST as it should be, in a folder."""
    made = medmnist.make("breastmnist")
    (tmp_path / "breastmnist_224.npz").write_bytes(next(iter(made.served.values())))
    return made.card


def rewritten(folder: Path, **changes: Any) -> None:
    """Put other pixels into the archive; the labels stay."""
    path = folder / "breastmnist_224.npz"
    with np.load(path) as arrays:
        content: dict[str, NDArray[Any]] = dict(arrays)
    path.write_bytes(saved_arrays({**content, **{name: change(content[name]) for name, change in changes.items()}}))


def fingerprint(card: Card, root: Path) -> str:
    return index(card, root, allow_different=True).fingerprint()


class TestIdentity:
    def test_other_pixels_are_other_data(self, fake: Card, tmp_path: Path) -> None:
        before = fingerprint(fake, tmp_path)
        assert fingerprint(fake, tmp_path) == before
        rewritten(tmp_path, test_images=lambda images: 255 - images)
        assert fingerprint(fake, tmp_path) != before

    def test_a_refused_archive_leaves_arrays_and_manifest_alone(self, fake: Card, tmp_path: Path) -> None:
        """Otherwise the next training would use other pixels under the old fingerprint."""
        manifest = index(fake, tmp_path)
        rewritten(tmp_path, test_images=lambda images: 255 - images)
        with pytest.raises(CountError):
            index(fake, tmp_path)
        test = Samples(manifest, "test", root=tmp_path)
        for place in range(len(test)):
            test.refuse_changed(place)
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".refused")] == []

    def test_a_first_archive_that_is_refused_leaves_nothing(self, fake: Card, tmp_path: Path) -> None:
        rewritten(tmp_path, test_images=lambda images: 255 - images)
        with pytest.raises(CountError, match="Nothing was written"):
            index(fake, tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["breastmnist_224.npz"]

    def test_another_archive_is_refused_by_its_checksum(self, fake: Card, tmp_path: Path) -> None:
        rewritten(tmp_path, test_images=lambda images: 255 - images)
        with pytest.raises(CountError, match=r"breastmnist_224\.npz has the MD5 \w+ instead of \w+"):
            index(fake, tmp_path)
        manifest = index(fake, tmp_path, allow_different=True)
        assert "has the MD5" in manifest.facts.differences[0]
        assert summary(manifest, fake).agrees is False

    def test_images_of_another_size_are_refused(self, fake: Card, tmp_path: Path) -> None:
        with pytest.raises(CountError, match=r"images are 16x16x1 instead of 224x224x1"):
            index(replace(fake, pixels=224), tmp_path)
        manifest = index(replace(fake, pixels=224), tmp_path, allow_different=True)
        assert summary(manifest, fake).agrees is False
        assert any("instead of 224x224x1" in text for text in check(manifest, tmp_path, replace(fake, pixels=224)))

    def test_files_are_identified_by_their_bytes(self, tmp_path: Path) -> None:
        for number in range(2):
            (tmp_path / str(number)).mkdir()
            Image.fromarray(np.full((4, 4, 3), 10 * number, np.uint8)).save(
                tmp_path / str(number) / "a.bmp.png", compress_level=0
            )
        before = index_folder(tmp_path, IndexOptions("mine"))
        Image.fromarray(np.full((4, 4, 3), 99, np.uint8)).save(tmp_path / "0" / "a.bmp.png", compress_level=0)
        after = index_folder(tmp_path, IndexOptions("mine"))
        assert before.column("bytes") == after.column("bytes")
        assert before.fingerprint() != after.fingerprint()
        assert check(before, tmp_path) == ["0/a.bmp.png holds other pixels than when it was indexed"]


class TestCheck:
    def test_blackened_images_are_found(self, fake: Card, tmp_path: Path) -> None:
        manifest = index(fake, tmp_path)
        assert check(manifest, tmp_path, fake) == []
        path = tmp_path / "breastmnist_224" / "test_images.npy"
        np.save(path, np.zeros_like(np.load(path)))
        (sentence,) = check(manifest, tmp_path, fake)
        count = fake.expected.test
        assert sentence == (
            f"breastmnist_224/test_images.npy, {count} rows from row 0: holds other pixels than when it was indexed"
        )

    def test_a_replaced_archive_is_named(self, fake: Card, tmp_path: Path) -> None:
        manifest = index(fake, tmp_path)
        rewritten(tmp_path, test_images=np.zeros_like)
        (sentence,) = check(manifest, tmp_path, fake)
        assert sentence.startswith("breastmnist_224.npz is another file than the one that was indexed")
        (tmp_path / "breastmnist_224.npz").unlink()
        assert check(manifest, tmp_path, fake) == []

    def test_another_shape_is_named(self, fake: Card, tmp_path: Path) -> None:
        manifest = index(fake, tmp_path)
        path = tmp_path / "breastmnist_224" / "val_images.npy"
        np.save(path, np.load(path)[:, ::2, ::2])
        assert "has the shape 8x8x1 and had 16x16x1" in check(manifest, tmp_path)[0]

    def test_missing_and_short_arrays_are_named(self, fake: Card, tmp_path: Path) -> None:
        manifest = index(fake, tmp_path)
        path = tmp_path / "breastmnist_224" / "val_images.npy"
        np.save(path, np.load(path)[:-1])
        (tmp_path / "breastmnist_224" / "test_images.npy").unlink()
        short, gone = sorted(check(manifest, tmp_path), key=lambda text: "cannot" in text)
        assert f"names row {fake.expected.val - 1}" in short
        assert "cannot be read" in gone

    def test_the_command_finds_the_folder_by_itself(self, fake: Card, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = index(fake, tmp_path, allow_different=True).write(tmp_path / "mine.parquet")
        for words in ([str(path)], ["mine.parquet"], ["mine.parquet", "--root", str(tmp_path)]):
            monkeypatch.setenv("RECOLORIST_DATA", str(tmp_path))
            result = CliRunner().invoke(app, ["data", "check", *words])
            assert "instead of 224x224x1" in result.output  # the real card's
            assert "other pixels" not in result.output
            assert "was not found" not in result.output


def test_an_inverted_set_gets_a_bank_of_its_own(fake: Card, tmp_path: Path) -> None:
    def mean() -> float:
        path = index(fake, tmp_path, allow_different=True).write(tmp_path / "breastmnist.parquet")
        return float(cached_bank(Samples(path, "train", size=8)).mean.mean())

    before = mean()
    rewritten(tmp_path, train_images=lambda images: images // 2)
    assert mean() == pytest.approx(before / 2, abs=0.01)


class TestSizes:
    @pytest.mark.parametrize("side", [28, 64, 128])
    def test_every_size_has_its_archive(self, side: int) -> None:
        card = card_of(f"chestmnist_{side}")
        assert card.files[0].name == {28: "chestmnist.npz"}.get(side, f"chestmnist_{side}.npz")
        assert card.files[0].name in card.files[0].url
        assert card.files[0].name in card.sources[0].layout[0]
        assert (card.key, card.pixels, len(card.files[0].checksum or "")) == (f"chestmnist_{side}", side, 36)
        assert card.files[0].checksum != card_of("chestmnist").files[0].checksum

    def test_only_medmnist_has_sizes(self) -> None:
        for name in ("ddi_28", "breastmnist_30", "breastmnist_"):
            with pytest.raises(OptionError, match="is not a dataset of the study"):
                card_of(name)

    def test_an_archive_in_a_folder_that_cannot_be_written_to(self, fake: Card, tmp_path: Path) -> None:
        source, out = tmp_path / "source", tmp_path / "out"
        source.mkdir()
        out.mkdir()
        (tmp_path / "breastmnist_224.npz").rename(source / "breastmnist_224.npz")
        path = index(fake, source, into=out).write(out / "breastmnist.parquet")
        assert [entry.name for entry in source.iterdir()] == ["breastmnist_224.npz"]
        assert Samples(path, "val", size=8)[0].image.shape == (8, 8, 3)

    def test_files_keep_their_manifest_beside_them(self, tmp_path: Path) -> None:
        with pytest.raises(OptionError, match="its manifest must be in their folder"):
            index(card_of("ddi"), tmp_path, into=tmp_path / "out")


@pytest.mark.skipif(not OFFICIAL.is_dir(), reason="needs the official archives of 28 pixels")
class TestOfficial:
    @pytest.mark.parametrize("name", ["breastmnist", "retinamnist"])
    def test_the_official_archive_is_what_the_card_says(self, name: str, tmp_path: Path) -> None:
        manifest = index(card_of(f"{name}_28"), OFFICIAL, into=tmp_path)
        assert manifest.facts.complete
        assert summary(manifest, card_of(f"{name}_28")).agrees is True
        again = Manifest.read(manifest.write(tmp_path / f"{name}_28.parquet"))
        assert check(again, tmp_path, card_of(f"{name}_28")) == []

    def test_renamed_to_224_it_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "breastmnist_224.npz").write_bytes((OFFICIAL / "breastmnist.npz").read_bytes())
        with pytest.raises(CountError, match=r"has the MD5 750601b1\w+ instead of b56378a6\w+; 780 images are 28x28x1 instead"):
            index(card_of("breastmnist"), tmp_path)
