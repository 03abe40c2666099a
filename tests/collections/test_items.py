"""What a collection consists of: folders, manifests, lists and stacks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recolorist as rc
from recolorist import collections as batch
from recolorist.collections.items import collected
from recolorist.collections.options import SourceOptions
from recolorist.errors import OptionError, RecoloristError
from tests.commands import picture


class TestItems:
    def test_a_folder(self, folder: Path) -> None:
        with collected(folder, SourceOptions(domain_from=0)) as images:
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
        with collected(path, SourceOptions(split="train")) as images:
            assert [item.label for item in images.items] == ["0", "2", "4"]
            assert images.splits == ("test", "train")
        with pytest.raises(OptionError, match="no split 'val'"), collected(path, SourceOptions(split="val")):
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
            with collected(source, SourceOptions(root=tmp_path)) as images:
                assert images.items[0].key == "data/hospital_a/benign/tile 000.png"
        with pytest.raises(OptionError, match="listed twice"), collected([paths[0], paths[0]], SourceOptions(root=tmp_path)):
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
