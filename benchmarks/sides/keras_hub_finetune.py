"""keras-hub's BertTextClassifier on a task: `fit`, with its own preprocessing in the input pipeline."""

import json
import sys
import time

import keras
import keras_hub
import tensorflow as tf

from benchmarks.rounds import serve
from bert_tf.data.rows import read_rows
from bert_tf.tasks.spec import TRAIN
from bert_tf.tasks.table import find_task


def main():
    """Serves rounds of `steps` steps."""
    options = json.loads(sys.argv[1])
    keras.config.set_dtype_policy(options["dtype"])
    spec = find_task(options["task"])
    rows = read_rows(spec, TRAIN, options["data_dir"])
    texts = tuple([row.texts[side] for row in rows] for side in range(spec.num_texts))
    labels = [spec.label_feature(row.label) for row in rows]
    tokenizer = keras_hub.models.BertTokenizer(vocabulary=options["vocab_file"], lowercase=True)
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(tokenizer, sequence_length=128)
    shape = options["shape"]
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=tokenizer.vocabulary_size(), num_layers=shape["num_hidden_layers"], num_heads=shape["num_attention_heads"],
        hidden_dim=shape["hidden_size"], intermediate_dim=shape["intermediate_size"], max_sequence_length=512,
    )  # fmt: skip
    model = keras_hub.models.BertTextClassifier(backbone, num_classes=len(spec.labels), preprocessor=preprocessor)
    model.compile(
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        optimizer=keras.optimizers.AdamW(5e-5, weight_decay=0.01, global_clipnorm=1.0),
    )
    data = tf.data.Dataset.from_tensor_slices((texts if spec.num_texts > 1 else texts[0], labels)).shuffle(len(rows), seed=1).repeat()
    batches = data.batch(options["batch"])

    def run(steps=options["steps"]):
        started = time.monotonic()
        history = model.fit(batches.skip(run.done), steps_per_epoch=steps, verbose=0)
        run.done += steps
        return {"examples_per_second": steps * options["batch"] / (time.monotonic() - started), "loss": float(history.history["loss"][-1])}

    run.done = 0
    serve(lambda: run(options["warm_up_steps"]), run)


if __name__ == "__main__":
    main()
