r"""Writes masked TFRecords for pre-training, under the command line of google-research/bert.

python create_pretraining_data.py --input_file=./sample_text.txt --output_file=/tmp/tf_examples.tfrecord --vocab_file=vocab.txt \
    --do_lower_case=True --max_seq_length=128 --max_predictions_per_seq=20 --masked_lm_prob=0.15 --random_seed=12345 --dupe_factor=5
"""

from bert_tf.cli import flag_config
from bert_tf.config import CreatePretrainingDataConfig

if __name__ == "__main__":
    flag_config.run_script(CreatePretrainingDataConfig, "create_pretraining_data", __doc__)
