"""The content-security policy of every page: it shows, runs and loads what the site brings as files, and nothing else."""

from collections.abc import Container
from pathlib import Path

from book.builder.problem import Problem
from book.builder.site import Page

NAME = "Content-Security-Policy"
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",  # a page has no code of its own: `mend` makes files of it
    "style-src": "'self'",  # nor styles; `formulas.js` lets MathJax do without
    "img-src": "'self' data:",  # the theme's style sheets hold small icons
    "font-src": "'self'",
    "connect-src": "'none'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",  # the search
}
CONTENT = "; ".join(f"{directive} {sources}" for directive, sources in POLICY.items())
REFUSED = {
    "styles": "//style | //@style",
    "code": "//script[not(@src)][not(@type='application/json')] | //@*[starts-with(name(), 'on')]",
    "a frame": "//iframe | //object | //embed",
}
"""What a browser would not show, by what it is called."""


def apply(page: Page) -> None:
    """Put a page under the policy; raises Problem for one that would not be shown as it is meant."""
    for what, places in REFUSED.items():
        if page.tree.xpath(places):
            raise Problem(f"{page.path} holds {what}, which its security policy refuses; put it into a file of book/_static.")
    help_mathjax(page)
    policy = page.tree.makeelement("meta", {"http-equiv": NAME, "content": CONTENT})
    page.tree.head.insert(0, policy)  # it holds for what follows


def apply_to_others(site: Path, pages: Container[str]) -> None:
    """Put the HTML files that are no pages, such as the one that only leads to the first, under one that allows nothing."""
    for file in site.rglob("*.html"):
        if file.relative_to(site).as_posix() not in pages:
            policy = f"""<meta http-equiv="{NAME}" content="default-src 'none'">\n"""
            file.write_text(policy + file.read_text(encoding="utf-8"), encoding="utf-8")


def help_mathjax(page: Page) -> None:
    """Let a script of ours run between MathJax's settings and MathJax, which comes before pictures and what else can wait."""
    for script in page.tree.xpath("//script[contains(@src, 'mathjax/mathjax.js')]"):
        script.set("fetchpriority", "high")
        helper = page.tree.makeelement("script", {"defer": "defer", "src": page.address_of("_static/formulas.js")})
        script.addprevious(helper)
