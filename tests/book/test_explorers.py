"""Explorers: the view without JavaScript, what its numbers are by another route, and the page that loads it."""

import json
import re
from importlib import import_module
from pathlib import Path
from urllib.parse import parse_qs
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup
from moved import settings
from sphinx.application import Sphinx

from book.explorers import dherin_patch, explorer, zhang_basins, zhang_error
from book.explorers.plane import Axis, Plane, number, path
from icl_lib.patches.rank_one import redirection
from papers.zhang.theory import error, optimum, shifts

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted(path for path in explorer.HERE.glob("*.js") if path.stem != "explorer")
MODULES = [import_module(f"book.explorers.{script.stem}") for script in SCRIPTS]
EXPLORERS = [module.EXPLORER for module in MODULES]
each_explorer = pytest.mark.parametrize("one", EXPLORERS, ids=lambda one: one.name)


@pytest.fixture(scope="module")
def pages():
    return {one.name: BeautifulSoup(one.html(), "html.parser") for one in EXPLORERS}


@each_explorer
def test_the_picture_is_well_formed_and_has_a_title(one):
    tree = ElementTree.fromstring(str(one.svg(one.start)))
    (title,) = tree.findall("title")
    assert title.text and tree.get("aria-labelledby") == title.get("id")
    for state in settings(one, 5):
        drawn = str(one.svg(state))
        ElementTree.fromstring(drawn)
        assert not re.search(r"\b(nan|inf|None)\b", drawn), state


@each_explorer
def test_the_page_says_what_to_try_and_every_part_has_a_place(one, pages):
    page = pages[one.name]
    figure = page.find("figure", id=f"explore-{one.name}")
    assert figure.find(id=figure["aria-labelledby"]).get_text() == one.title
    assert len(figure.select_one(".tries").get_text()) > 40
    assert {each["data-part"] for each in figure.select("[data-part]")} == set(one.parts(one.start))
    assert figure.select_one("[data-part=reading]").get_text() == one.parts(one.start)["reading"]["text"]
    assert not [name for tag in page.find_all(True) for name in tag.attrs if name.startswith("on") or name == "style"]


@each_explorer
def test_the_facts_for_the_script_parse_and_are_small(one, pages):
    text = pages[one.name].find("script", type="application/json").string
    facts = json.loads(text, parse_constant=pytest.fail)
    assert len(text) < 60_000
    assert {control["name"]: control["start"] for control in facts["controls"]} == json.loads(json.dumps(one.start))


@each_explorer
def test_the_buttons_in_the_text_set_what_there_is_to_set(one, pages):
    controls = {control.name: control for control in one.controls}
    for button in pages[one.name].select("button.preset"):
        for name, (value,) in parse_qs(button["data-set"], strict_parsing=True).items():
            control = controls[name]
            if control.kind == "slider":
                assert float(value) in control.stops
            elif control.kind == "choice":
                assert value in control.options
            else:
                x, y = map(float, value.split(","))
                plane = one.planes[control.plane]
                assert plane.x.low <= x <= plane.x.high and plane.y.low <= y <= plane.y.high


@each_explorer
def test_the_script_is_light_and_asks_for_nothing(one):
    for script in (one.script, explorer.HERE / "explorer.js"):
        source = script.read_text(encoding="utf-8")
        assert source.startswith('"use strict";') and len(source) < 10_500
        assert not re.search(r"\b(fetch|XMLHttpRequest|eval|Function|import)\b\s*\(|innerHTML|https?:", source)
    assert f'define("{one.name}"' in one.script.read_text(encoding="utf-8")


# --- each by another route ----------------------------------------------------------------------------------------


def test_the_terms_of_the_error_are_those_of_theorem_4_2_and_its_sum_goes_over_tasks():
    """A mean over tasks w ~ N(0, I) is a sum over unit vectors."""
    for state in settings(zhang_error.EXPLORER, 25):
        N, M, d, kappa, c = (state[name] for name in ("N", "M", "d", "kappa", "c"))
        Lambda, found = zhang_error.covariance(d, kappa), zhang_error.values(state | {"c": 1})
        assert np.linalg.cond(Lambda) == pytest.approx(kappa if d > 1 else 1) and np.trace(Lambda) == pytest.approx(d)
        terms = [error.error_terms(Lambda, N, M, error.noiseless_labels(Lambda, w)) for w in np.eye(int(d))]
        assert found["variance"] == pytest.approx(sum(term.variance for term in terms) / d)
        assert found["bias"] == pytest.approx(sum(term.bias for term in terms) / d)
        for name, length in (("error", M), ("bias", np.inf)):
            risks = [shifts.covariate_shift_error(Lambda, N, length, c**2 * Lambda, w) for w in np.eye(int(d))]
            assert zhang_error.values(state)[name] == pytest.approx(sum(risks) / (c**2 * d))


