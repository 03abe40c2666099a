"""
What clipping does, and how to limit it
=======================================

Clipping is the only step that loses anything. It is known before a pixel is written, counted after, and can be capped.
"""

# %%
# A style whose reds lie near white: the brightest pixels of the content are pushed past it.
import matplotlib.pyplot as plt
import numpy as np

import recolorist as rc
from recolorist.demo.synthetic import tile

content, style = tile(5, "valley", 192), tile(9, "harbour", 192)
moments = rc.measure(content), rc.measure(style)

strengths = np.linspace(0, 1, 21)
plans = [rc.plan(*moments, strength=float(strength)) for strength in strengths]
audits = [rc.audit(content, plan) for plan in plans]
predicted = [audit.predicted_clipped_overall for audit in audits]
counted = [audit.clipped_overall for audit in audits]

figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(strengths, predicted, color="#0b5f86", label="predicted from the plan")
axis.plot(strengths, counted, "o", color="#c8322b", markersize=4, label="counted in the output")
axis.set_xlabel("strength")
axis.set_ylabel("share of samples clipped")
axis.legend(frameon=False)

# %%
# ``max_clip`` finds the strength that stays below a share; the augmentation has it as an option.
bank = rc.StyleBank.build([style], split="train")
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, limit in zip(axes, (None, 0.02, 0.005, 0.001), strict=True):
    colorist = rc.Colorist(bank, p=1.0, max_clip=limit, seed=0)
    decision = colorist.params(content, key="content")  # drawn and decided, nothing written yet
    axis.imshow(colorist.apply(content, decision))
    clipped = rc.audit(content, decision.plan).clipped_overall
    axis.set_title(f"max_clip={limit}\nstrength {decision.strength:.2f}, clipped {clipped:.2%}", fontsize=9)
    axis.set_axis_off()
plt.show()
