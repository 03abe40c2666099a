"""DICOM: one frame of grey or RGB, with the range of the bits stored, and nothing of the patient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recolorist.errors import ImageError, RecoloristError
from recolorist.io.images import read_image, read_picture
from recolorist.io.write import encode
from tests.commands import picture
from tests.io.kit import Pixels, sixteen


def save_dicom(path: Path, pixels: Pixels, stored: int, form: str, **change: Any) -> Path:
    pydicom = pytest.importorskip("pydicom")
    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = pydicom.uid.ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = "1.2.840.10008.5.1.4.1.1.7", "1.2.3"
    data = pydicom.dataset.FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    data.PatientName, data.StudyDescription = "Jane Q. Patient", "SECRETCOMMENT"
    data.Rows, data.Columns = pixels.shape[:2]
    data.SamplesPerPixel, data.PhotometricInterpretation = pixels.ndim if pixels.ndim == 3 else 1, form
    data.BitsAllocated, data.BitsStored, data.HighBit = 8 * pixels.itemsize, stored, stored - 1
    data.PixelRepresentation = 0
    if pixels.ndim == 3:
        data.PlanarConfiguration = 0
    data.PixelData = pixels.tobytes() + b"\0" * (pixels.nbytes % 2)
    for name, value in change.items():
        setattr(data, name, value)
    data.save_as(path, enforce_file_format=True)
    return path


@pytest.mark.parametrize("stored", [8, 10, 12, 16])
@pytest.mark.parametrize("form", ["MONOCHROME1", "MONOCHROME2"])
def test_grey_of_any_bits(tmp_path: Path, stored: int, form: str) -> None:
    pixels = (sixteen()[..., 0] >> (16 - stored)).astype(np.uint8 if stored == 8 else np.uint16)
    found = read_picture(save_dicom(tmp_path / "a.dcm", pixels, stored, form))
    high = 2**stored - 1
    assert found.data_range == (None if stored in (8, 16) else float(high))
    assert found.pixels.dtype == pixels.dtype
    assert np.array_equal(found.pixels, high - pixels if form == "MONOCHROME1" else pixels)


def test_colour(tmp_path: Path) -> None:
    assert np.array_equal(read_image(save_dicom(tmp_path / "a.dcm", picture(), 8, "RGB")), picture())


def test_luminance_and_chrominance_become_rgb(tmp_path: Path) -> None:
    from PIL import Image

    stored = np.asarray(Image.fromarray(picture()).convert("YCbCr"))
    read = read_image(save_dicom(tmp_path / "a.dcm", stored, 8, "YBR_FULL"))
    assert np.abs(read.astype(int) - picture()).max() <= 3  # rounded twice


@pytest.mark.parametrize(
    ("change", "words"),
    [({"NumberOfFrames": 2}, "2 frames"), ({"PixelRepresentation": 1}, "signed"),
     ({"PhotometricInterpretation": "PALETTE COLOR"}, "PALETTE"), ({"Rows": 60000, "Columns": 60000}, "over the limit")],
)  # fmt: skip
def test_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ImageError, match=words):
        read_image(save_dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2", **change))


def test_cut_off(tmp_path: Path) -> None:
    path = save_dicom(tmp_path / "a.dcm", picture(), 8, "RGB")
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(ImageError, match=r"a\.dcm cannot be read as DICOM"):
        read_image(path)


def test_names_are_dropped(tmp_path: Path) -> None:
    path = save_dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2")
    assert b"Jane Q. Patient" in path.read_bytes()
    assert b"Jane" not in encode(read_image(path), ".png")


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    (tmp_path / "a.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"\0" * 64)
    monkeypatch.setattr("importlib.import_module", missing)
    with pytest.raises(RecoloristError, match=r"a\.dcm.*pip install 'recolorist\[dicom\]'"):
        read_image(tmp_path / "a.dcm")
