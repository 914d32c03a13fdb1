"""Diagrams: drawn in both themes, told in words, made of the symbols of their page, and true."""

import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from book.builder.three_models import LINKS, three_models
from icl_lib.companion import Diagram
from icl_lib.companion.figure import _LIGHT
from icl_lib.companion.paper import declared, notebook_of
from icl_lib.companion.shapes import box, canvas
from icl_lib.models.linear_attention import LinearSelfAttention, embed
from icl_lib.patches.rank_one import redirection
from icl_lib.tasks.prompts import Prompts
from papers import registry
from papers.li.s2_formulation import diagrams as li
from papers.li.softmax_attention import SoftmaxAttentionMLP
from papers.zhang.s3_preliminaries import diagrams as zhang
from papers.zhang.theory import optimum

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
IN_ROOMS = {
    each.name: (each, notebook_of(module.__name__)) for module in registry._MODULES for each in declared([module], Diagram)
}
EVERY = [*(each for each, _ in IN_ROOMS.values()), three_models]
SYMBOL = re.compile(r"(?:\\text\{\w+\}|\\[A-Za-z]+|[A-Za-z])(?:[_^](?:\{[^{}]*\}|\\[A-Za-z]+|\w))*")


def written(diagram: Diagram) -> list:
    """The texts of a diagram."""
    figure = Figure(figsize=diagram.size)
    diagram.sketch(figure)
    return figure.axes[0].texts


def symbols(mathematics: str) -> set[str]:
    """Every symbol of a formula with its indices."""
    plain = re.sub(r"\\([!,;]|propto|cdots|left|right)|\s", " ", mathematics.replace(r"\mathrm", r"\text").replace(r"\rm ", ""))
    plain = re.sub(r"\{\s*(\\[A-Za-z]+|\w)\s*\}", r"\1 ", plain)
    return {found.replace(" ", "") for found in SYMBOL.findall(re.sub(r"\s+(?=[_^}])|(?<=[{_^])\s+", "", plain))}


def on_page(notebook: str) -> set[str]:
    """Every symbol in the mathematics of a page."""
    cells = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return symbols(" ".join(display or inline for display, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, re.S)))


def drawn_symbols(diagram: Diagram) -> set[str]:
    return symbols(" ".join(part for text in written(diagram) for part in re.findall(r"\$([^$]+)\$", text.get_text())))


@pytest.mark.parametrize("diagram", EVERY, ids=lambda each: each.name)
def test_a_diagram_is_drawn_in_both_themes_and_told_in_words(diagram):
    picture = diagram.picture()
    assert "<svg" in picture.light and picture.dark != picture.light and len(picture.light) < 150_000
    assert not any(colour in picture.dark for colour in _LIGHT)
    assert len(picture.alt.split()) > 40 and picture.alt.endswith(".") and "$" not in picture.alt + picture.caption
    assert len(picture.caption.split()) > 20 and 'data-slug=""' in diagram._repr_html_()


@pytest.mark.parametrize("diagram", EVERY, ids=lambda each: each.name)
def test_a_diagram_is_readable_on_a_phone(diagram):
    assert diagram.size[0] <= 4.6 and min(text.get_fontsize() for text in written(diagram)) >= 10


@pytest.mark.parametrize("diagram", EVERY, ids=lambda each: each.name)
def test_no_text_leaves_its_diagram(diagram):
    figure = Figure(figsize=diagram.size)
    diagram.sketch(figure)
    renderer, (width, height) = FigureCanvasAgg(figure).get_renderer(), figure.bbox.size
    for text in figure.axes[0].texts:
        (left, bottom), (right, top) = text.get_window_extent(renderer).get_points()
        assert left >= 0 and bottom >= 0 and right <= width and top <= height, text.get_text()


@pytest.mark.parametrize("name", IN_ROOMS)
def test_every_symbol_stands_on_the_page(name):
    diagram, notebook = IN_ROOMS[name]
    assert len(drawn_symbols(diagram)) > 5
    assert drawn_symbols(diagram) <= on_page(notebook)


def test_the_symbols_of_a_link_stand_on_its_pages():
    assert any(symbols(words) for link in LINKS for words in re.findall(r"\$([^$]+)\$", link.words))
    for link in LINKS:
        found = set().union(*(on_page(notebook) for _, notebook in link.pages))
        assert symbols(" ".join(re.findall(r"\$([^$]+)\$", link.words))) <= found, link


def test_a_tint_that_there_is_not_is_told():
    with pytest.raises(ValueError, match="unknown tint 'lives': did you mean live"):
        box(canvas(Figure()), 0, 0, 1, 1, tint="lives")


def test_every_pair_of_models_is_linked_once():
    assert {link.joins for link in LINKS} == {(i, j) for i in range(4) for j in range(i + 1, 4)} and len(LINKS) == 6


