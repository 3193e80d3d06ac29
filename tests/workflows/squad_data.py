"""Invented questions on invented texts, in SQuAD's form, and runs on them with a tiny model."""

import json

from bert_tf.config import SquadConfig

LINES = "The moon rose over  the hill number {}.\tThe soup was hot in the kitchen, and Anna\u00a0Noir ate it. "


def squad_content(version_2=False, num_paragraphs=12):
    """Returns a file's content: contexts of one to three windows, two questions each, and for v2.0 one that has no answer."""
    paragraphs = []
    for number in range(num_paragraphs):
        context = LINES.format(number) * (1 + number % 3)
        qas = [
            {"id": f"{number}{letter}", "question": asked, "answers": [{"text": answer, "answer_start": context.index(answer)}]}
            for letter, asked, answer in (("a", "What was hot?", "soup"), ("b", "Who ate?", "Anna\u00a0Noir"))
        ]
        if version_2:
            impossible = {"id": f"{number}c", "question": "Who slept?", "answers": [], "is_impossible": True}
            qas = [qa | {"is_impossible": False} for qa in qas] + [impossible]
        paragraphs.append({"context": context, "qas": qas})
    return {"version": "v2.0" if version_2 else "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}


def questions_of(content):
    """Returns (id, question, context) of every question."""
    paragraphs = [paragraph for article in content["data"] for paragraph in article["paragraphs"]]
    return [(qa["id"], qa["question"], paragraph["context"]) for paragraph in paragraphs for qa in paragraph["qas"]]


def write_json(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def _without_dropout(made):
    """Returns the model's config without dropout: what little there is to learn is then learned in 15 epochs."""
    config = json.loads((made / "bert_config.json").read_text())
    file = made / "bert_config_without_dropout.json"
    file.write_text(json.dumps(config | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}))
    return file


def squad_config(made, output_dir, file, **changes):
    values = dict(
        train_file=str(file),
        predict_file=str(file),
        vocab_file=str(made / "vocab.txt"),
        bert_config_file=str(_without_dropout(made)),
        output_dir=str(output_dir),
        max_seq_length=40,
        doc_stride=12,
        max_query_length=10,
        do_train=True,
        train_batch_size=8,
        num_train_epochs=1.0,
        learning_rate=5e-3,
        random_seed=2,
        precision="float32",
    )
    return SquadConfig(**values | changes)
