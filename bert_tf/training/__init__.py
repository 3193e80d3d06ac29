"""Optimizer, checkpoints and the loop that runs many steps in one call."""
