"""Harmonising as a transform of torchvision v2, Albumentations and MONAI; also found in the adapters themselves."""
