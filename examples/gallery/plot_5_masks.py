"""
When the background dominates
=============================

Statistics are global. On a tile that is mostly glass they are those of the glass, unless a mask says what counts.
"""

# %%
# The tissue of one tile is pushed into a corner of empty glass.
import matplotlib.pyplot as plt
import numpy as np

import recolorist as rc
from recolorist.core.foreground import RULES
from recolorist.demo.synthetic import tile

content = np.full((192, 192, 3), (243, 242, 244), np.uint8)
content[96:, 64:] = tile(2, "north", 192)[96:, 64:]
style = tile(11, "harbour", 192)

mask = RULES["tissue"](content, 255.0)
everything = rc.match(content, style)
inside = rc.match(content, style, mask=mask, apply_to="mask")

figure, axes = plt.subplots(1, 5, figsize=(13, 3.2), layout="constrained")
panels = {"content": content, "tissue found": mask, "style": style, "whole image": everything, "tissue only": inside}
for axis, (name, image) in zip(axes, panels.items(), strict=True):
    axis.imshow(image, cmap="gray")
    axis.set_title(name, fontsize=9)
    axis.set_axis_off()
plt.show()

# %%
# The difference of the tissue's mean from the style's, in levels. With the mask it is nearly zero.
target = style.reshape(-1, 3).mean(axis=0)
for name, image in {"whole image": everything, "tissue only": inside}.items():
    print(f"{name:12} off by {np.abs(image[mask].mean(axis=0) - target).round(1)}")
