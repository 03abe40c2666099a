"""Measure, plan, apply: everything that knows pixels and numbers, and nothing of files, banks or frameworks."""
