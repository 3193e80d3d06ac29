"""bert_tf beside other implementations: the same work in one go, in turn, on one machine."""
