"""transformers' BertForPreTraining with torch on the same examples: every position goes through the vocabulary.

Runs in an environment of its own: pip install torch 'transformers~=5.24' numpy.
"""

import contextlib
import json
import resource
import sys
import time

import numpy as np
import torch
from transformers import BertConfig, BertForPreTraining

from benchmarks.rounds import serve


def main():
    """Serves rounds of `steps` steps."""
    options = json.loads(sys.argv[1])
    arrays = dict(np.load(options["arrays"]))
    labels = np.full_like(arrays["input_ids"], -100)
    rows = np.arange(len(labels))[:, None]
    kept = arrays["masked_lm_weights"] > 0
    labels[np.broadcast_to(rows, kept.shape)[kept], arrays["masked_lm_positions"][kept]] = arrays["masked_lm_ids"][kept]
    data = {
        "input_ids": arrays["input_ids"],
        "attention_mask": arrays["input_mask"],
        "token_type_ids": arrays["segment_ids"],
        "labels": labels,
        "next_sentence_label": arrays["next_sentence_labels"][:, 0],
    }
    data = {name: torch.from_numpy(value.astype(np.int64)) for name, value in data.items()}
    torch.manual_seed(1)
    shape = {name: value for name, value in options["shape"].items() if name != "hidden_act"}
    model = BertForPreTraining(BertConfig(**shape)).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    half = options["dtype"] == "mixed_bfloat16"
    size, count = options["batch"], len(labels)
    place = [0]

    def run(steps=options["steps"]):
        started, loss, useful = time.monotonic(), None, 0
        for _ in range(steps):
            chosen = torch.arange(place[0], place[0] + size) % count
            place[0] += size
            batch = {name: value[chosen] for name, value in data.items()}
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16) if half else contextlib.nullcontext():
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            useful += int(batch["attention_mask"].sum())
        seconds = time.monotonic() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        return {"useful_tokens_per_second": useful / seconds, "loss": float(loss), "peak_memory_gb": peak}

    serve(lambda: run(options["warm_up_steps"]), run)


if __name__ == "__main__":
    main()
