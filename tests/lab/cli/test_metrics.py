"""`recolorist-lab metrics`: pairing, what is printed, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow
from typer.testing import CliRunner

import recolorist
from recolorist.errors import OptionError
from recolorist_lab.cli.main import app
from recolorist_lab.cli.metrics import Files, paired
from recolorist_lab.metrics import Triple, evaluate
from tests.lab.command import lab
from tests.lab.metrics.pictures import Image, scene

LIGHT = "ssim,ssim_luminance,gradient_similarity,wasserstein"


def lay(folder: Path, images: dict[str, Image]) -> Path:
    for name, image in images.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Pillow.fromarray(image).save(folder / name)
    return folder


def triples(count: int = 3) -> list[Triple]:
    pairs = [(scene(seed), scene(seed + 50)) for seed in range(count)]
    return [Triple(one, two, recolorist.match(one, two)) for one, two in pairs]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept between tests, and nothing is downloaded."""
    monkeypatch.setenv("RECOLORIST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("RECOLORIST_OFFLINE", "1")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    made = triples()
    sides = (
        ("content", [one.content for one in made]),
        ("style", [one.style for one in made]),
        ("output", [one.output for one in made]),
    )
    content, style, output = (
        lay(tmp_path / name, {f"{number}.png": image for number, image in enumerate(images)}) for name, images in sides
    )
    return content, style, output


def run(*words: object, code: int = 0) -> Any:
    done = CliRunner().invoke(app, ["metrics", *map(str, words), "--json"])
    assert done.exit_code == code, (done.output, done.exception)
    return json.loads(done.stdout)


def refused(*words: object) -> str:
    done = CliRunner().invoke(app, ["metrics", *map(str, words)])
    assert isinstance(done.exception, OptionError), (done.output, done.exception)
    return str(done.exception)


class TestPairing:
    def test_by_name_whatever_the_ending(self, tmp_path: Path) -> None:
        images = {f"{name}.png": scene(0) for name in ("a", "b", "sub/a")}
        content, style = lay(tmp_path / "c", images), lay(tmp_path / "s", images)
        output = lay(tmp_path / "o", {name.replace(".png", ".jpg"): image for name, image in images.items()})
        found = paired(content, style, output)
        assert [one.output.relative_to(output).as_posix() for one in found] == ["a.jpg", "b.jpg", "sub/a.jpg"]
        assert all(one.content.relative_to(content) == one.style.relative_to(style) for one in found)

    def test_by_order(self, tmp_path: Path) -> None:
        content, style, output = (
            lay(tmp_path / side, {f"{side}{number}.png": scene(number) for number in range(3)}) for side in "cso"
        )
        found = paired(content, style, output, by="order")
        assert found[1] == Files(content / "c1.png", style / "s1.png", output / "o1.png")
        with pytest.raises(OptionError, match=r"do not hold the same names: 'c0' and 5 others are in one only.*--by order"):
            paired(content, style, output)

    def test_one_style_serves_all(self, folders: tuple[Path, Path, Path]) -> None:
        content, style, output = folders
        assert {one.style for one in paired(content, style / "1.png", output)} == {style / "1.png"}

    def test_single_images_need_no_common_name(self, folders: tuple[Path, Path, Path]) -> None:
        content, style, output = folders
        assert len(paired(content / "0.png", style / "1.png", output / "2.png")) == 1

    def test_as_many_of_each(self, folders: tuple[Path, Path, Path]) -> None:
        content, style, output = folders
        (output / "2.png").unlink()
        with pytest.raises(OptionError, match="3 contents, 3 styles and 2 outputs are not the same number"):
            paired(content, style, output, by="order")
        with pytest.raises(OptionError, match="'2' and 0 others"):
            paired(content, style, output)

    def test_two_of_one_name(self, folders: tuple[Path, Path, Path]) -> None:
        content, style, output = folders
        lay(content, {"0.tif": scene(0)})
        with pytest.raises(OptionError, match=r"0\.png and .*0\.tif have the same name"):
            paired(content, style, output)

    def test_nothing_there(self, folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        with pytest.raises(OptionError, match="empty contains no images"):
            paired(folders[0], folders[1], tmp_path / "empty")
        with pytest.raises(OptionError, match="gone does not exist"):
            paired(folders[0], folders[1], tmp_path / "gone")


class TestCommand:
    def test_it_says_what_the_function_says(self, folders: tuple[Path, Path, Path]) -> None:
        found = run(*folders, "--metrics", LIGHT, "--pairs")
        expected = evaluate(triples(), metrics=LIGHT.split(",")).to_dict(pairs=True)
        assert {key: found[key] for key in expected if key != "seconds"} == {
            key: value for key, value in expected.items() if key != "seconds"
        }
        assert [Path(one[2]).name for one in found["files"]] == ["0.png", "1.png", "2.png"]

    def test_with_an_audit(self, folders: tuple[Path, Path, Path]) -> None:
        found = run(*folders, "--metrics", "ssim", "--audit")
        audits = [recolorist.audit(one.content, one.output) for one in triples()]
        assert found["pearson"] == pytest.approx(sum(one.pearson_pooled for one in audits) / 3)
        assert found["clipped"] == pytest.approx(sum(one.clipped_overall for one in audits) / 3)

    def test_sizes_are_brought_together_if_asked(self, folders: tuple[Path, Path, Path]) -> None:
        content, style, output = folders
        lay(style, {"1.png": scene(9, (20, 60))})
        assert "style of pair 1 is 20 × 60" in refused(content, style, output, "--metrics", "ssim")
        assert run(content, style, output, "--metrics", LIGHT, "--size", "32")["n"] == 3
        assert run(content, style, output, "--metrics", LIGHT, "--size", "32", "--resize", "squash")["n"] == 3

    def test_grey_files_count_as_colour(self, tmp_path: Path) -> None:
        grey = lay(tmp_path / "g", {"a.png": scene(0)[..., 0]})
        assert run(grey, grey, grey, "--metrics", "ssim,wasserstein")["wasserstein"] == 0

    def test_a_table_for_people(self, folders: tuple[Path, Path, Path]) -> None:
        done = CliRunner().invoke(app, ["metrics", *map(str, folders), "--metrics", LIGHT])
        lines = done.output.splitlines()
        assert lines[0] == "3 pairs"
        assert lines[1].startswith("SSIM, output and content")
        assert lines[1].endswith("higher is better")
        assert lines[-1].startswith("seconds: ")

    def test_unknown_metrics_are_told_what_is_known(self, folders: tuple[Path, Path, Path]) -> None:
        assert "metrics='psnr' is unknown; choose from 'ssim'" in refused(*folders, "--metrics", "psnr")
        assert "by='hash' is unknown" in refused(*folders, "--by", "hash")
        assert "resize='crop' is unknown" in refused(*folders, "--resize", "crop")

    @pytest.mark.usefixtures("real_weights")
    def test_as_people_run_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """All metrics on the real networks, in a process of its own."""
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        made = [Triple(scene(n, (40, 40)), scene(n + 50, (40, 40)), scene(n, (40, 40))) for n in range(4)]
        folders = [
            lay(tmp_path / name, {f"{number}.png": getattr(one, name) for number, one in enumerate(made)})
            for name in ("content", "style", "output")
        ]
        first = lab("metrics", *folders, "--json")
        assert first.code == 0, first.err
        assert "FID of 4 images is biased upwards" in first.err
        values = json.loads(first.out)
        assert values["lpips"] == 0
        assert values["artfid"] == pytest.approx(1 + values["fid"])
        assert len(list((tmp_path / "cache" / "features").iterdir())) == 1

    @pytest.mark.usefixtures("real_weights")
    def test_few_pairs_leave_distances_of_sets_out(self, folders: tuple[Path, Path, Path]) -> None:
        done = CliRunner().invoke(app, ["metrics", *map(str, folders)])
        assert done.exit_code == 0
        assert "3 pairs are too few for FID, KID and ArtFID, which are left out" in done.stderr
        assert "LPIPS, output and content" in done.stdout
        assert "FID, outputs" not in done.stdout
