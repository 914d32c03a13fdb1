"""Tiny random models on disk with a tokenizer of words, the files of a question, and the command on them."""

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from icl_lib.seeds import stream
from papers.__main__ import main
from papers.dherin.transformers_models import ModelSizes, made

WORDS = [f"w{k}" for k in range(31)]
SIZES = ModelSizes(width=16, hidden=24, depth=2, heads=2, vocabulary=31)
CONTEXT = " ".join(WORDS[1:21])
TEXTS = {
    "context": CONTEXT,
    "query": "w22 w23 w24 w25\n",
    "calibrate": "w21 w1\nw22 w2 w3\n\nw23 w3\nw24 w4\nw23 w3\nw25 w5\n",
    "placebo": " ".join(reversed(CONTEXT.split())) + " w29 w30",
}


def saved(folder, name: str, sizes: ModelSizes = SIZES, **how):
    """Save a model and its tokenizer; the folder."""
    made(name, sizes, stream(0, name)).save_pretrained(folder, **how)
    tokenizer_of_words().save_pretrained(folder)
    return folder


def tokenizer_of_words() -> PreTrainedTokenizerFast:
    """A tokenizer that knows the words, one token each."""
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="w0")


def written(folder) -> dict[str, str]:
    """Write the files of a question; the words of the command without the model."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    return {f"--{name}": str(folder / name) for name in TEXTS}


def call(folder, asked, *more, only=("--context", "--query")) -> int:
    """The exit status of the command."""
    return main(["patch", "--model", str(folder), *(word for name in only for word in (name, asked[name])), *more])
