"""transformers' BertForSequenceClassification with torch on a task: AdamW, clipping, batches padded to 128 or to their longest text.

Runs in an environment of its own: pip install torch 'transformers~=5.24'.
"""

import contextlib
import json
import random
import sys
import time

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

from benchmarks.rounds import serve


def read(options):
    """Returns texts and labels of the task's train.tsv."""
    with open(f"{options['data_dir']}/train.tsv", encoding="utf-8-sig") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    columns = {"mrpc": (["#1 String", "#2 String"], "Quality"), "sst-2": (["sentence"], "label")}[options["task"]]
    places = [lines[0].index(name) for name in columns[0]]
    label = lines[0].index(columns[1])
    return [[line[place] for place in places] for line in lines[1:]], [int(line[label]) for line in lines[1:]]


def main():
    """Serves rounds of `steps` steps."""
    options = json.loads(sys.argv[1])
    texts, labels = read(options)
    tokenizer = BertTokenizerFast(options["vocab_file"], do_lower_case=True)
    encoded = tokenizer(*zip(*texts), truncation=True, max_length=128) if len(texts[0]) > 1 else tokenizer([t[0] for t in texts])
    features = [{name: encoded[name][row] for name in encoded} | {"labels": labels[row]} for row in range(len(labels))]
    torch.manual_seed(1)
    shape = {name: value for name, value in options["shape"].items() if name != "hidden_act"}
    model = BertForSequenceClassification(BertConfig(vocab_size=len(tokenizer), num_labels=2, **shape)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5, weight_decay=0.01)
    half = options["dtype"] == "mixed_bfloat16"
    order = random.Random(1)
    batch_size = options["batch"]

    def batches():
        while True:
            rows = list(range(len(features)))
            order.shuffle(rows)
            if options["padding"] == "by_length":  # as its Trainer groups: within pools of 50 batches
                pools = [rows[first : first + 50 * batch_size] for first in range(0, len(rows), 50 * batch_size)]
                rows = [row for pool in pools for row in sorted(pool, key=lambda row: -len(features[row]["input_ids"]))]
            firsts = list(range(0, len(rows) - batch_size + 1, batch_size))
            order.shuffle(firsts)  # so that every round has batches of all lengths
            for first in firsts:
                held = [features[row] for row in rows[first : first + batch_size]]
                pad = {"padding": "max_length", "max_length": 128} if options["padding"] == "full" else {"padding": True}
                yield tokenizer.pad(held, return_tensors="pt", **pad)

    source = batches()

    def run(steps=options["steps"]):
        started, loss = time.monotonic(), None
        for _ in range(steps):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16) if half else contextlib.nullcontext():
                loss = model(**next(source)).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return {"examples_per_second": steps * batch_size / (time.monotonic() - started), "loss": float(loss)}

    serve(lambda: run(options["warm_up_steps"]), run)


if __name__ == "__main__":
    main()
