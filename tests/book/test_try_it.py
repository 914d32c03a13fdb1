"""Each notebook ends with three questions: a guess, a line that gives the answer, and the answer folded away."""

import re
from pathlib import Path

import pytest

from book.builder import arguments
from book.builder.cache import read_notebook
from book.builder.folded import GUESS
from book.builder.layout import Layout

LAYOUT = Layout(Path(__file__).resolve().parents[2])
LONGEST = 100
HEADING = "## Try it"
ANSWER = re.compile(r":::\{dropdown\} Answer\n(.+?)\n:::", re.DOTALL)
QUESTION = re.compile(r"\*\*\d\. [^*]+\*\*(.+)", re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
SMALL = 10
"""Whole numbers up to it need no source in an answer: they are in formulas, and words name them."""
NAMED = re.compile(r"\{[\w:]+\}`[^`]*`|(?:Theorem|Lemma|Assumption|Condition|Example) [\d.]*\d")
"""References, and what is called by a number, as Theorem 4.5 is."""
FRACTION = re.compile(r"\\frac(\d)(\d)")


def unread(answer: str, question: str, printed: str) -> list[str]:
    """Return the numbers of an answer that neither its line prints nor the question names."""
    known, told = ({_value(one): one for one in _numbers(text)} for text in (f"{question} {printed}", answer))
    return [one for value, one in told.items() if value not in known and not (value <= SMALL and value == int(value))]


def _numbers(text: str) -> list[str]:
    return NUMBER.findall(FRACTION.sub(r" \1 \2 ", NAMED.sub(" ", text)))


def _value(number: str) -> float:
    return abs(float(number.replace(",", "")))


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("It is 0.40, not 2.5.", ["2.5"]),
        ("$\\frac45$ of 3, by {prf:ref}`Theorem 4.5 <x>` and Theorem 4.5.", []),
        ("From 18 on, at $x=-0.7$ and 1,000.", ["18"]),
        ("The rest is 14.", ["14"]),
    ],
)
def test_a_number_that_only_the_answer_names_is_found(answer, found):
    assert unread(answer, "Let $x=0.7$, $n=1000$ and {eq}`eq-14`.", "0.4") == found


@pytest.mark.parametrize("name", arguments.notebook_names(LAYOUT.root))
def test_a_notebook_ends_with_three_questions_whose_answers_are_what_their_lines_print(name):
    cells = read_notebook(LAYOUT.notebooks / f"{name}.ipynb").cells
    first = next((number for number, cell in enumerate(cells) if cell.source.startswith(HEADING)), None)
    assert first is not None, (
        f"{name} lacks '{HEADING}': three questions, each with a line of code tagged {GUESS} and an answer"
    )
    asked, lines, answers = cells[first::2], cells[first + 1 :: 2], cells[first + 2 :: 2]
    assert [len(asked), len(lines)] == [4, 3]
    assert all(
        cell.metadata.get("tags") == [GUESS] and "\n" not in cell.source and len(cell.source) <= LONGEST for cell in lines
    )
    for question, line, answer in zip(asked, lines, answers, strict=False):
        assert QUESTION.search(question.source) and question.source.rstrip().endswith("?"), question.source
        folded = ANSWER.match(answer.source)
        assert folded, f"the answer to {line.source} is not folded"
        (printed,) = line.outputs
        numbers = NUMBER.findall(printed.text)
        assert numbers and set(numbers) <= set(NUMBER.findall(folded[1])), f"{printed.text} is not in {folded[1]}"
        assert not (rest := unread(folded[1], QUESTION.search(question.source)[1], printed.text)), f"{rest}: {folded[1]}"


def test_every_guess_is_a_question_of_its_own():
    questions = [
        cell.source
        for name in arguments.notebook_names(LAYOUT.root)
        for cell in read_notebook(LAYOUT.notebooks / f"{name}.ipynb").cells
        if GUESS in cell.metadata.get("tags", [])
    ]
    assert len(questions) == len({*questions})
