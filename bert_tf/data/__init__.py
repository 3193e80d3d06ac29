"""Files: text, task rows, TFRecords and their manifests, and the batches made of them."""
