"""What the pages say: the ledger, the statistics, the figures' provenance, and the commands in the prose."""

import base64
import re
import shlex
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from book.builder import arguments, figures, folded, pages, render, stage
from book.builder.cache import Executed, Record
from book.builder.figures import Provenance
from book.builder.made import CALL, ORIGIN, entries, made
from book.builder.three_models import three_models
from book.release import bundle, verify
from icl_lib.companion import origins
from papers import __main__ as command_line
from papers import registry

ROOT = Path(__file__).resolve().parents[2]
PROSE = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "book").glob("*.md"))]


def test_statistics_name_no_path():
    record = Record({}, {}, {}, {}, "quick", 9, 12.3, "2026-01-01T00:00:00+00:00")
    page = pages.statistics_page([Executed("alpha", Path("/home/me/_build"), record, reused=True)], ["beta"])
    assert "| 9 | 12.3 | quick | earlier build |" in page
    assert "| beta | – | – | – | not executed | – |" in page
    assert "/home" not in page


def svg(colour):
    text = f'<svg xmlns="http://www.w3.org/2000/svg" width="72pt" height="36pt"><rect fill="{colour}"/></svg>'
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()


def notebook_showing(html):
    output = nbformat.v4.new_output("display_data", {"text/html": html})
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("show", outputs=[output])])


def test_figure_becomes_two_files_with_provenance(tmp_path):
    notebook = notebook_showing(
        '<figure class="icl-figure" id="fig-risk" data-slug="zhang-risk">'
        f'<img alt="a line" src="{svg("#1b1f24")}"><figcaption>Risk</figcaption><!-- provenance --></figure>'
    )
    known = Provenance("zhang-risk", "quick", "0", 3.14, "cpu", "https://example.org/blob/abc/risk.py")
    shown = figures.extract(notebook, tmp_path, {"zhang-risk": known})
    assert "#1b1f24" in (tmp_path / "fig-risk-light.svg").read_text()
    assert "#dfe4ea" in (tmp_path / "fig-risk-dark.svg").read_text()  # the ink of the other theme
    html = notebook.cells[0].outputs[0].data["text/html"]
    page = BeautifulSoup(html, "html.parser")
    assert shown == {"risk": html}
    assert [image["src"] for image in page.select("img")] == [
        "../figures/fig-risk-light.svg",
        "../figures/fig-risk-dark.svg",
    ]
    assert [(image["width"], image["height"], image["alt"]) for image in page.select("img")] == [("96", "48", "a line")] * 2
    strip = page.select_one(".icl-provenance")
    assert "quick profile · seed 0 · 3.1 s on cpu" in strip.get_text()
    assert [a["href"] for a in strip.select("a")] == [
        "../data/zhang-risk.quick.csv",
        "../data/zhang-risk.quick.nc",
        "../figures/fig-risk-light.svg",
        "https://example.org/blob/abc/risk.py",
    ]


def test_a_result_without_a_figure_has_its_provenance_below_its_claims(tmp_path):
    notebook = notebook_showing('<div class="icl-cards" data-slug="zhang-risk"><article></article></div>')
    known = Provenance("zhang-risk", "quick", "0", 3.14, "cpu", made="<details>made</details>")
    assert figures.extract(notebook, tmp_path, {"zhang-risk": known}) == {}
    page = BeautifulSoup(notebook.cells[0].outputs[0].data["text/html"], "html.parser")
    assert [tag.name for tag in page.find_all(recursive=False)] == ["div", "p", "details"]


@pytest.mark.parametrize("commit", ["0123456789ab", "0123456789ab+"])
def test_what_was_computed_by_code_in_no_commit_says_so(commit):
    told = {"made": f"<details>{ORIGIN}</details>", "created": "2026-01-02T03:04:05+00:00", "commit": commit}
    page = BeautifulSoup(Provenance("zhang-risk", "quick", "0", 3.14, "cpu", **told).as_html("../figures/a.svg"), "html.parser")
    dirty = commit.endswith("+")
    assert ("by code that is in no commit" in page.p.get_text()) == dirty
    facts = dict(zip(*([part.get_text() for part in page.select(name)] for name in ("dt", "dd")), strict=True))
    assert facts["commit"] == "0123456789ab" + (", and changes that are in no commit" if dirty else "")
    assert facts["computed"] == "2026-01-02 03:04 UTC"
    assert [*facts][2:] == ["SHA-256 of the data", "SHA-256 of the picture"]


def test_a_diagram_becomes_two_files_without_provenance(tmp_path):
    notebook = notebook_showing(three_models._repr_html_())
    ((_, shown),) = figures.extract(
        notebook, tmp_path, {"zhang-risk": Provenance("zhang-risk", "quick", "0", 3.14, "cpu")}
    ).items()
    assert shown == figures.with_files(three_models._repr_html_(), tmp_path)
    page = BeautifulSoup(shown, "html.parser")
    assert {path.name for path in tmp_path.iterdir()} == {f"fig-three-models-{theme}.svg" for theme in ("light", "dark")}
    assert len(page.select("img")) == 2 and not page.select(".icl-provenance") and figures.PLACE not in shown


def test_the_front_page_links_the_pages_that_join_the_models():
    page = BeautifulSoup(three_models.picture().caption, "html.parser")
    links = page.select("ol > li")
    assert len(links) == 6 and all(link.a for link in links)
    for link in page.select("a"):
        assert (ROOT / "book" / link["href"]).with_suffix(".ipynb").exists(), link
    assert "<!-- figure three-models -->" in (ROOT / "book" / "index.md").read_text(encoding="utf-8")


