"""The Chinese of boxes, captions and panel: all of it is there, none outlives its English, and nothing is carried by hand."""

import dataclasses
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import unescape

import pytest
from jinja2 import Template
from lxml import html
from lxml.html import HtmlElement

from book.builder import chinese, failures, figures, front, prose, recorded, sharpness, three_models
from book.builder.site import Page, by_class, piece
from book.builder.verdicts import NOT_RUN, Finding, Row
from icl_lib.companion import FAILS, HOLDS, NOT_REPRODUCED, Drawing
from icl_lib.companion.diagrams import Diagram
from icl_lib.companion.figure import CHANGED_PICTURE, PICTURE, Picture
from icl_lib.companion.mathematics import FORMULA
from icl_lib.companion.minute import Box
from icl_lib.companion.paper import declared
from papers import registry
from tests.papers.told import dataset_of

ROWS = [Row(claim, "page", Finding(NOT_RUN), Finding(claim.recorded)) for claim in registry.CLAIMS.values()]
DRAWN = [each for kind in (Drawing, Diagram) for each in declared(registry._MODULES, kind)]
PRINTED = re.compile(r"<figcaption>(.*?)</figcaption>", re.DOTALL)
ELEMENT = re.compile(r"<(\w+)>([^<]*)")
NUMBER = re.compile(r"(?<![A-Za-z.\d])\d+(?:[.,]\d+)*%?")
MARKS = re.compile(r"[一-鿿][,;:?!()]|[,;:?!(][一-鿿]|[一-鿿] [一-鿿]|[，。；：、？！（）] | [，。；：、？！（）]")
"""Punctuation that is not Chinese, and spaces where Chinese has none."""
ENGLISH, CHINESE = "At $d = 2$, {Z8}, {worst} of 10 runs fail.", "$d = 2$ 时，10 次中 {worst} 失败（{Z8}）。"


@cache
def captions() -> dict[str, str]:
    """Every caption as it is shown, by the name of its figure or by itself; those that need data with the book's."""
    shown = {
        each.name: each.caption if isinstance(each.caption, str) else each.told(dataset_of(each.name))[1] for each in DRAWN
    }
    shown |= {text: text for module in (recorded, sharpness) for text in PRINTED.findall(inspect.getsource(module))}
    return shown | {"three-models": three_models.three_models.caption}


def said() -> list[str]:
    """Every English text that is to have a Chinese one."""
    shown = [text for box in registry.MINUTES.values() for text in box.told.values()]
    shown += [chinese.found_in_table(chinese.caption_of(figcaption(text))[0])[0] for text in captions().values()]
    for rows in (ROWS, []):
        failures.panel(rows, lambda text: shown.append(str(text)) or text)
    return shown


def spare() -> set[str]:
    """What the panel says of groups that have nobody in them now."""
    return {text for words, told in failures.GROUPS.values() for text in (f"{words}.", told)} | {failures.OPEN[1]}


def complaints(texts: Iterable[str], table: Mapping[str, str], unused: Iterable[str] = ()) -> Iterator[str]:
    """What is missing, is said no more, or does not agree, a line each."""
    texts = list(texts)
    yield from (f"not translated: {text}" for text in dict.fromkeys(texts) if text not in table)
    yield from (f"said no more: {text}" for text in table if text not in {*texts, *unused})
    for english, translated in table.items():
        for what in (chinese.PLACE, FORMULA, NUMBER, ELEMENT, chinese.ID):
            first, second = (Counter(what.findall(_for(what, text))) for text in (english, translated))
            if first != second:
                yield f"{dict(first - second)} and {dict(second - first)}: {translated}"
        if found := MARKS.search(FORMULA.sub("x", translated)):
            yield f"{found[0]}: {translated}"


def _for(what: re.Pattern, text: str) -> str:
    """The text, its letters as they are read; for numbers without formulas, places, claims and elements."""
    text = unescape(text)
    return chinese.ID.sub("", chinese.PLACE.sub("", FORMULA.sub("", ELEMENT.sub(r" \2", text)))) if what is NUMBER else text


def figcaption(text: str, picture: Template = PICTURE) -> HtmlElement:
    """A caption on a page, with a picture that has another form for narrow screens."""
    drawn = picture.render(picture=Picture("one", "one", "quick", "", "", text, changed="N=1"), image="")
    return next(page(figures.CAPTION.sub(lambda found: figures.told_narrow(found[0]), drawn)).tree.iter("figcaption"))


