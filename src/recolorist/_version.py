"""The version, in the one place where it is written; setuptools reads it from here without importing the package."""

__all__ = ["__version__"]

__version__ = "0.1.0"
