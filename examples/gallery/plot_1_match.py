"""
One match, in three steps
=========================

Measure two images, decide once, apply. The plan is a few numbers you can read, and the audit says what it cost.
"""

# %%
# The same kind of tissue, stained and scanned at two hospitals. Both images are drawn. So we also know how the *first* tissue
# would have looked at the *second* hospital; of real slides this is not known.
import matplotlib.pyplot as plt

import recolorist as rc
from recolorist.demo.synthetic import scan, tile, tissue

dyes = tissue(7, 224)
content = scan(dyes, "north", 7)
truth = scan(dyes, "harbour", 7)
style = tile(21, "harbour", 224)

plan = rc.plan(rc.measure(content), rc.measure(style))
print(plan)

# %%
# Applying it writes the pixels. ``rc.match(content, style)`` gives the same result in one call.
out = rc.apply(content, plan)

panels = {"content": content, "style": style, "output": out, "truth: content at the other hospital": truth}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.4), layout="constrained")
for axis, (name, image) in zip(axes, panels.items(), strict=True):
    axis.imshow(image)
    axis.set_title(name, fontsize=9)
    axis.set_axis_off()

# %%
# What was lost, and what was kept:
audit = rc.audit(content, plan)
print(f"clipped: {audit.clipped_overall:.2%} of the samples; correlation with the content: {audit.pearson.round(4)}")

# %%
# The histograms keep their shape. They are stretched and moved, nothing else.
figure, axes = plt.subplots(1, 2, figsize=(9, 2.8), layout="constrained", sharey=True)
for axis, (name, image) in zip(axes, {"before": content, "after": out}.items(), strict=True):
    for channel, colour in enumerate(("#c8322b", "#2c7d32", "#2b5bc8")):
        axis.hist(image[..., channel].ravel(), bins=64, range=(0, 255), histtype="step", color=colour)
    axis.set_title(name, fontsize=9)
    axis.set_xlabel("level")
axes[0].set_ylabel("pixels")
plt.show()
