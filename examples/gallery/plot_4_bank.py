"""
A style bank, and what it draws
===============================

A bank holds the moments of a training split. Nine numbers an image are enough to recolour any other image, and to see at a
glance how hospitals differ.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import recolorist as rc
from recolorist.demo.synthetic import SCANNERS, tile

hospitals = [name for name in sorted(SCANNERS) for _ in range(12)]
images = [tile(100 + number, name, 96) for number, name in enumerate(hospitals)]
bank = rc.StyleBank.build(images, domains=hospitals, split="train", name="four hospitals")
print(bank)

# %%
# Every style as a point, in its own mean colour: red against blue, and the contrast of green.
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
for axis, (x, y, names) in zip(
    axes,
    (
        (bank.mean[:, 0], bank.mean[:, 2], ("mean of red", "mean of blue")),
        (bank.mean[:, 1], bank.std[:, 1], ("mean of green", "its spread")),
    ),
    strict=True,
):
    axis.scatter(x, y, c=np.clip(bank.mean, 0, 1), edgecolors="#1b1b1b", linewidths=0.5)
    axis.set_xlabel(names[0])
    axis.set_ylabel(names[1])

# %%
# One tile, twelve draws. The stream is keyed by seed, epoch and the image's own key, so the same draw comes again whatever the
# number of workers.
colorist = rc.Colorist(bank, p=1.0, sampler="other_domain", seed=0)
content = images[0]
figure, axes = plt.subplots(2, 6, figsize=(11, 4), layout="constrained")
for epoch, axis in enumerate(axes.flat):
    axis.imshow(colorist(content, key="0", epoch=epoch, domain=hospitals[0]))
    axis.set_axis_off()
plt.show()
