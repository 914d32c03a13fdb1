"""What is declared twice, about nothing, or otherwise than it can be used is refused in one sentence."""

import subprocess
import sys
from dataclasses import dataclass
from types import FunctionType, ModuleType, SimpleNamespace

import pytest
import xarray as xr

from icl_lib.companion import Book, Cards, Count, Declaration, Discrepancy, Experiment, claims_of, put, results, variable
from icl_lib.companion.laid_open import claims_about
from icl_lib.companion.marks import CHANGED, IN_THE_BOOK
from icl_lib.companion.paper import by_name
from icl_lib.typed import Misdeclared

WRONG = """
from dataclasses import dataclass
from typing import Annotated, Any
from annotated_types import MultipleOf
from icl_lib.companion import Book, Cards, Count, Declaration, Discrepancy, Experiment, claims_of, put, show

@dataclass(frozen=True)
class Toss(Declaration):
    tosses: Count

@dataclass(frozen=True)
class Roll(Declaration):
    rolls: Count

@dataclass(frozen=True)
class Named(Declaration):
    names: list[str]

@dataclass(frozen=True)
class Loose(Declaration):
    extra: Any

@dataclass(frozen=True)
class Even(Declaration):
    tosses: Annotated[int, MultipleOf(2)]

class Bare(Declaration):
    tosses: Count

class More(Toss):
    extra: int = 0

def claim(*words, **named):
    def C1(data):
        '''A coin is fair.

        Margin: why.
        Control: a die
        '''
    return claims_of("toy-coin")(*words, **named)(C1)

COIN, D = Experiment("toy-coin", "A coin", quick=Toss(1), full=Toss(2)), ("D", "bound")
for wrong in (
    lambda: Named(["a"]),
    lambda: Loose({}),
    lambda: Even(2),
    lambda: Bare(1),
    lambda: More(1),
    lambda: Experiment("toy-coin", "A coin", quick=Toss, full=Toss(2)),
    lambda: Experiment("toy-coin", "A coin", quick=Toss(1), full=Roll(2)),
    lambda: show("toy-coin"),
    lambda: COIN.run("quick", True),
    lambda: show(COIN, "full", -1),
    lambda: claim(*D, margin=1.0, quick_margin="a", control=put(heads=0)),
    lambda: claim(*D, margin=1.0, of="heads", near="1/3 for 1/2"),
    lambda: claim(*D, margin=1.0, of="heads", near=("1/3 for 1/2",), check=Discrepancy),
    lambda: claim(*D, margin=1.0, control="a die"),
    lambda: Experiment("../coin", "A coin", quick=Toss(1), full=Toss(2)),
    lambda: Cards([1]),
    lambda: Experiment("toy-coin", "A coin", quick=Toss(1), full=Toss(2), needs="torchvision"),
):
    try:
        wrong()
    except (TypeError, ValueError) as error:
        print(error)
    else:
        print("nothing is refused")
print(Book("toys", "toys", store="toys/results", build="toys/_build").result("toy-coin").as_posix())
"""
SENTENCES = """\
names is annotated with list[str]: take one of those that Declaration lists
extra is annotated with typing.Any: take one of those that Declaration lists
tosses is annotated with typing.Annotated[int, MultipleOf(multiple_of=2)]: take one of those that Declaration lists
Bare is no dataclass: write @dataclass(frozen=True) above it
More has fields and is no dataclass: write @dataclass(frozen=True) above it
toy-coin is declared by <class '__main__.Toss'>, Toss: quick and full are declarations of one class
toy-coin is declared by Toss, Roll: quick and full are declarations of one class
an experiment is shown, such as Experiment(...) makes: this is 'toy-coin'
the seed is True: take a whole number of at least 0
the seed is -1: take a whole number of at least 0
C1: its margin is 'a': take a number
C1: near= is one text: write near=('1/3 for 1/2',)
C1: of= and check= are both given: take one
C1: control= is 'a die': take a function of the dataset, such as put(...)
the slug is '../coin', and names files: take letters, digits and hyphens
cards are of judgements, one argument each, such as C1.judge(data): [1] is none
needs= of toy-coin is one text: write needs=('torchvision',)
toys/results/toy-coin.full.nc
"""


@dataclass(frozen=True)
class Toss(Declaration):
    tosses: Count

    def run(self, seed: int, device: str) -> xr.Dataset:
        return xr.Dataset({"heads": variable("toss", [1.0] * self.tosses, "heads"), "toss": variable("run", [1.0], "a toss")})


COIN = Experiment("toy-coin", "A coin", quick=Toss(1), full=Toss(2))


def made(of: str, told: str = "", **named):
    """A claim about an experiment, with more in its docstring."""

    def C1(data):
        return Discrepancy(data.heads)

    C1.__doc__ = f"A coin is fair.\n\nMargin: why.\nControl: a die{told}\n"
    return claims_of(of)("D", "bound", margin=1.0, control=put(heads="sixes"), **named)(C1)


