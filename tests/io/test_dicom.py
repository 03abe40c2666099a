"""DICOM: one frame of grey or RGB, with the range of the bits stored, and nothing of the patient."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recolorist as rc
from recolorist.collections import build_bank
from recolorist.errors import ImageError, RecoloristError
from recolorist.io.images import read_image, read_picture
from recolorist.io.write import encode
from tests.commands import picture, run_here
from tests.io.kit import Pixels, drop_tile, jpeg_2000, save_bytes, sixteen


def save_dicom(path: Path, pixels: Pixels, stored: int, form: str, syntax: Any = "ExplicitVRLittleEndian", **change: Any) -> Path:
    pydicom = pytest.importorskip("pydicom")
    meta = pydicom.dataset.FileMetaDataset()
    meta.TransferSyntaxUID = getattr(pydicom.uid, syntax)
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


@pytest.mark.parametrize(("allocated", "stored"), [(8, 7), (8, 8), *((16, bits) for bits in (8, 9, 10, 12, 14, 15, 16))])
@pytest.mark.parametrize("form", ["MONOCHROME1", "MONOCHROME2"])
def test_grey_of_any_bits(tmp_path: Path, allocated: int, stored: int, form: str) -> None:
    pixels = (sixteen()[..., 0] >> (16 - stored)).astype(f"u{allocated // 8}")
    found = read_picture(save_dicom(tmp_path / "a.dcm", pixels, stored, form))
    high = 2**stored - 1
    assert found.data_range == (None if stored == allocated else float(high))
    assert found.pixels.dtype == pixels.dtype
    assert np.array_equal(found.pixels, high - pixels if form == "MONOCHROME1" else pixels)


def test_the_bits_allocated_do_not_change_the_bank(tmp_path: Path) -> None:
    """Eight bits stored in sixteen were read on a scale of 65,535, so that the image came out almost black."""
    pixels = picture()[..., 0]
    save_dicom(tmp_path / "narrow.dcm", pixels, 8, "MONOCHROME2")
    save_dicom(tmp_path / "wide.dcm", pixels.astype(np.uint16), 8, "MONOCHROME2")
    bank = build_bank(tmp_path).bank
    assert np.allclose(bank.mean[0], pixels.mean() / 255)
    assert np.array_equal(bank.mean[0], bank.mean[1])


@pytest.mark.parametrize("stored", [8, 12])
def test_grey_becomes_colour_for_a_colour_bank(tmp_path: Path, stored: int) -> None:
    """``--grey rgb`` on the whole route: read, augmented to the bank's only style, written in the bits that came."""
    grey = (sixteen()[..., 0] >> (16 - stored)).astype(np.uint8 if stored == 8 else np.uint16)
    (tmp_path / "in").mkdir()
    save_dicom(tmp_path / "in" / "a.dcm", grey, stored, "MONOCHROME2")
    bank = rc.StyleBank.build([picture()], keys=["style"], split="train")
    bank.save(tmp_path / "bank.rcb")
    words = ("augment", tmp_path / "in", tmp_path / "out", "--bank", tmp_path / "bank.rcb")
    refused = run_here(*words)
    assert refused.code != 0
    assert "--grey rgb" in refused.err + refused.out
    assert run_here(*words, "--grey", "rgb", "--force").code == 0
    colour = np.repeat(grey[..., None], 3, axis=2)
    expected = rc.match(colour, bank.moments(0), data_range=float(2**stored - 1))
    assert np.array_equal(read_image(tmp_path / "out" / "a.png"), expected)


@pytest.mark.parametrize("form", ["YBR_FULL", "YBR_FULL_422"])
@pytest.mark.parametrize(("kind", "stored"), [(np.uint8, 7), (np.uint16, 8), (np.uint16, 12)])
def test_ybr_of_other_than_eight_bits_is_refused(tmp_path: Path, kind: type[Any], stored: int, form: str) -> None:
    """Pydicom takes 128 for no colour in any case: a grey of 20 in 7 bits was read as red 0, green 88, blue 0."""
    pixels = np.full((4, 4, 3), 2 ** (stored - 1), kind)
    pixels[..., 0] = 20
    data = pixels if form == "YBR_FULL" else pixels[..., :2]
    with pytest.raises(ImageError, match=f"{form} with {stored} bits stored of {8 * pixels.itemsize}"):
        read_image(save_dicom(tmp_path / "a.dcm", pixels, stored, form, PixelData=data.tobytes()))


