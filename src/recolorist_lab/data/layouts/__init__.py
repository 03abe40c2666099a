"""How the datasets lie on disk: one function for each layout, which lists its images."""