def test_fields_of_fields_are_told_one_by_one():
    declared = {"class": "X", "N": [3, 4], "setting": {"beta": 2.0}, "settings": [["A", {"T": 5}], ["B", {"T": 6}]]}
    assert dict(entries(declared)) == {
        "N": "3, 4",
        "setting.beta": "2.0",
        "settings[0][0]": "A",
        "settings[0][1].T": "5",
        "settings[1][0]": "B",
        "settings[1][1].T": "6",
    }


def test_how_a_result_was_computed_names_every_field_and_shows_what_ran():
    experiment = registry.experiment("li-classical")
    attributes = {"profile": "quick", "seed": "0", "declaration": origins.declaration_json(experiment.quick)}
    page = BeautifulSoup(made(experiment, attributes), "html.parser")
    names = [cell.get_text() for cell in page.select("th")]
    assert {"setting.beta", "seeds", "alphas"} <= {*names} and "class" not in names
    shown = page.get_text()
    assert "class Classical(Declaration)" in shown and "def expect(" in shown and "def classical(figure" in shown
    assert "./run figure li-classical --profile quick --seed 0" in shown


def test_a_call_is_told_below_what_it_showed_with_the_imports_that_it_needs():
    notebook = notebook_showing(f'<div class="icl-cards" data-slug="zhang-risk"></div>{CALL}')
    cell = nbformat.v4.new_code_cell
    parameters = cell('profile = "quick"\nseed = 0', metadata={"tags": ["parameters"]})
    check = "try:\n    two\nexcept ImportError as missing:\n    raise\n"
    imports = cell(f"{check}import numpy as np\nfrom papers.zhang import one, other as two\nimport unused")
    notebook.cells[0].source = "two(np, profile)"
    notebook.cells = [parameters, imports, *notebook.cells, cell("1 + 1")]
    folded.fold(notebook)
    assert [each.metadata["tags"][-1] for each in notebook.cells] == [
        "remove-cell",
        "remove-cell",
        "remove-input",
        "hide-input",
    ]
    told = BeautifulSoup(notebook.cells[2].outputs[0].data["text/html"], "html.parser").get_text()
    expected = ["profile = 'quick'", "import numpy as np", "from papers.zhang import other as two", "two(np, profile)"]
    assert told.split("In the notebook")[1].strip().splitlines() == expected


def test_notebook_that_was_not_executed_shows_no_old_output():
    notebook = notebook_showing("<p>old</p>")
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell("# Title"))
    bare = stage.without_outputs(notebook)
    assert [cell.outputs for cell in bare.cells if cell.cell_type == "code"] == [[]]
    assert "not executed" in bare.cells[1].source


def test_complaints_name_the_repository_s_files_and_cells():
    said = "/b/src/notebooks/x.ipynb:50008: WARNING: no\n/b/src/book/cite.md:42: WARNING: no\nTraceback (most recent call last)"
    assert render.complaints(said, Path("/b/src")).splitlines() == [
        "notebooks/x.ipynb cell 5, line 8: WARNING: no",
        "book/cite.md:42: WARNING: no",
    ]


@pytest.mark.parametrize("commit", ["unknown", "0123456789ab+"])
def test_no_link_to_code_that_is_in_no_commit(commit):
    assert stage.permalink("zhang-risk", commit, "https://example.org/o/n") is None


def commands(pattern):
    """Every command in the prose that matches, as words after the match."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in PROSE)
    found = re.findall(rf"^(?:    )?\S*{pattern}([^\n#`]*)", text, flags=re.MULTILINE)
    return [shlex.split(words) for words in found]


def test_run_commands_in_the_prose_are_accepted():
    found = commands("run book")
    assert len(found) >= 5
    for words in found:
        arguments.parse([word for word in words if word != "--locked"], ROOT)  # which `run` takes for itself
    found = commands("run test")
    assert len(found) >= 3
    for words in found:
        arguments.parse_test(words, ROOT)


def test_library_commands_in_the_prose_are_accepted():
    names = ("list", "compute", "figure", "check", "renew", "train", "sweep", "merge", "calibrate", "patch")
    found = [[name, *words] for name in names for words in commands(rf"\./run {name}\b")]
    assert len(found) >= 10 and {words[0] for words in found} == {*names}
    for words in found:
        options = command_line.parser().parse_args(words)
        asked = getattr(options, "slugs", None) or [getattr(options, "slug", None)]
        for slug in asked if getattr(options, "settings", None) else ():
            registry.asked(slug, options.profile, options.settings)  # whether its declaration admits them


def test_release_commands_in_the_prose_are_accepted():
    for words in [*commands("run bundle"), []]:
        bundle.parse(words)
    found = [[word if word != "DIGEST" else "0" * 64 for word in words] for words in commands("run verify")]
    assert len(found) >= 5
    for words in found:
        assert verify.parse(words).bundle.name.endswith(".zip")


@pytest.mark.parametrize("path", PROSE, ids=lambda path: path.name)
def test_prose_is_finished_and_its_files_exist(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\bTIME\b|TODO|FIXME", text)
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (
            target in ("calibration.md", "established.md", "faults.md", "ledger.md", "statistics.md")
            or (path.parent / target).exists()
        ), target


def test_citation_names_the_papers_and_the_sequels():
    record = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert record["authors"] == [{"name": "The ICL companion developers"}]
    numbers = [reference["identifiers"][0]["value"] for reference in record["references"]]
    cited = ("2306.09927", "2402.15607", "2507.16003", "2208.01066", "2306.00297", "2512.11255", "2511.17864")
    assert numbers == [f"arXiv:{n}" for n in cited]
