"""Strings <-> ids: the vocabulary, the WordPiece tokenizers, the input layout. No files; TensorFlow in the graph tokenizer only."""