def test_every_sentence_of_boxes_captions_and_panel_is_there_in_chinese():
    assert not (found := list(complaints(said(), chinese.table(), spare()))), "\n".join(found)


def test_a_sound_table_has_no_complaint():
    assert not list(complaints([ENGLISH], {ENGLISH: CHINESE}))


@pytest.mark.parametrize(
    ("texts", "table", "told"),
    [
        ([ENGLISH.replace("fail", "end")], {ENGLISH: CHINESE}, "not translated"),
        ([], {ENGLISH: CHINESE}, "said no more"),
        ([ENGLISH], {ENGLISH: CHINESE.replace("{worst}", "三次")}, "worst"),
        ([ENGLISH], {ENGLISH: CHINESE.replace("Z8", "Z9")}, "Z9"),
        ([ENGLISH], {ENGLISH: CHINESE.replace("10", "11")}, "11"),
        ([ENGLISH], {ENGLISH: CHINESE.replace("d = 2", "d = 3")}, "d = 3"),
        ([ENGLISH], {ENGLISH: CHINESE.replace("，", ",")}, "时,"),
        (["Of <i>N</i>."], {"Of <i>N</i>.": "<i>M</i> 的。"}, "'N'"),
    ],
)
def test_what_does_not_agree_is_told(texts, table, told):
    assert told in "\n".join(complaints(texts, table))


def page(box: str) -> Page:
    return Page("notebooks/one.html", html.document_fromstring(f"<html><body><main>{box}</main></body></html>"))


def filled(slug: str, told: Mapping[str, str] | None = None) -> Page:
    """A page with the box of one section, with numbers and verdicts that nobody wrote into a table."""
    minute = registry.MINUTES[slug]
    names = [name for text in minute.told.values() for name in chinese.PLACE.findall(text)]
    verdicts = {name: registry.CLAIMS[name].recorded for name in names if name in registry.CLAIMS}
    numbers = {name: f"<7{place}.5>" for place, name in enumerate(names) if name not in verdicts}
    found = page(Box(told or minute.told, numbers, verdicts)._repr_html_())
    chinese.add(found)
    return found


@pytest.mark.parametrize("slug", registry.MINUTES)
def test_a_box_has_its_own_numbers_claims_and_formulas_in_chinese(slug):
    tree = filled(slug).tree
    folds = tree.xpath("//section[@class='icl-minute']/details[@class='icl-chinese'][@lang='zh-Hans']")
    assert folds, f"a part of the box of {slug} is not translated, in these words, in book/chinese.yml"
    (fold,) = folds
    english, translated = tree.xpath("//section/dl")[0].text_content(), fold.xpath("./dl")[0].text_content()
    assert Counter(re.findall(r"<7\d+\.5>", english)) == Counter(re.findall(r"<7\d+\.5>", translated))
    for what in ("a/@href", "a/@class", "span[contains(@class, 'math')]/text()"):
        first, second = (sorted(tree.xpath(f"//section/{of}//{what}")) for of in ("dl", "details/dl"))
        assert first == second, what
    assert "{" not in re.sub(r"\\\(.*?\\\)", "", translated)


def test_a_number_that_is_set_as_a_power_comes_as_it_is():
    box = (
        Box({"Says": ENGLISH}, {"worst": "7"}, {"Z8": HOLDS})
        ._repr_html_()
        .replace("7<!--", '<i class="p">7<sup>2</sup></i><!--')
    )
    part = next(page(box).tree.iter("dd"))
    shown, (claim, number) = chinese.taken_apart(part)
    assert shown == chinese.shape(ENGLISH) == r"At \(d = 2\), {Z8}, {} of 10 runs fail."
    assert number == '<i class="p">7<sup>2</sup></i>' and "Z8 成立" in claim


def test_a_box_that_is_not_translated_whole_has_no_fold():
    told = registry.MINUTES["zhang-averaged-error"].told
    assert filled("zhang-averaged-error", told).tree.xpath("//details")
    assert not filled("zhang-averaged-error", {**told, "New": "Another."}).tree.xpath("//details")


