"""
Has the scanner changed?
========================

The bank of the training split also tells whether new images look like those it was made from. No second model is needed.
"""

# %%
# A model was trained on one hospital. In March its lamp ages, in June the scanner is replaced.
import matplotlib.pyplot as plt
import numpy as np

import recolorist as rc
from recolorist.bank.drift import group_of, region_of
from recolorist.demo.synthetic import tile


def patches(slides: range, scanner: str, lamp: float = 1.0) -> list[np.ndarray]:
    """Four patches of every slide, under a lamp of this brightness."""
    scans = [(tile(number, scanner, 128) * lamp).astype(np.uint8) for number in slides]
    return [scan[y : y + 64, x : x + 64] for scan in scans for y in (0, 64) for x in (0, 64)]


bank = rc.StyleBank.build(patches(range(30), "north"), split="train", name="north")
region = region_of(
    bank, coverage=0.99, units=np.repeat(np.arange(30), 4).astype(str)
)  # four patches of a slide are no four slides


def month(first: int, scanner: str, lamp: float) -> rc.StyleBank:
    """Twenty patches of new slides."""
    return rc.StyleBank.build(patches(range(first, first + 5), scanner, lamp))


months = {"january": month(1000, "north", 1.0), "march": month(2000, "north", 0.86), "june": month(3000, "valley", 1.0)}

# %%
# Mahalanobis distance of each image's moments to the bank. The dashed line is the edge of the 99 % region, corrected for a bank
# of finite size: one image in a hundred of the same kind lies beyond it.
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for place, new in enumerate(months.values()):
    distances = region.distance(new.mean, new.cov)
    colours = np.clip(new.mean, 0, 1)
    axis.scatter(place + np.linspace(-0.2, 0.2, len(new)), distances, s=36, c=colours, edgecolors="#1b1b1b", linewidths=0.5)
axis.axhline(region.threshold, color="#1b1b1b", linestyle="--", linewidth=1)
axis.set_yscale("log")
axis.set_yticks([2, 5, 10, 20, 40], ["2", "5", "10", "20", "40"])
axis.minorticks_off()
axis.set_xticks(range(len(months)), months)
axis.set_ylabel("distance to the bank")
plt.show()

# %%
# On the command line the same is ``recolorist drift today/ --bank train.rcb --fail-shift 0.5``, with an exit code for
# pipelines.
for name, new in months.items():
    group = group_of(name, region, new.mean, new.cov, units=np.repeat(np.arange(5), 4).astype(str))
    print(f"{name:8} {group.share:.0%} outside the 99 % region, mean moved by {group.shift.size:.1f} SD: {group.verdict}")
