"""SavedModels: signatures with the tokenizer inside, the export, and a client."""
