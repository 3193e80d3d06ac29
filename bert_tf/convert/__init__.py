"""The names of variables, and readers of TF1 and Hugging Face checkpoints."""
