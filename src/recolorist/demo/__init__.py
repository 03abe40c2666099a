"""The demonstration and its synthetic images."""
