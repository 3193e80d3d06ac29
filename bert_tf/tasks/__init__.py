"""Rows of a task -> features, metrics and prediction lines, in plain Python and NumPy."""