def test_least_squares_misses_what_the_examples_do_not_span():
    x = torch.randn((7, 10), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    missed = np.trace(np.eye(10) - (torch.linalg.pinv(x) @ x).numpy()) / 10
    state = zhang_error.EXPLORER.start | {"kappa": 1, "M": 7}
    assert zhang_error.values(state)["least_squares"] == pytest.approx(missed)
    assert zhang_error.values(state | {"M": 10, "kappa": 5})["least_squares"] == 0
    assert "least_squares" not in zhang_error.values(state | {"kappa": 5})


def test_equal_lengths_are_best_as_the_text_says():
    state = zhang_error.EXPLORER.start | {"M": 20}
    risks = {N: zhang_error.values(state | {"N": N})["error"] for N in zhang_error.LENGTHS}
    assert min(risks, key=risks.get) == 20 and risks[1000] > risks[20]


def test_patch_is_the_librarys():
    for state in settings(dherin_patch.EXPLORER, 25):
        found = dherin_patch.values(state)
        a, full, other = (torch.tensor(state[name], dtype=torch.float64) for name in ("a", "full", "other"))
        update = redirection(torch.tensor(dherin_patch.W), a, full)
        assert [[found["W11"], found["W12"]], [found["W21"], found["W22"]]] == pytest.approx(update.numpy())
        assert found["norm"] == pytest.approx(float(torch.linalg.matrix_norm(update)))
        assert update @ a + a == pytest.approx(full)
        assert found["miss"] == pytest.approx(float((full - a - update @ other).norm()))
        assert found["share"] * (full - a) == pytest.approx(update @ other)


def test_there_is_no_patch_at_zero():
    state = dherin_patch.EXPLORER.start | {"a": (0.0, 0.0)}
    assert dherin_patch.values(state)["norm"] == np.inf
    assert "no patch" in dherin_patch.parts(state)["reading"]["text"]


@pytest.mark.parametrize("N", ["2", "10", "50"])
def test_the_stored_border_parts_the_starts(N):
    known = zhang_basins.stored()[N]
    for s, q in known["border"][6::9]:
        near, far = ({"N": N, "start": (s + off, q)} for off in (-0.02, 0.02))
        assert zhang_basins.values(near)["after"] == pytest.approx(known["trap_loss"], rel=5e-3)
        assert zhang_basins.values(far)["after"] < zhang_basins.ARRIVED
    assert known["trap_loss"] > zhang_basins.ARRIVED
    assert known["optimum"][0] == pytest.approx(optimum.W_PV_limit(zhang_basins.LAMBDA, int(N))[-1, -1], abs=1e-4)


# --- drawing ------------------------------------------------------------------------------------------------------


def test_plane_places_values_linearly_and_by_logarithms():
    plane = Plane(Axis(1, 100, 0, 200, log=True), Axis(-1, 1, 100, 0))
    assert plane(10, 0) == pytest.approx((100, 50)) and plane(100, 1) == pytest.approx((200, 0))


def test_path_breaks_where_there_is_no_point():
    assert path([(0, 1), (2, 3), (np.nan, 0), (4, 5), (6, 7)]) == "M0.0 1.0L2.0 3.0M4.0 5.0L6.0 7.0"


@pytest.mark.parametrize(
    "value, text",
    [(0, "0"), (0.44, "0.44"), (-3.456, "−3.46"), (1234, "1230"), (1.234e-5, "1.2·10⁻⁵"), (5e6, "5.0·10⁶"), (np.inf, "∞")],
)
def test_numbers_are_written_as_readers_write_them(value, text):
    assert number(value) == text


# --- on a page ----------------------------------------------------------------------------------------------------


def build(folder, **texts):
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\nextensions = ['myst_parser', 'explorer']\n"
    )
    warnings = (folder / "warnings").open("w+", encoding="utf-8")
    app = Sphinx(folder, folder, folder / "out", folder / "trees", "html", status=None, warning=warnings)
    app.build()
    warnings.seek(0)
    return folder / "out", warnings.read()


def test_only_a_page_with_an_explorer_loads_its_scripts(tmp_path):
    shown = "# One\n\n```{explorer} zhang-error\n```\n\n```{toctree}\nother\n```\n"
    site, complaints = build(tmp_path, index=shown, other="# Two\n\nText.\n")
    with_it, without = ((site / f"{name}.html").read_text(encoding="utf-8") for name in ("index", "other"))
    assert not complaints and 'id="explore-zhang-error"' in with_it
    sources = re.findall(r'src="_static/explorers/(\w+\.js)', with_it)
    assert sources == ["explorer.js", "zhang_error.js"] and "explorers.css" in with_it
    assert "explorers/" not in without
    assert all((site / "_static" / "explorers" / name).exists() for name in [*sources, "explorers.css"])


def test_a_name_that_is_not_there_is_a_warning(tmp_path):
    _, complaints = build(tmp_path, index="# One\n\n```{explorer} zhang-nothing\n```\n")
    assert "There is no explorer zhang-nothing" in complaints
