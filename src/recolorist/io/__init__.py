"""Image files in and out, one module per format; nothing here matches colours."""
