"""Layouts of datasets on disk: one function for each, which lists its images."""
