"""The shift study: tables and figure. Its cells are of the kind ``classify``."""