def test_colour(tmp_path: Path) -> None:
    assert np.array_equal(read_image(save_dicom(tmp_path / "a.dcm", picture(), 8, "RGB")), picture())


def test_luminance_and_chrominance_become_rgb(tmp_path: Path) -> None:
    from PIL import Image

    stored = np.asarray(Image.fromarray(picture()).convert("YCbCr"))
    read = read_image(save_dicom(tmp_path / "a.dcm", stored, 8, "YBR_FULL"))
    assert np.abs(read.astype(int) - picture()).max() <= 3  # rounded twice


def test_subsampled_chrominance_becomes_rgb(tmp_path: Path) -> None:
    from PIL import Image

    full = np.array(Image.fromarray(picture()[:, :22]).convert("YCbCr"))
    full[:, 1::2, 1:] = full[:, ::2, 1:]  # two pixels share one chrominance
    pairs = full.reshape(len(full), -1, 2, 3)
    stored = np.stack([pairs[:, :, 0, 0], pairs[:, :, 1, 0], pairs[:, :, 0, 1], pairs[:, :, 0, 2]], -1)
    change = {"PixelData": stored.tobytes()}
    path = save_dicom(tmp_path / "a.dcm", full, 8, "YBR_FULL_422", **change)
    expected = np.asarray(Image.fromarray(full, "YCbCr").convert("RGB")).astype(int)
    assert np.abs(read_image(path) - expected).max() <= 2


def _lut() -> Any:
    pydicom = pytest.importorskip("pydicom")
    return [pydicom.Dataset()]


