"""One implementation each, as a process that trains a few steps whenever it is told to."""
