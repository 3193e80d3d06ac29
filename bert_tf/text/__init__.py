"""Strings <-> ids: the vocabulary, the WordPiece tokenizers, the input layout. No files; TensorFlow in the graph and the fast tokenizer only."""