@pytest.mark.long
def test_each_mistake_has_its_sentence():
    """In a process of its own: types are checked in this one."""
    done = subprocess.run([sys.executable, "-c", WRONG], capture_output=True, text=True, check=True)
    assert done.stdout == SENTENCES


def test_a_stored_result_of_a_package_without_its_book_is_refused(tmp_path, monkeypatch):
    """What else that package holds would not count, and what was stored would answer for other code."""
    toys = ModuleType("toys")
    monkeypatch.setitem(sys.modules, "toys", toys)
    lost = SimpleNamespace(module="toys.coins.s1_tosses.toss", slug="toy-coin", not_stored=lambda seed: "")
    with pytest.raises(ValueError, match="is in no book, for its code would not count: write BOOK = "):
        results.stored(lost)
    toys.BOOK = Book(tmp_path, "toyz", store=tmp_path, build=tmp_path)
    with pytest.raises(ValueError, match="for BOOK of toys is of 'toyz': write BOOK = "):
        results.stored(lost)


def test_what_is_declared_twice_is_refused_but_in_cells_that_are_run_again():
    def each(module):
        return SimpleNamespace(id="D4", module=module)

    first = each("toys.a")
    assert by_name([first, first], lambda claim: claim.id) == {"D4": first}
    with pytest.raises(ValueError, match="D4 is declared twice, in toys.a and toys.b: rename one"):
        by_name([first, each("toys.b")], lambda claim: claim.id)
    again = each("__main__")
    assert by_name([each("__main__"), again], lambda claim: claim.id)["D4"] is again


def declared_in(module: dict, sentence: str):
    """Make a claim C1 of this sentence in a module, as its source does, or a cell."""
    function = FunctionType((lambda data: Discrepancy(data.heads)).__code__, module, "C1")
    function.__doc__ = f"{sentence}.\n\nMargin: one.\nControl: sixes of a die"
    module["C1"] = claims_of("toy-coin", section="1")("D", "bound", margin=0.1, control=put(heads="sixes"))(function)


def test_two_claims_of_one_name_in_one_module_are_refused_where_their_sentences_differ():
    module, cells = {"__name__": "papers.zhang.s7_toy.claims"}, {"__name__": "__main__"}
    for _ in range(2):  # the same one, as when a module is read again
        declared_in(module, "A coin is fair")
    with pytest.raises(Misdeclared, match="C1 is declared twice in papers.zhang.s7_toy.claims: rename one"):
        declared_in(module, "A die is fair")
    for sentence in ("A coin is fair", "A die is fair"):
        declared_in(cells, sentence)


def test_a_claim_about_a_result_that_the_room_has_not_is_refused(monkeypatch):
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "C1", made("toy-coim"), raising=False)
    monkeypatch.setattr("icl_lib.companion.laid_open.seen_by", lambda experiment: [module])
    with pytest.raises(ValueError, match="C1 is about toy-coim: unknown experiment 'toy-coim': did you mean toy-coin?"):
        claims_about(COIN)
    monkeypatch.setattr(module, "C1", made("toy-coin"))
    assert [*claims_about(COIN)] == ["C1"]


def test_a_failure_is_somebodys():
    assert made("toy-coin", "\nFails because: scale: too small", recorded="fails").told["Fails because"]
    with pytest.raises(ValueError, match="Fails because: begins with 'dunno': take one of the paper, "):
        made("toy-coin", "\nFails because: dunno", recorded="fails")


def test_whether_something_is_so_is_no_distance():
    with pytest.raises(ValueError, match="a discrepancy is a number"):
        Discrepancy(xr.DataArray([True, False]))


def test_a_variable_called_as_a_dimension_of_another_is_refused_before_it_is_stored():
    with pytest.raises(ValueError, match="toss is a variable and a dimension of another"):
        COIN.run("quick", 0)


def test_a_cell_shows_the_sentence_alone():
    with pytest.raises(ValueError) as refused:
        COIN.but(toss=3)
    (line,) = refused.value._render_traceback_()
    assert line == str(refused.value) and "did you mean tosses?" in line
    assert refused.value.__suppress_context__


@pytest.mark.parametrize(
    ("origin", "said", "not_said"),
    [
        ({"profile": "quick"}, ("rejected on the full data only", "too coarse for it"), "not rejected"),
        ({"profile": "full"}, ("near miss not rejected", "; it is not"), "full data"),
        ({}, ("near miss not rejected", "; it is not"), "full data"),
        ({"profile": "quick", CHANGED: "d = 3", IN_THE_BOOK: "d = 2"}, ("near miss not rejected",), "full data"),
    ],
)
def test_a_near_miss_that_is_not_rejected_waits_for_full_data_in_quick_alone(origin, said, not_said):
    data = xr.Dataset({"heads": 0.1, "sixes": 0.2}, attrs={"slug": "toy-coin", **origin})
    card = Cards(made("toy-coin").judge(data))._repr_html_()
    assert all(words in card for words in said) and not_said not in card
