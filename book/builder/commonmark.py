"""Cells in MyST as Markdown that any viewer of notebooks shows."""

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

from sphinx.directives.code import LiteralIncludeReader

from book.builder.resolved import Resolved

FENCE = re.compile(r"(?P<marks>`{3,}|:{3,})(?:\{(?P<name>[\w:-]+)\})?\s*(?P<title>[^`]*)")
OPTION = re.compile(r":([\w-]+):\s*(.*)")
ROLE = re.compile(r"\{([\w:]+)\}`(?:([^`<]*?)\s*<([^`>]+)>|([^`]+))`")
PAGE = re.compile(r"\]\(\.\./(book/[\w.]+)\.md\)")
DISPLAY = re.compile(r"\$\$(?P<tex>.+?)(?P<end>\s*)\$\$(?: \((?P<label>eq-[\w-]+)\))?", re.DOTALL)
LABEL = re.compile(r"\((eq-[\w-]+)\)")
FORMULA = re.compile(r"(\$\$?)(?:(?!\$|\n\s*\n).)+\1", re.DOTALL)
ADMONITIONS = ("admonition", "note", "tip", "warning", "important", "margin")


def plain(text: str, page: Resolved) -> str:
    """A text in MyST, which stands on a page, in plain Markdown."""
    parts: list[str] = []
    words: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if fence := FENCE.fullmatch(line):
            body = _body(lines, fence, page)
            parts += [prose("\n".join(words), page), block(fence, body, page)]
            words = []
        else:
            words.append(line)
    parts.append(prose("\n".join(words), page))
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def _body(lines: Iterator[str], fence: re.Match, page: Resolved) -> list[str]:
    """The lines up to the end of a fence; raises ValueError where it has none."""
    body = []
    for line in lines:
        if line.rstrip() == fence["marks"]:
            return body
        body.append(line)
    raise ValueError(f"{page.name}: {fence[0]} has no end: write {fence['marks']} on a line of its own")


def block(fence: re.Match, body: list[str], page: Resolved) -> str:
    """What a fence holds: code as it is, a directive as a quotation, a fold or the code that it includes."""
    name, title = fence["name"], prose(fence["title"].strip(), page)
    if name is None:
        return "\n".join([fence[0], *body, fence["marks"]])
    options: dict[str, str] = {}
    while body and (option := OPTION.fullmatch(body[0])):
        options[option[1]] = option[2]
        body = body[1:]
    if name == "literalinclude":
        return included(fence["title"].strip(), options, page)
    if name == "explorer":
        told = import_module(f"book.explorers.{title.replace('-', '_')}").EXPLORER.title
        return quoted(f"**{told}**: to be tried out [on the page]({page.on_site(f'explore-{title}')}).")
    content = plain("\n".join(body), page)
    if name == "dropdown":
        return f"<details>\n<summary>{title}</summary>\n\n{content}\n\n</details>"
    if name == "prf:proof":
        return quoted(f"**Proof.**\n\n{content}")
    if name.startswith("prf:"):
        number = page.place(options["label"]).words
        return quoted(f"**{number} ({title}).**\n\n{content}" if title else f"**{number}.**\n\n{content}")
    if name in ADMONITIONS:
        return quoted(f"**{title or name.capitalize()}**\n\n{content}")
    raise ValueError(f"{page.name}: a reading copy cannot show the directive {name}")


def quoted(text: str) -> str:
    """A block quote; each formula stands on one line, or viewers take the quotation's marks for a part of it."""
    lines = FORMULA.sub(lambda formula: " ".join(formula[0].split()), text).split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)


def included(file: str, options: dict[str, str], page: Resolved) -> str:
    """The code that a page includes, after the name of its file, with numbers in the place of labels."""
    path = page.root / "notebooks" / file
    reader = LiteralIncludeReader(str(path), options, SimpleNamespace(source_encoding="utf-8-sig"))
    code = LABEL.sub(lambda label: page.place(label[1]).words, reader.read()[0])
    return f"`{Path(file).as_posix().removeprefix('../')}`\n\n```python\n{code.strip(chr(10))}\n```"


def prose(text: str, page: Resolved) -> str:
    """Words and formulas, with numbers and links in the place of labels."""
    text = DISPLAY.sub(lambda formula: display(formula, page), text)
    text = PAGE.sub(lambda link: f"]({page.address(f'{link[1]}.html')})", text)
    return ROLE.sub(lambda role: replaced(role, page), text)


def replaced(role: re.Match, page: Resolved) -> str:
    """What a role stands for."""
    if role[1] not in ROLES:
        raise ValueError(f"{page.name}: a reading copy cannot show the role {role[1]}")
    return ROLES[role[1]](page, role[3] or role[4], role[2] or "")


def display(formula: re.Match, page: Resolved) -> str:
    """A displayed formula with its number as a tag."""
    tag = rf" \tag{{{page.place(formula['label']).words.strip('()')}}}" if formula["label"] else ""
    return f"$${formula['tex']}{tag}{formula['end']}$$"


def _cited(form: str) -> Callable[[Resolved, str, str], str]:
    return lambda page, keys, _: form.format("; ".join(page.cited(key.strip()) for key in keys.split(",")))


ROLES = {
    "eq": Resolved.link,
    "prf:ref": Resolved.link,
    "doc": Resolved.page,
    "cite": _cited("{}"),
    "cite:t": _cited("{}"),
    "cite:p": _cited("({})"),
}
"""What stands in the place of each role, of its target and of the title that it gives it."""
