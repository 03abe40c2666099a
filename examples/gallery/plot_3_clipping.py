"""
What clipping does, and how to limit it
=======================================

Clipping is the only step that loses anything. It is known before a pixel is written, counted after, and can be limited.
Images: NCT-CRC-HE (Kather 2018), CC BY 4.0, recoloured.
"""

# %%
# Tumour tissue takes the style of a tile of higher contrast. Its palest pixels are pushed past white.
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import recolorist as rc

folder = Path("../images")  # from the folder of this script
content, style = (np.asarray(Image.open(folder / name)) for name in ("tissue_4.jpg", "tissue_3.jpg"))
moments = rc.measure(content), rc.measure(style)

strengths = np.linspace(0, 1, 21)
plans = [rc.plan(*moments, strength=float(strength)) for strength in strengths]
audits = [rc.audit(content, plan) for plan in plans]
predicted = [100 * audit.predicted_clipped_overall for audit in audits]
counted = [100 * audit.clipped_overall for audit in audits]

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(strengths, predicted, color="#0b5f86", label="predicted from the plan")
axis.plot(strengths, counted, "o", color="#c8322b", markersize=4, label="counted in the output")
axis.set_xlabel("strength")
axis.set_ylabel("values clipped, %")
axis.legend(frameon=False)
plt.show()

# %%
# ``max_clip`` is a limit on the share of clipped values. To keep it, the augmentation takes less of the style's contrast, then
# less strength. Below each output, the pixels with a clipped channel are orange.
bank = rc.StyleBank.build([style], split="train")
figure, axes = plt.subplots(2, 4, figsize=(12, 6.6), layout="constrained")
for (above, below), limit in zip(axes.T, (None, 0.02, 0.005, 0.001), strict=True):
    colorist = rc.Colorist(bank, p=1.0, max_clip=limit, seed=0)
    decision = colorist.params(content, key="content")  # drawn and decided, nothing written yet
    clipped = rc.audit(content, decision.plan).clipped_overall
    above.imshow(colorist.apply(content, decision))
    above.set_title(f"max_clip={limit}\nclipped {clipped:.2%}, contrast × {decision.contrast:.2f}", fontsize=10)
    exact = content @ decision.plan.matrix.T + decision.plan.offset
    marked = np.repeat(content.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)
    marked[((exact < -0.5) | (exact > 255.5)).any(axis=2)] = (230, 120, 0)
    below.imshow(marked)
    above.set_axis_off()
    below.set_axis_off()
plt.show()
