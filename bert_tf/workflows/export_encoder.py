"""The encoder as a SavedModel: sequence_output and pooled_output for raw text or ids."""

import os
from collections.abc import Mapping

from absl import logging

from bert_tf.config import BertConfig, TrainingConfig
from bert_tf.modeling.encoder import BertEncoder
from bert_tf.serving.export import export
from bert_tf.serving.signatures import EncoderModule
from bert_tf.text.vocab import Vocabulary


def export_encoder(
    encoder: BertEncoder, model_config: BertConfig, vocab: Vocabulary | None, files: Mapping[str, str], config: TrainingConfig
) -> str:
    """Writes output_dir/export/<version>, with these files as assets, and returns its path; without a vocabulary it takes ids only."""
    probes = [{"signature": "ids", "input_ids": [[0, 1]], "input_mask": [[1, 1]], "segment_ids": [[0, 0]]}]
    if vocab is None:
        logging.warning("the export takes ids only: no vocabulary is known; give --vocab_file for raw text")
    else:
        probes.append({"signature": "serving_default", "text": ["The sky is blue.", ""]})
    module = EncoderModule(encoder, vocab, bool(model_config.do_lower_case), config.max_seq_length, is_pair=False)
    path = export(module, os.path.join(config.output_dir, "export"), files, probes)
    logging.info("exported to %s", path)
    return path