def test_the_tally_counts_and_names_as_in_english():
    def told(verdict: str, **kind: bool) -> str:
        verdicts = dict.fromkeys(("D1", "D2", "D3", "D8", "D9"), HOLDS) | {"D6c": verdict}
        box = Box(registry.MINUTES["dherin-identity"].told, dict.fromkeys(("exact", "missing"), "1"), verdicts, **kind)
        found = page(box._repr_html_())
        chinese.add(found)
        return found.tree.xpath("//details/p")[0].text_content()

    assert told(HOLDS) == "本页的 6 条论断中 6 条成立。"
    assert told(NOT_REPRODUCED) == "本页的 6 条论断中 5 条成立。其余：D6c 此处未能重现。"
    assert told(NOT_REPRODUCED, small=True) == told(NOT_REPRODUCED) + chinese.OF_QUICK
    assert told(HOLDS, small=True) == told(HOLDS) + chinese.OF_QUICK


def test_the_panel_is_folded_below_the_english_one_and_stands_open_on_the_chinese_page():
    english, translated = (html.fragment_fromstring(front.panel(ROWS, name), create_parent=True) for name in ("", "zh"))
    assert english.xpath("./details[@lang='zh-Hans']/div[@class='icl-failures']") and not translated.xpath(".//details")
    folded = english.xpath("./details/div")[0]
    assert html.tostring(folded) == html.tostring(translated[0])
    assert [link.get("href") for link in folded.iter("a")] == [link.get("href") for link in english[0].iter("a")]
    assert "不成立 4" in translated.xpath(".//h3")[0].text_content()


def test_a_panel_with_a_sentence_that_is_not_translated_stays_english():
    claim = dataclasses.replace(ROWS[0].claim, sentence="Another.", part_of="")
    rows = [Row(claim, "page", Finding(NOT_RUN), Finding(FAILS))]
    assert front.panel(rows) == front.panel(rows, "zh") == failures.panel(rows)


def test_no_chinese_word_is_held_to_a_formula():
    found = page(
        "<p>先有（<span class='math'>x</span>），然后是 <span class='math'>y</span> 和 <span class='math'>z</span>, not.</p>"
    )
    prose.hold_together(found)
    assert [formula.text for formula in found.tree.iter("span")] == ["（x），", "y", "z,"]


def test_a_caption_has_the_number_of_its_build_and_its_elements_in_chinese():
    text = captions()["dherin-finetuning-scales"].replace("0.01", "77.5")
    assert "学习率 77.5、损失 (<i>p</i> − <i>y</i>)² 微调" in chinese.captioned(figcaption(text))


def test_a_caption_calls_its_panels_on_wide_and_narrow_screens_as_in_english():
    for name, text in captions().items():
        told = chinese.captioned(figcaption(text))
        for kind in ("icl-broad", "icl-slim"):
            english, translated = (
                {each.text for each in by_class(one, kind)}
                for one in (figcaption(text), html.fragment_fromstring(told, create_parent=True))
            )
            english = {f"{chinese.panel_name(each)}图" for each in english}
            assert english <= translated and bool(english) == bool(translated), name


def test_a_caption_names_a_side_only_where_its_panel_is_told():
    """On a phone *Left:* is *Top:*, and what else speaks of a side is wrong."""
    assert not {name for name, text in captions().items() if re.search(r"\bon the (?:left|right)\b", text)}


def test_a_caption_that_is_not_translated_or_of_other_settings_has_no_fold():
    text = captions()["zhang-risk"]
    for picture, told, folds in ((PICTURE, text, 1), (PICTURE, f"{text} More.", 0), (CHANGED_PICTURE, f"Drawn: {text}", 0)):
        found = Page("notebooks/one.html", figcaption(told, picture).getroottree().getroot())
        chinese.add(found)
        assert len(found.tree.xpath("//figcaption/details")) == folds


@pytest.mark.parametrize("opened", [True, False])
def test_a_figure_of_another_page_has_its_chinese_for_narrow_screens(opened):
    caption = figures.told_narrow(f"<figcaption>{captions()['dherin-placebo']}</figcaption>")
    (fold,) = piece(front.beside_text(f"<figure>{caption}</figure>", opened)).xpath("./figcaption/details")
    assert "上图：恒等式" in fold.text_content() and "左图" not in fold.text_content()
    assert (fold.get("open") is not None) == opened
