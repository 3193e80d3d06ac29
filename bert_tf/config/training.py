"""What trains: the knobs that every training script shares, and those of pre-training."""

import os
from dataclasses import dataclass

from bert_tf.config.fields import (
    LARGEST_BATCH,
    LARGEST_SIZE,
    MOST_EPOCHS,
    MOST_STEPS,
    OBJECTIVES,
    check_length,
    check_mask_prob,
    check_use_nsp,
    flag,
    mask_shares,
    require,
    settle,
)
from bert_tf.config.model import MODEL_SIZES


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """What every training script shares."""

    bert_config_file: str | None = flag(
        None, help="The model's bert_config.json. Default: the one beside --init_checkpoint.", identity=False
    )
    output_dir: str = flag(None, required=True, help="Where checkpoints, results and exports go.", identity=False)
    init_checkpoint: str | None = flag(
        None, help="Start from these weights: a TF1 checkpoint prefix, a run directory, or a Hugging Face directory."
    )
    allow_partial: bool = flag(False, help="Start even though the checkpoint lacks some of the encoder's variables.")
    vocab_file: str | None = flag(None, help="The vocabulary. Default: the one beside --init_checkpoint.", identity=False)
    do_lower_case: bool | None = flag(
        None, help="Lower-case and strip accents. Default: what the model's folder says, else by the vocabulary.", identity=False
    )
    max_seq_length: int = flag(128, help="Length of an example in pieces, [CLS] and [SEP] included.")
    do_train: bool = flag(False, help="Train.", identity=False)
    do_eval: bool = flag(False, help="Evaluate and write eval_results.txt.", identity=False)
    do_export: bool = flag(False, help="Write a SavedModel to output_dir/export/<version>.", identity=False)
    train_batch_size: int = flag(32, help="Examples a training step, over all devices.")
    eval_batch_size: int = flag(8, help="Examples an evaluation step.", identity=False)
    learning_rate: float = flag(5e-5, help="Peak learning rate.")
    lr_schedule: str = flag(
        "original",
        choices=("original", "continuous", "cosine"),
        help="How the rate falls after the warm-up: as the original's, peak x (1 - step / num_train_steps), which begins with a drop; "
        "continuously from the peak; or from the peak along half a cosine.",
    )
    optimizer: str = flag("adamw", choices=("adamw", "lamb"), help="adamw: the original's; lamb: for batches of thousands.")
    bias_correction: bool = flag(False, help="Adam's bias correction, which the original leaves out.")
    layer_decay: float = flag(1.0, help="Learning rate of each layer over that of the layer above it.")
    freeze_embeddings: bool = flag(False, help="Do not train the embeddings.")
    num_frozen_layers: int = flag(0, help="Do not train the embeddings and this many of the lowest layers.")
    random_seed: int = flag(12345, help="Seed of initial weights, example order and dropout.")
    distribution: str = flag(
        "auto",
        choices=("auto", "one_device", "mirrored", "multi_worker", "tpu"),
        help="auto: the TPU with --use_tpu, the workers of TF_CONFIG, all GPUs, or one device. Batch sizes are totals over all devices.",
        identity=False,
    )
    gradient_accumulation_steps: int = flag(
        1, help="Parts that a batch is cut into and goes through one after another: less memory, the same step.", identity=False
    )
    auto_batch: bool = flag(
        False, help="Set --gradient_accumulation_steps to the fewest parts that fit into the memory that is free.", identity=False
    )
    clip_per_replica: bool = flag(
        False, help="Clip each device's gradient before they are averaged, as the original does on a TPU; default: the whole batch's."
    )
    recompute: bool = flag(
        False,
        help="Compute each layer again in the backward pass in place of keeping its activations: less memory, about a third slower.",
        identity=False,
    )
    precision: str = flag(
        "auto",
        choices=("auto", "float32", "bfloat16", "float16"),
        help="Of matrix products; weights, LayerNorm, softmax and loss stay float32. auto: bfloat16 where the hardware computes in it.",
    )
    deterministic: bool = flag(False, help="Bit-equal results from run to run, at some cost in speed.")
    jit_compile: bool = flag(False, help="Compile the training step with XLA: faster for small models and on GPUs, slower to start.")
    compile_cache_dir: str = flag(
        "",
        help="Folder in which what XLA has compiled is kept for the next start, of any run on such a machine. Default: nothing is kept.",
        identity=False,
    )
    save_checkpoints_steps: int = flag(1000, help="Steps between checkpoints.", identity=False)
    keep_checkpoint_max: int = flag(5, help="Newest checkpoints kept.", identity=False)
    eval_steps: int = flag(
        0,
        help="Steps between evaluations during training; the best checkpoint is kept, and evaluated, predicted with and exported in the "
        "end. 0: none.",
        identity=False,
    )
    early_stopping_patience: int = flag(
        0, help="With --eval_steps: evaluations in a row without a better one after which the training stops; 0: never.", identity=False
    )
    iterations_per_loop: int = flag(1000, help="Most steps inside one call of the compiled loop.", identity=False)
    max_bad_steps: int = flag(
        10, help="Steps whose loss or gradient is not finite, which are skipped, before the training stops.", identity=False
    )
    overwrite_output_dir: bool = flag(False, help="Throw away what an earlier run left in output_dir.", identity=False)
    use_tpu: bool = flag(False, help="Train on a Cloud TPU: --distribution=tpu.", identity=False)
    tpu_name: str | None = flag(None, help="The TPU's name or grpc:// address. Default: the TPU of this machine.", identity=False)
    tpu_zone: str | None = flag(None, help="The TPU's zone.", identity=False)
    gcp_project: str | None = flag(None, help="The TPU's project.", identity=False)
    master: str | None = flag(None, help="Accepted from TF1 command lines and ignored.", identity=False)
    num_tpu_cores: int = flag(8, help="Accepted from TF1 command lines; the TPU itself says how many it has.", identity=False)

    def __post_init__(self) -> None:
        settle(self)
        require(
            not set(self.output_dir) & set("*?[]"),
            f"output_dir is {self.output_dir!r}; give a name without * ? [ ], which TensorFlow's readers take for patterns",
        )
        require(
            not self.use_tpu or self.distribution in ("auto", "tpu"),
            f"use_tpu is true, but distribution is {self.distribution}; choose one",
        )
        require(
            not self.auto_batch or self.gradient_accumulation_steps == 1,
            f"auto_batch is true and gradient_accumulation_steps is {self.gradient_accumulation_steps}; choose one",
        )
        require(
            not (self.auto_batch and self.deterministic),
            "auto_batch goes by the memory that is free, so a run might not be repeated to the bit; with deterministic give "
            "gradient_accumulation_steps",
        )
        require(self.num_frozen_layers >= 0, f"num_frozen_layers is {self.num_frozen_layers}; give 0 or more")
        require(0 < self.layer_decay <= 1, f"layer_decay is {self.layer_decay}; give a number above 0, at most 1 (0.65 to 0.95 are common)")
        check_length(self.max_seq_length)
        for name in ("init_checkpoint", "continue_from"):  # "runs/a/" is "runs/a"
            path = getattr(self, name, None)
            if path is not None and "://" not in path:
                object.__setattr__(self, name, os.path.normpath(path))
        for name, most in (("train_batch_size", LARGEST_BATCH), ("eval_batch_size", LARGEST_BATCH),
                           ("save_checkpoints_steps", MOST_STEPS), ("keep_checkpoint_max", MOST_STEPS),
                           ("iterations_per_loop", MOST_STEPS)):  # fmt: skip
            require(1 <= getattr(self, name) <= most, f"{name} is {getattr(self, name)}; give 1 to {most:,}")
        for name in ("eval_steps", "early_stopping_patience"):
            require(0 <= getattr(self, name) <= MOST_STEPS, f"{name} is {getattr(self, name)}; give 0 to {MOST_STEPS:,}")
        patient = self.early_stopping_patience and not self.eval_steps
        require(not patient, f"early_stopping_patience is {self.early_stopping_patience}, but there are no evaluations; give --eval_steps")
        require(self.max_bad_steps >= 0, f"max_bad_steps is {self.max_bad_steps}; give 0 or more")
        good = 0 < self.learning_rate <= 1
        require(good, f"learning_rate is {self.learning_rate}; give a number above 0, at most 1 (2e-5 to 1e-3 are common)")
        # what NumPy's and TensorFlow's generators take
        require(0 <= self.random_seed < 2**32, f"random_seed is {self.random_seed}; give a whole number from 0 to {2**32 - 1}")

    @property
    def num_predictions(self) -> int:
        """Places of an example that go through the vocabulary."""
        return 0


