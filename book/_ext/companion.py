"""What the theme gets wrong while it renders; `book/builder/mend.py` mends what it has rendered."""

from sphinx.application import Sphinx


def drop_edit_button(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """A page that the build wrote has no source in the repository."""
    if "generated" in (context.get("meta") or {}):
        groups = [button for button in context.get("header_buttons", ()) if button["type"] == "group"]
        for group in groups:
            group["buttons"] = [b for b in group["buttons"] if b["label"] != "source-edit-button"]


def name_language(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """A page in another language says so at its top, ``lang: zh-Hans``, and in its HTML."""
    context["language"] = (context.get("meta") or {}).get("lang", app.config.language)


def leave_search(app: Sphinx, env) -> None:
    """Spare Sphinx the index of all words: `book/builder/search.py` makes the book's own."""
    for page in env.found_docs:
        env.metadata[page]["nosearch"] = ""


def write_in_parallel(app: Sphinx, env) -> None:
    """Two processes write the pages beside one that hands them on; one has read them, for not all extensions can join."""
    app.parallel = 3


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", drop_edit_button, priority=900)
    app.connect("html-page-context", name_language)
    app.connect("env-updated", leave_search)
    app.connect("env-updated", write_in_parallel)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
