"""Real fine-tuning runs, each as a user would type it: the protocol (protocol.py), the data, the driver (story.py) and its table."""
