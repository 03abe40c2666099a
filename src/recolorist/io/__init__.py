"""Read and write image files, one module for each format; nothing here matches colours."""

__all__: list[str] = []
