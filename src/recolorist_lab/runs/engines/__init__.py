"""Where cells run: local processes, or a Ray cluster."""
