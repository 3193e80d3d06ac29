import json

import pytest

from bert_tf.config import TokenizeConfig
from bert_tf.errors import InputError
from bert_tf.workflows import tokenize
from tests.text.golden import SPECIALS

TEXTS = ["Unable, no?", "", "Gro\u0308ße \u4e00\u2028x", "\U0001f600 un"]
PIECES = [*SPECIALS, "un", "##able", ",", "große", "\u4e00", "no"]
EXPECTED = [
    {
        "text": "Unable, no?",
        "tokens": ["un", "##able", ",", "no", "[UNK]"],
        "ids": [5, 6, 7, 10, 1],
        "offsets": [[0, 2], [2, 6], [6, 7], [8, 10], [10, 11]],
    },
    {"text": "", "tokens": [], "ids": [], "offsets": []},
    {"text": TEXTS[2], "tokens": ["große", "\u4e00", "[UNK]"], "ids": [8, 9, 1], "offsets": [[0, 6], [7, 8], [9, 10]]},
    {"text": "\U0001f600 un", "tokens": ["[UNK]", "un"], "ids": [1, 5], "offsets": [[0, 1], [2, 4]]},
]


@pytest.fixture
def config(tmp_path):
    def make(content: str | bytes, **changes) -> TokenizeConfig:
        (tmp_path / "in.jsonl").write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
        paths = dict(input_file="in.jsonl", output_file="out.jsonl", vocab_file="vocab.txt")
        return TokenizeConfig(**({name: str(tmp_path / path) for name, path in paths.items()} | changes))

    return make


def lines(texts, ensure_ascii=False) -> str:
    return "".join(json.dumps({"text": text, "other": 1}, ensure_ascii=ensure_ascii) + "\n" for text in texts)


def read(path) -> list[dict]:
    with open(path, encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file.read().rstrip("\n").split("\n")]


@pytest.mark.parametrize("implementation", ["python", "graph"])
@pytest.mark.parametrize("ensure_ascii", [False, True])
def test_writes_tokens_ids_and_offsets(config, implementation, ensure_ascii, capsys):
    settings = config(lines(TEXTS, ensure_ascii), implementation=implementation)
    assert tokenize.run(settings) == {"texts": 4, "pieces": 10, "unk_rate": 0.3}
    assert read(settings.output_file) == EXPECTED
    assert "4 texts, 10 pieces, 30.00% of them [UNK]" in capsys.readouterr().out


def test_batches_keep_the_order(config):
    texts = [f"un {'no ' * (number % 5)}" for number in range(2 * tokenize.BATCH + 3)]
    found = {}
    for implementation in ("python", "graph"):
        settings = config(lines(texts), implementation=implementation)
        tokenize.run(settings)
        found[implementation] = read(settings.output_file)
    assert [row["text"] for row in found["graph"]] == texts
    assert found["graph"] == found["python"]


def test_casing_comes_from_the_folder_unless_given(config, tmp_path):
    settings = config(lines(["Un"]))
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    tokenize.run(settings)
    assert read(settings.output_file)[0]["tokens"] == ["[UNK]"]
    with pytest.raises(InputError, match=r"tokenizer_config.json records false for this model; give --do_lower_case=false"):
        tokenize.run(config(lines(["Un"]), do_lower_case=True))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", 'in.jsonl: holds no line; give one {"text": ...} a line'),
        (
            '{"text": "a"}\n\nnot json\n',
            'in.jsonl, line 3: not valid JSON (Expecting value: line 1 column 1 (char 0)); give {"text": "..."}',
        ),
        ('{"text": "a"}\n["b"]\n', 'in.jsonl, line 2: holds ["b"], no JSON object; give {"text": "..."}'),
        ('{"texts": "a"}\n', 'in.jsonl, line 1: has no "text", only ["texts"]; give {"text": "..."}'),
        ('{"text": null}\n', 'in.jsonl, line 1: text is null, no string; give {"text": "..."}'),
        ('{"text": "a\\ud800"}\n', "in.jsonl, line 1: text holds half a surrogate pair at character 1; write the whole character"),
        (b'{"text": "a"}\n{"text": "\xff"}\n', "in.jsonl, line 2: not UTF-8 (byte 0xff at column 11); convert the file to UTF-8"),
    ],
)
@pytest.mark.parametrize("implementation", ["python", "graph", "fast"])
def test_a_bad_line_is_named_and_nothing_is_left(config, tmp_path, content, message, implementation):
    with pytest.raises(InputError) as error:
        tokenize.run(config(content, implementation=implementation))
    assert str(error.value) == f"{tmp_path}/{message}"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "vocab.txt"]


@pytest.mark.parametrize("field", ["input_file", "vocab_file"])
def test_a_missing_file_is_named(config, tmp_path, field):
    with pytest.raises(InputError, match=r"nowhere\.txt"):
        tokenize.run(config(lines(["a"]), **{field: str(tmp_path / "nowhere.txt")}))


def test_the_output_must_be_one_other_file(config, tmp_path):
    with pytest.raises(InputError, match="is an input file as well"):
        tokenize.run(config(lines(["a"]), output_file=str(tmp_path / "in.jsonl")))
    with pytest.raises(InputError, match="names 2 files; give one"):
        tokenize.run(config(lines(["a"]), output_file=f"{tmp_path}/a,{tmp_path}/b"))


def test_fast_writes_the_same_ids_without_offsets(config):
    settings = config(lines(TEXTS * 40), implementation="fast")
    assert tokenize.run(settings) == {"texts": 160, "pieces": 400, "unk_rate": 0.3}
    expected = [{name: row[name] for name in ("text", "tokens", "ids")} for row in EXPECTED]
    assert read(settings.output_file) == expected * 40