@pytest.mark.parametrize("name", IN_ROOMS)
def test_a_folded_cell_of_its_page_shows_it(name):
    diagram, notebook = IN_ROOMS[name]
    cells = json.loads((NOTEBOOKS / f"{notebook}.ipynb").read_text(encoding="utf-8"))["cells"]
    (cell,) = [cell for cell in cells if "diagrams import" in "".join(cell["source"])]
    room = importlib.import_module(re.search(r"from (\S+) import", cell["source"][0])[1])
    assert getattr(room, cell["source"][-1]) is diagram and "hide-input" in cell["metadata"]["tags"]


# --- what is drawn is so ------------------------------------------------------------------------------------------


def regression_prompts(M: int) -> Prompts:
    generator = torch.Generator().manual_seed(5)
    x, w, query = (torch.randn(4, *shape, generator=generator, dtype=torch.float64) for shape in ((M, zhang.D), (3,), (3,)))
    return Prompts(x, torch.einsum("bmd,bd->bm", x, w), query, torch.einsum("bd,bd->b", query, w))


def test_the_filled_and_the_hatched_entries_are_those_that_the_prediction_reads():
    generator, shape = torch.Generator().manual_seed(6), (zhang.D + 1, zhang.D + 1)
    weights = [torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True) for _ in range(2)]
    LinearSelfAttention(*weights).tokens(embed(regression_prompts(5)))[:, -1, -1].square().sum().backward()
    for matrix, drawn in zip(weights, (zhang.PV, zhang.KQ), strict=True):
        assert ((matrix.grad.abs() > 1e-9).numpy() == (np.array(drawn) != "empty")).all()


def test_the_filled_entries_are_those_that_are_not_zero_after_training():
    Lambda = np.array([[2.0, 0.3, 0.2], [0.3, 1.0, 0.1], [0.2, 0.1, 0.5]])
    for W, drawn in ((optimum.W_PV_limit(Lambda, 5), zhang.PV), (optimum.W_KQ_limit(Lambda, 5), zhang.KQ)):
        assert ((np.abs(W) > 1e-9) == (np.array(drawn) == "live")).all()


def example() -> tuple[SoftmaxAttentionMLP, Prompts]:
    """The network and the prompt that the page of Li et al. works by hand."""
    patterns, scale = torch.eye(3, dtype=torch.float64), np.sqrt(np.log(4))
    W = scale * torch.diag(torch.tensor([1.0, 1.0, 1.0, 0.0], dtype=torch.float64))
    W_V, W_O, a = torch.eye(4, dtype=torch.float64), torch.tensor(li.NEURONS), torch.tensor(li.SECOND)
    labels, one = torch.tensor([li.LABELS], dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    return SoftmaxAttentionMLP(W, W, W_V, W_O, a, one), Prompts(patterns[None, list(li.PATTERNS)], labels, patterns[:1], one)


def test_the_drawn_prompt_goes_through_the_network_as_drawn():
    network, prompt = example()
    assert network.attention(prompt)[0].numpy() == pytest.approx(li.ATTENTION)
    assert float(network(prompt)) == pytest.approx(li.OUTPUT) == pytest.approx(2)


def patched(W: torch.Tensor, a: torch.Tensor, a_full: torch.Tensor) -> torch.Tensor:
    """What the patched matrix makes of what it reads without Y."""
    return torch.einsum("...mn,...n->...m", W + redirection(W.expand(*a.shape[:-1], *W.shape), a, a_full), a)


def test_the_network_of_Li_et_al_is_a_contextual_block_while_a_context_stays():
    network, prompt = example()
    full, kept = (
        torch.einsum("bl,blj->bj", network.attention(each), network.contexts(each))
        for each in (prompt, Prompts(prompt.x[:, 1:], prompt.y[:, 1:], prompt.x_query, prompt.y_query))
    )
    output = patched(network.W_O, kept, full).relu() @ network.a
    assert output.item() == pytest.approx(float(network(prompt))) and (network.W_O @ kept[0]).relu() @ network.a != output


def test_linear_attention_is_a_contextual_block_with_a_matrix_of_one_row():
    generator, shape = torch.Generator().manual_seed(7), (zhang.D + 1, zhang.D + 1)
    layer = LinearSelfAttention(*(torch.randn(shape, generator=generator, dtype=torch.float64) for _ in range(2)))
    prompts = regression_prompts(5)
    fewer = Prompts(prompts.x[:, :2], prompts.y[:, :2], prompts.x_query, prompts.y_query)
    full, kept = (layer.tokens(embed(each))[..., -1] for each in (prompts, fewer))
    last = torch.eye(zhang.D + 1, dtype=torch.float64)[-1:]
    torch.testing.assert_close(patched(last, kept, full)[:, 0], layer(prompts))
    assert (layer(fewer) - layer(prompts)).abs().min() > 1e-3
