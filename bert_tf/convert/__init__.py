"""Checkpoints in the forms of google-research/bert and Hugging Face -> our variables, by one table of names."""
