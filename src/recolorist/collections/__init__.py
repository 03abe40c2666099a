"""Many image files at once: bank, audit, augment, harmonise, drift."""
