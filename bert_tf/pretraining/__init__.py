"""Documents -> sentence pairs -> masked examples, in plain Python and NumPy."""
