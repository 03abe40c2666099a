"""Colorist, the random transform, with its samplers and random streams."""
