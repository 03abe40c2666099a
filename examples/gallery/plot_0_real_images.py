"""
Real images
===========

Tumour tissue, blood cells and fundus photographs in the styles of other images of their set.
Images: NCT-CRC-HE (Kather 2018), Acevedo 2020, IDRiD (Porwal 2018), CC BY 4.0, recoloured.
"""

# %%
# Four images of each set are in ``examples/images``. A bank measures them once.
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

import recolorist as rc

folder = Path("../images")  # from the folder of this script
images = {
    name: [np.asarray(Image.open(path)) for path in sorted(folder.glob(f"{name}_*.jpg"))]
    for name in ("tissue", "blood", "fundus")
}
masks = {"tissue": None, "blood": None, "fundus": "fundus"}  # a black surround takes no part
banks = {name: rc.StyleBank.build(each, masks=masks[name], split="train") for name, each in images.items()}
print(banks["tissue"])

# %%
# In training every image is drawn anew in every epoch. The first column is the image as it is.
figure, axes = plt.subplots(3, 5, figsize=(10, 6.2), layout="constrained")
for row, (name, bank) in zip(axes, banks.items(), strict=True):
    apply_to = "mask" if masks[name] else "all"
    colorist = rc.Colorist(bank, p=1.0, seed=3, mask=masks[name], apply_to=apply_to)
    row[0].imshow(images[name][0])
    row[0].set_title(name, fontsize=9)
    for epoch, axis in enumerate(row[1:]):
        axis.imshow(colorist(images[name][0], key="0", epoch=epoch))
        axis.set_title(f"epoch {epoch}", fontsize=9)
    for axis in row:
        axis.set_axis_off()
plt.show()

# %%
# What a match costs, worst of all pairs of a set: the share of values that clip, and the correlation that is left.
for name, each in images.items():
    audits = [rc.audit(a, rc.plan(rc.measure(a), rc.measure(b))) for a in each for b in each if a is not b]
    clipped = max(audit.clipped_overall for audit in audits)
    kept = min(float(audit.pearson.min()) for audit in audits)
    print(f"{name:7} clipped at most {clipped:6.2%}, correlation at least {kept:.3f}")
