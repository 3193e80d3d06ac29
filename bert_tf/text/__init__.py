"""Strings <-> ids: the vocabulary, the WordPiece tokenizers, the input layout. No files; TensorFlow in two of the tokenizers only."""