@dataclass(frozen=True, kw_only=True)
class PretrainConfig(TrainingConfig):
    """TFRecords of create_pretraining_data in, a pre-trained checkpoint out."""

    input_file: str = flag(None, required=True, help="TFRecords to train on: paths or globs, separated by commas.", identity=False)
    eval_input_file: str | None = flag(None, help="TFRecords to evaluate on. Without it --do_eval takes --input_file.", identity=False)
    model_size: str | None = flag(
        None, choices=tuple(MODEL_SIZES), help="A named size, in place of --bert_config_file; needs a vocabulary."
    )
    max_predictions_per_seq: int = flag(20, help="Masked positions an example; must match the data.")
    masked_lm_prob: float | None = flag(
        None, help="Of records with dynamic masking: share of an example's pieces that is masked. Default: as made.", identity=False
    )
    mask_mix: str | None = flag(
        None,
        help="Of records with dynamic masking: the shares of masked positions that become [MASK], stay, become a random piece. Default: "
        "as made.",
        identity=False,
    )
    do_whole_word_mask: bool | None = flag(
        None, help="Of records with dynamic masking: mask all pieces of a chosen word together. Default: as made.", identity=False
    )
    max_ngram: int | None = flag(
        None, help="Of records with dynamic masking: most words of a span that is masked together. Default: as made.", identity=False
    )
    objective: str = flag(
        "masked_lm",
        choices=OBJECTIVES,
        help="masked_lm: BERT's; next_token: a left-to-right language model; must match the data.",
    )
    use_nsp: bool = flag(True, help="Train next sentence prediction beside the masked language model.")
    num_train_steps: int = flag(100000, help="Steps of the learning-rate schedule, and of the run.")
    num_warmup_steps: int = flag(10000, help="Steps over which the learning rate rises from 0.")
    stop_at_step: int | None = flag(None, help="Stop here, before num_train_steps: the first phase of two.", identity=False)
    continue_from: str | None = flag(
        None, help="Go on with model, optimizer and step of this run directory or checkpoint: the second phase."
    )
    pack_sequences: bool = flag(False, help="Put several short examples into one row; the loss is that of the same examples unpacked.")
    max_eval_steps: int = flag(100, help="Most evaluation steps; with the default batch of 8, 800 examples.", identity=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_warmup(self.num_warmup_steps, self.num_train_steps, self.do_train)
        for name, most in (("max_predictions_per_seq", LARGEST_SIZE), ("max_eval_steps", MOST_STEPS)):
            require(1 <= getattr(self, name) <= most, f"{name} is {getattr(self, name)}; give 1 to {most:,}")
        both = self.model_size is not None and self.bert_config_file is not None
        require(not both, "model_size and bert_config_file are both given; choose one")
        check_use_nsp(self.objective, self.use_nsp)
        if self.masked_lm_prob is not None:
            check_mask_prob(self.masked_lm_prob)
        if self.mask_mix is not None:
            mask_shares(self.mask_mix)
        both = self.init_checkpoint is not None and self.continue_from is not None
        require(
            not both,
            "init_checkpoint and continue_from are both given; the first starts a new schedule, the second goes on with one: choose",
        )
        if self.stop_at_step is not None:
            inside = 1 <= self.stop_at_step <= self.num_train_steps
            require(inside, f"stop_at_step is {self.stop_at_step}; give 1 up to num_train_steps {self.num_train_steps}")

    @property
    def num_predictions(self) -> int:
        """Places of an example that go through the vocabulary."""
        return self.max_predictions_per_seq if self.objective == "masked_lm" else self.max_seq_length - 1


@dataclass(frozen=True, kw_only=True)
class EpochsConfig(TrainingConfig):
    """What all fine-tuning shares: training by epochs, batches by length, predictions."""

    do_predict: bool = flag(False, help="Predict.", identity=False)
    predict_batch_size: int = flag(8, help="Examples a prediction step.", identity=False)
    num_train_epochs: float = flag(3.0, help="Times the training examples are gone through.")
    warmup_proportion: float = flag(0.1, help="Share of the steps over which the learning rate rises from 0.")
    bucket_lengths: str = flag(
        "auto",
        help="Lengths that batches are padded to, as 32,64,128: texts of about one length go together. auto: at most 8, chosen from the "
        "data; off: max_seq_length alone.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        good = 1 <= self.predict_batch_size <= LARGEST_BATCH
        require(good, f"predict_batch_size is {self.predict_batch_size}; give 1 to {LARGEST_BATCH:,}")
        good = 0 < self.num_train_epochs <= MOST_EPOCHS
        require(good, f"num_train_epochs is {self.num_train_epochs}; give a number above 0, at most {MOST_EPOCHS:,}")
        require(
            0 <= self.warmup_proportion < 1, f"warmup_proportion is {self.warmup_proportion}; give a share from 0 up to, not including, 1"
        )
        self.fixed_buckets()

    def fixed_buckets(self) -> tuple[int, ...] | None:
        """Returns the bucket lengths that the flag names, max_seq_length last, or None where the data is to decide."""
        if self.bucket_lengths == "auto":
            return None
        if self.bucket_lengths == "off":
            return (self.max_seq_length,)
        try:
            lengths = sorted({int(part) for part in self.bucket_lengths.split(",")} | {self.max_seq_length})
        except ValueError:
            lengths = [0]
        good = lengths[0] >= 1 and lengths[-1] == self.max_seq_length
        require(
            good,
            f"bucket_lengths is {self.bucket_lengths!r}; give auto, off, or whole numbers up to max_seq_length {self.max_seq_length}, "
            "as 32,64,128",
        )
        return tuple(lengths)


def _check_warmup(num_warmup_steps: int, num_train_steps: int, do_train: bool) -> None:
    require(1 <= num_train_steps <= MOST_STEPS, f"num_train_steps is {num_train_steps}; give 1 to {MOST_STEPS:,}")
    require(num_warmup_steps >= 0, f"num_warmup_steps is {num_warmup_steps}; give 0 or more")
    require(
        not do_train or num_warmup_steps < num_train_steps,
        f"num_warmup_steps {num_warmup_steps} is not below num_train_steps {num_train_steps}: the full learning rate would never be "
        "reached; lower the first or raise the second",
    )
