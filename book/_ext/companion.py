"""What the theme gets wrong for a book that is read from files."""

import re
from pathlib import Path

from sphinx.application import Sphinx

PRELOAD = re.compile(r'<link rel="preload"[^>]*\bas="font"[^>]*>\s*')


def drop_second_thebe(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Two extensions define the same JavaScript constants; the browser refuses the second definition."""
    scripts = [
        script
        for script in context.get("script_files", ())
        if "THEBE_JS_URL" in (getattr(script, "attributes", {}).get("body") or "")
    ]
    for script in scripts[1:]:
        context["script_files"].remove(script)


def drop_edit_button(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """A page that the build wrote has no source in the repository."""
    if "generated" in (context.get("meta") or {}):
        groups = [button for button in context.get("header_buttons", ()) if button["type"] == "group"]
        for group in groups:
            group["buttons"] = [b for b in group["buttons"] if b["label"] != "source-edit-button"]


def name_language(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """A page in another language says so at its top, ``lang: zh-Hans``, and in its HTML."""
    context["language"] = (context.get("meta") or {}).get("lang", app.config.language)


def drop_font_preloads(app: Sphinx, exception: Exception | None) -> None:
    """Browsers refuse to preload fonts for a page that is a file, and load them anyway when they are needed."""
    if exception is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            page.write_text(PRELOAD.sub("", page.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", drop_second_thebe, priority=900)
    app.connect("html-page-context", drop_edit_button, priority=900)
    app.connect("html-page-context", name_language)
    app.connect("build-finished", drop_font_preloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
