"""The study: datasets, sweeps and everything else that is needed to run the paper's comparisons again.

It stands on :mod:`recolorist` and is installed with the extra ``lab``. Nothing is imported here, so that
``recolorist-lab --help`` answers at once.
"""
