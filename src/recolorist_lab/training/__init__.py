"""Train classifiers: one run from a dataset's name to its scores, exactly resumable.

:mod:`.settings` says what a run is, :mod:`.run` does it, :mod:`.loop` is the training itself, :mod:`.algorithms` are the losses.
"""
