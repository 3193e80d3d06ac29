"""Fine-tunes transformers' BERT on a task with torch and prints its dev scores as one JSON line: the other side of benchmarks.scores.

Runs in an environment of its own: pip install torch 'transformers~=5.24' accelerate scikit-learn scipy. What it is told is one JSON
object, see `benchmarks.scores.theirs`.
"""

import json
import sys
import time

import numpy as np
import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef
from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments

# of labels and predictions
SCORES = {
    "accuracy": accuracy_score,
    "f1": f1_score,
    "matthews": matthews_corrcoef,
    "pearson": lambda labels, predicted: pearsonr(labels, predicted)[0],
    "spearman": lambda labels, predicted: spearmanr(labels, predicted)[0],
}


def read(path, tokenizer, told, label_type):
    """Returns the file's rows as features."""
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        rows = [line.rstrip("\r\n").split("\t") for line in file][told["has_header"] :]
    texts = [[row[place] for row in rows] for place in told["columns"]]
    encoded = tokenizer(*texts, truncation=True, max_length=told["max_seq_length"])
    return [
        {name: encoded[name][number] for name in encoded}
        | {"labels": label_type(row[told["label"]]), "length": len(encoded["input_ids"][number])}
        for number, row in enumerate(rows)
    ]


def main():
    """Trains, evaluates, prints."""
    told = json.loads(sys.argv[1])
    is_number = "pearson" in told["scores"]
    tokenizer = AutoTokenizer.from_pretrained(told["model"])
    train, dev = (read(f"{told['data_dir']}/{name}.tsv", tokenizer, told, float if is_number else int) for name in ("train", "dev"))
    torch.manual_seed(told["seed"])
    model = AutoModelForSequenceClassification.from_pretrained(
        told["model"],
        num_labels=1 if is_number else 2,
        problem_type="regression" if is_number else "single_label_classification",
    )
    # whole batches, as bert_tf counts its steps, so that both rates are the same at every step
    num_steps = int(len(train) / told["train_batch_size"] * told["num_train_epochs"])
    arguments = TrainingArguments(
        output_dir=told["output_dir"],
        per_device_train_batch_size=told["train_batch_size"],
        per_device_eval_batch_size=8,
        learning_rate=told["learning_rate"],
        max_steps=num_steps,
        warmup_steps=int(0.1 * num_steps),
        weight_decay=0.01,
        adam_epsilon=1e-6,  # the original's
        max_grad_norm=1.0,
        lr_scheduler_type="linear",
        train_sampling_strategy=told["sampling"],
        length_column_name="length",
        seed=told["seed"],
        save_strategy="no",
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = Trainer(model, arguments, DataCollatorWithPadding(tokenizer), train, dev, processing_class=tokenizer)
    started = time.monotonic()
    trainer.train()
    trained = time.monotonic() - started
    output = trainer.predict(dev)
    predicted = output.predictions.reshape(-1) if is_number else np.argmax(output.predictions, axis=1)
    scores = {name: float(SCORES[name](output.label_ids, predicted)) for name in told["scores"]}
    more = {"loss": output.metrics["test_loss"], "train_seconds": trained, "global_step": trainer.state.global_step}
    print(json.dumps(scores | more))


if __name__ == "__main__":
    main()
