"""Fine-tunes transformers' BERT on MRPC with torch and prints its dev accuracy and F1 as one JSON line: the other side of mrpc.py.

Runs in an environment of its own: pip install torch 'transformers~=5.24' accelerate scikit-learn.
"""

import argparse
import csv
import json
import time

import numpy as np
import torch
from sklearn.metrics import accuracy_score, f1_score
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments


def read(path, tokenizer, max_seq_length):
    """Returns the file's rows as features."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    encoded = tokenizer([row["#1 String"] for row in rows], [row["#2 String"] for row in rows], truncation=True, max_length=max_seq_length)
    return [
        {name: encoded[name][number] for name in encoded} | {"labels": int(row["Quality"]), "length": len(encoded["input_ids"][number])}
        for number, row in enumerate(rows)
    ]


def main():
    """Trains, evaluates, prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="a directory with model.safetensors, config.json and vocab.txt")
    parser.add_argument("--data_dir", required=True, help="a directory with MRPC's train.tsv and dev.tsv")
    parser.add_argument("--output_dir", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument(
        "--sampling",
        default="random",
        choices=("random", "group_by_length"),
        help="group_by_length is faster, but sorts within 50 batches, so that each third of an epoch goes from long texts to short ones",
    )
    parser.add_argument("--epochs", type=float, default=3.0)
    options = parser.parse_args()
    started = time.monotonic()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    train, dev = (read(f"{options.data_dir}/{name}.tsv", tokenizer, 128) for name in ("train", "dev"))
    torch.manual_seed(options.seed)
    model = AutoModelForSequenceClassification.from_pretrained(options.model, num_labels=2)
    arguments = TrainingArguments(
        output_dir=options.output_dir,
        per_device_train_batch_size=32,
        per_device_eval_batch_size=8,
        learning_rate=5e-5,
        num_train_epochs=options.epochs,
        warmup_steps=0.1,  # below 1: a share of the steps
        weight_decay=0.01,
        max_grad_norm=1.0,
        lr_scheduler_type="linear",
        train_sampling_strategy=options.sampling,
        length_column_name="length",
        seed=options.seed,
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(model, arguments, DataCollatorWithPadding(tokenizer), train, dev, processing_class=tokenizer)
    training = time.monotonic()
    trainer.train()
    trained = time.monotonic()
    output = trainer.predict(dev)
    predicted = np.argmax(output.predictions, axis=1)
    figures = {"accuracy": accuracy_score(output.label_ids, predicted), "f1": f1_score(output.label_ids, predicted)}
    seconds = {"train_seconds": trained - training, "seconds": time.monotonic() - started}
    print(json.dumps({"seed": options.seed} | figures | seconds))


if __name__ == "__main__":
    main()
