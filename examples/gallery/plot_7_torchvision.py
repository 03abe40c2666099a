"""
Colorist among torchvision's transforms
=======================================

:class:`recolorist.torchvision.Colorist` is a v2 transform. It takes PIL images, tensors and videos in samples of any structure,
and leaves masks, boxes and labels alone. By default it changes three samples in ten (``p=0.3``).
"""

# %%
# A bank of two scanners, and a tile of the first one as torchvision has it.
import matplotlib.pyplot as plt
import torch

from recolorist import StyleBank
from recolorist.demo.synthetic import tile
from recolorist.torchvision import Colorist  # before torchvision, where its wheel was built for another torch

# isort: split
from torchvision import tv_tensors
from torchvision.transforms import v2

tiles = [tile(seed, scanner, 128) for scanner in ("north", "harbour") for seed in range(12)]
bank = StyleBank.build(tiles, domains=["north"] * 12 + ["harbour"] * 12, name="two scanners", split="train")
image = v2.functional.to_image(tiles[0])
torch.manual_seed(2)


def plot(rows: dict[str, list[torch.Tensor]]) -> None:
    """Show images (C, H, W) in named rows, masks in grey."""
    columns = max(map(len, rows.values()))
    side = min(11 / columns, 2.2)
    figure, axes = plt.subplots(len(rows), columns, figsize=(side * columns, (side + 0.2) * len(rows)), squeeze=False)
    for line, (name, images) in zip(axes, rows.items(), strict=True):
        line[0].set_title(name, fontsize=9, loc="left")
        for axis, picture in zip(line, images, strict=False):
            axis.imshow((picture.permute(1, 2, 0) if picture.ndim == 3 else picture).numpy(), cmap="gray")
        for axis in line:
            axis.set_axis_off()
    figure.tight_layout()
    plt.show()


# %%
# Seven calls with ``p=1``: a style is drawn each time, with torch's random numbers, so that ``torch.manual_seed`` repeats them.
always = Colorist(bank, p=1.0)
plot({"the image, and seven draws": [image, *(always(image) for _ in range(7))]})

# %%
# With ``strength`` the image goes only part of the way; a pair is a range to draw from.
rows = {}
for strength in (0.25, 0.5, 1.0):
    torch.manual_seed(5)  # the same styles in every row
    rows[f"strength={strength}"] = [Colorist(bank, p=1.0, strength=strength)(image) for _ in range(6)]
plot(rows)

# %%
# In a pipeline, before ``Normalize``. The mask and the boxes follow the flip, and keep their values where colours change.
pipeline = v2.Compose([v2.RandomHorizontalFlip(p=1.0), Colorist(bank, p=1.0), v2.ToDtype(torch.float32, scale=True)])
sample = {
    "image": image,
    "mask": tv_tensors.Mask(image.min(0).values < 190),
    "boxes": tv_tensors.BoundingBoxes(torch.tensor([[10, 20, 60, 90]]), format="XYXY", canvas_size=(128, 128)),
    "label": 1,
}
out = pipeline(sample)
print(out["boxes"].tolist(), out["label"], out["image"].dtype)
plot({"image and mask, before and after": [sample["image"], sample["mask"], out["image"], out["mask"]]})

# %%
# A batch takes one style in a call, and each image is measured by itself. The frames of a video are measured together, so that it
# does not flicker.
batch = torch.stack([v2.functional.to_image(each) for each in tiles[:6]])
torch.manual_seed(3)
changed = always(batch)
torch.manual_seed(3)
video = always(tv_tensors.Video(batch))
plot({"a batch": list(batch), "each image to the style": list(changed), "as a video: all frames together": list(video)})

# %%
# The text of a pipeline holds every option, so that a line of a log is enough to repeat a run.
print(pipeline)
