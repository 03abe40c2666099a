"""Answer whether an augmentation helps on your own images: train with and without it, test on a hospital that was not seen."""
