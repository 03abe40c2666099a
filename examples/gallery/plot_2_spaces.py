"""
Thirteen spaces, and which of them are one
==========================================

In a linear space matching is one 3 × 3 map of RGB. Spaces that differ by a scale or an offset of their axes give the same image.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

import recolorist as rc
from recolorist.demo.synthetic import tile

content, style = tile(3, "north", 192), tile(4, "mill", 192)
outputs = {space: rc.match(content, style, space=space) for space in rc.SPACES}

figure, axes = plt.subplots(3, 5, figsize=(11, 7), layout="constrained")
shown = {"content": content, "style": style, **outputs}
for axis, (name, image) in zip(axes.flat, shown.items(), strict=True):
    axis.imshow(image)
    axis.set_title(name, fontsize=9)
    axis.set_axis_off()

# %%
# How far apart are they? The mean absolute difference in levels; zero means the same bytes.
names = list(outputs)
apart = np.array([[np.abs(outputs[a].astype(int) - outputs[b]).mean() for b in names] for a in names])

figure, axis = plt.subplots(figsize=(6.5, 5.6), layout="constrained")
picture = axis.imshow(apart, cmap="magma_r")
axis.set_xticks(range(len(names)), names, rotation=60, ha="right")
axis.set_yticks(range(len(names)), names)
figure.colorbar(picture, label="mean absolute difference, levels")
plt.show()

# %%
# The block of YCbCr, YPbPr and YUV is zero, as the algebra says. YDbDr would be, too, but its published constants are rounded to
# three digits, which moves a few samples across a rounding edge.
for other in ("ypbpr", "yuv", "ydbdr"):
    print(f"ycbcr and {other}: {np.count_nonzero(outputs['ycbcr'] != outputs[other])} samples differ")