def _functional_groups() -> Any:
    pydicom = pytest.importorskip("pydicom")
    inner, outer = pydicom.Dataset(), pydicom.Dataset()
    inner.RescaleSlope, inner.RescaleIntercept = 2, 0
    outer.PixelValueTransformationSequence = [inner]
    return [outer]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"NumberOfFrames": 2}, "2 frames"),
        ({"PixelRepresentation": 1}, "signed"),
        ({"PhotometricInterpretation": "PALETTE COLOR"}, "PALETTE"),
        ({"PhotometricInterpretation": "YBR_PARTIAL_420"}, "YBR_PARTIAL_420"),
        ({"Rows": 60000, "Columns": 60000}, "over the limit"),
        ({"RescaleSlope": "2", "RescaleIntercept": "0"}, "slope 2"),
        ({"RescaleSlope": "1", "RescaleIntercept": "-1024"}, "intercept -1024"),
        ({"RescaleSlope": "0", "RescaleIntercept": "0"}, "slope 0"),
        ({"ModalityLUTSequence": _lut}, "lookup table"),
        ({"SharedFunctionalGroupsSequence": _functional_groups}, "slope 2"),
        ({"PerFrameFunctionalGroupsSequence": _functional_groups}, "slope 2"),
        ({"BitsStored": 9}, "9 bits stored of 8"),
        ({"BitsStored": 0}, "0 bits stored"),
        ({"BitsAllocated": 32, "BitsStored": 32, "HighBit": 31}, "32 bits stored of 32"),
        ({"HighBit": 6}, "highest bit 6"),
        ({"SamplesPerPixel": 2}, "2 samples"),
        ({"SamplesPerPixel": 3}, "3 samples"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    change = {name: value() if callable(value) else value for name, value in change.items()}
    with pytest.raises(ImageError, match=words):
        read_image(save_dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2", **change))


def test_cut_off(tmp_path: Path) -> None:
    path = save_dicom(tmp_path / "a.dcm", picture(), 8, "RGB")
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(ImageError, match=r"a\.dcm cannot be read as DICOM"):
        read_image(path)


def test_values_above_the_bits_stored_are_refused(tmp_path: Path) -> None:
    pixels = np.array([[0, 255], [256, 7]], np.uint16)
    with pytest.raises(ImageError, match=r"256.*8 bits stored"):
        read_image(save_dicom(tmp_path / "a.dcm", pixels, 8, "MONOCHROME2"))


def test_a_deflated_file(tmp_path: Path) -> None:
    path = save_dicom(tmp_path / "a.dcm", picture(), 8, "RGB", "DeflatedExplicitVRLittleEndian")
    assert np.array_equal(read_image(path), picture())
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ImageError, match=r"a\.dcm.*cut off"):
        read_image(path)


def test_a_deflated_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = save_dicom(
        tmp_path / "a.dcm", np.zeros((4, 4), np.uint8), 8, "MONOCHROME2", "DeflatedExplicitVRLittleEndian",
        EncapsulatedDocument=bytes(64 << 20),
    )  # fmt: skip
    tracemalloc.start()
    try:
        with pytest.raises(ImageError, match="unpack"):
            read_image(path)
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_a_file_larger_than_any_image_within_the_limit(tmp_path: Path) -> None:
    path = save_dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2")
    with path.open("r+b") as file:
        file.truncate(1 << 31)  # sparse: takes no space
    with pytest.raises(ImageError, match="2,147,483,648 bytes"):
        read_image(path)


def test_endless_elements_are_not_parsed(tmp_path: Path) -> None:
    """Zeros after the header are elements without content; pydicom parsed 2 GiB of them for minutes."""
    path = save_dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2")
    start = path.read_bytes().index(b"\x08\x00\x30\x10")  # the first element after the header: StudyDescription
    path.write_bytes(path.read_bytes()[:start] + bytes(4 << 20))
    with pytest.raises(ImageError, match="more than 100,000 elements"):
        read_image(path)


@pytest.mark.parametrize("name", ["Rows", "BitsStored", "BitsAllocated", "PhotometricInterpretation"])
def test_a_missing_element_is_named(tmp_path: Path, name: str) -> None:
    path = save_dicom(tmp_path / "a.dcm", picture()[..., 0], 8, "MONOCHROME2", **{name: None})
    with pytest.raises(ImageError, match=f"lacks {name}"):
        read_image(path)


def test_a_jpeg_larger_than_the_header_says(tmp_path: Path) -> None:
    pydicom = pytest.importorskip("pydicom")
    change = {"PixelData": pydicom.encaps.encapsulate([save_bytes("JPEG", picture()[..., 0])])}
    for pixels, accepted in ((picture()[..., 0], True), (np.zeros((4, 4), np.uint8), False)):
        path = save_dicom(tmp_path / "a.dcm", pixels, 8, "MONOCHROME2", "JPEGBaseline8Bit", **change)
        if accepted:
            assert read_image(path).shape == pixels.shape
        else:
            with pytest.raises(ImageError, match="declares 4 x 4 pixels, and the frame in it has 53 x 37"):
                read_image(path)


@pytest.mark.parametrize(("pixels", "stored"), [(picture()[..., 0], 16), (picture()[..., 0], 12), (sixteen()[..., 0], 8)])
def test_jpeg_2000_of_other_bits_inside(tmp_path: Path, pixels: Pixels, stored: int) -> None:
    """It was read on the scale of the header: 8 bits in 16 nearly black, 16 bits in 8 without their high bytes."""
    pydicom = pytest.importorskip("pydicom")
    change = {"PixelData": pydicom.encaps.encapsulate([jpeg_2000(pixels)])}
    shaped = pixels.astype(np.uint8 if stored == 8 else np.uint16)
    path = save_dicom(tmp_path / "a.dcm", shaped, stored, "MONOCHROME2", "JPEG2000Lossless", **change)
    inside = 8 * pixels.itemsize
    with pytest.raises(ImageError, match=f"declares {stored} bits, and the JPEG 2000 frame .* of {inside} bits"):
        read_image(path)
    path = save_dicom(tmp_path / "a.dcm", pixels, inside, "MONOCHROME2", "JPEG2000Lossless", **change)
    assert np.array_equal(read_image(path), pixels)


def test_jpeg_2000_without_a_tile_inside(tmp_path: Path) -> None:
    pydicom = pytest.importorskip("pydicom")
    pixels = picture()[..., 0]
    change = {"PixelData": pydicom.encaps.encapsulate([drop_tile(jpeg_2000(pixels, tile_size=(16, 16)), 5)])}
    with pytest.raises(ImageError, match="holds 11 tiles, and 12 would cover it"):
        read_image(save_dicom(tmp_path / "a.dcm", pixels, 8, "MONOCHROME2", "JPEG2000Lossless", **change))


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
