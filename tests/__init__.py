"""The tests; a package of its own, since some wheels bring a package called `tests` too."""
