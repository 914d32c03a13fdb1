"""The pages of signatures: one for each package of the library and for the theory of each paper; Sphinx reads docstrings."""

from pathlib import Path

PAGES = ("icl_lib/*/", "papers/*/theory/")
"""Packages that have a page of their own."""


def fill(book: Path, root: Path) -> None:
    """Write the pages below ``book/api``."""
    target = book / "api"
    target.mkdir(exist_ok=True)
    (target / "icl_lib.md").write_text(page("icl_lib", modules(root, sorted(root.glob("icl_lib/*.py")))), encoding="utf-8")
    for package in (folder for pattern in PAGES for folder in sorted(root.glob(pattern)) if (folder / "__init__.py").exists()):
        name = dotted(root, package)
        (target / f"{name}.md").write_text(page(name, modules(root, sorted(package.rglob("*.py")))), encoding="utf-8")


def modules(root: Path, files: list[Path]) -> list[str]:
    """The modules in these files, packages left out."""
    return [dotted(root, path.with_suffix("")) for path in files if path.name != "__init__.py"]


def dotted(root: Path, path: Path) -> str:
    """The name under which Python imports a file or a folder."""
    return ".".join(path.relative_to(root).parts)


def page(package: str, names: list[str]) -> str:
    """A page in MyST: what the package says of itself, then its modules with all that is public in them."""
    sections = (f"\n## {name.removeprefix(f'{package}.')}\n{described(name, '   :members:')}" for name in names)
    return "".join([f"---\ngenerated: true\n---\n# {package}\n{described(package)}", *sections])


def described(module: str, *options: str) -> str:
    """The directive by which Sphinx shows the docstrings of a module."""
    return "\n".join(["", "```{eval-rst}", f".. automodule:: {module}", *options, "```", ""])
