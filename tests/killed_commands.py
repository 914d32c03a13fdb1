"""The commands that `kills.py` kills: each in a small checkout, with what it has to leave there."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(folder) for folder in (HERE.parent, HERE, HERE / "book") if str(folder) not in sys.path]

import torch  # noqa: E402
import toy_book  # noqa: E402
import toy_library  # noqa: E402
import xarray as xr  # noqa: E402
from kills import Command  # noqa: E402

from book.release.edition import TIMED  # noqa: E402
from icl_lib.companion import bounds, content, digests, results, weights  # noqa: E402
from icl_lib.companion.sweep import OF_THE_RUN  # noqa: E402


def files(folder: Path) -> list[Path]:
    """All files below a folder, hidden ones as well."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


# --- renew, train, sweep ------------------------------------------------------------------------------------------


def stored(path: Path) -> str:
    """The digest of what a stored file holds, less what differs between two runs; raises when it is not what was written."""
    if path.name.startswith("."):  # it should not be there at all
        return digests.of_file(path)
    if path.suffix == ".nc":
        return content.of_dataset(results.load(path), OF_THE_RUN)
    if path.suffix == ".safetensors":
        tensors, origin = weights.read(path)
        kept = {name: value for name, value in origin.items() if name not in OF_THE_RUN}
        return content.of_tensors({name: tensor.numpy() for name, tensor in tensors.items()}, kept)
    return digests.of_text(json.dumps(json.loads(path.read_text(encoding="utf-8"))))


def all_stored(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): stored(path) for part in ("book", "_build") for path in files(root / part)}


def unreadable(root: Path) -> list[str]:
    """Complaints about stored files that a reader would find damaged; names that begin with a dot are no reader's."""
    wrong = []
    for path in (path for part in ("book", "_build") for path in files(root / part) if not path.name.startswith(".")):
        try:
            stored(path)
        except (results.StaleResult, *bounds.DAMAGED) as error:
            wrong.append(f"{path.relative_to(root)} cannot be read: {error}")
    return wrong


def of_library(root: Path) -> dict[str, str]:
    outside = {"GIT_CEILING_DIRECTORIES": str(root.parent)}  # a checkout around it is another
    return toy_book.environment(root) | dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1") | outside


def outdated(root: Path) -> None:
    """A small library whose stored network and results are of other declarations."""
    toy_library.write(root)
    data = root / "book" / "data"
    weights.save_weights({"old": torch.ones(3)}, {"slug": "toy-network"}, data / "weights" / "toy-network.safetensors")
    results.save(xr.Dataset({"x": ("n", [1.0, 2.0])}, attrs={"slug": "toy-plain"}), data / "toy-plain.full.nc")


def of_papers(name: str, prepare, *words: str) -> Command:
    return Command(name, (name, *words), prepare, of_library, all_stored, unreadable, forked=True)


# --- book ---------------------------------------------------------------------------------------------------------

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)")
TOLD = (
    (TIME, "TIME"),
    (re.compile(r"(?<=took )[\d.]+(?= s of computing)|(?<=pages of this build )[\d.e+]+ (seconds|minutes|hours)"), "0"),
    (re.compile(r"\| [\d.]+ \| quick \| (this|earlier) build \|"), "| 0 | quick | BUILD |"),
    (re.compile(r"<p>(\d+\.\d|(this|earlier) build)</p>"), "<p>0</p>"),
)
"""What a page says of when it was made, how long that took, and in which build."""


def without_times(path: Path) -> bytes:
    """A file of the site, less what tells when and how fast it was made."""
    if path.name == ".made-from":  # a digest of the executed notebooks with their times
        return b""
    if path.suffix == ".ipynb":
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for part in (notebook, *notebook["cells"]):
            part["metadata"] = {name: value for name, value in part["metadata"].items() if name not in TIMED}
        return json.dumps(notebook).encode()
    if path.suffix not in (".html", ".md") and path.name != "sections.js":
        return path.read_bytes()
    text = path.read_text(encoding="utf-8")
    for pattern, plain in TOLD:
        text = pattern.sub(plain, text)
    return text.encode()


def site(root: Path) -> dict[str, str]:
    """The site, and the names of all else that was built."""
    html = root / "_build" / "html"
    own = {path.relative_to(html).as_posix(): digests.of_bytes(without_times(path)) for path in files(html)}
    return own | {str(path.relative_to(root)): "" for path in files(root / "_build") if html not in path.parents}


def built_book(root: Path) -> None:
    """A small book that was built and has changed since then."""
    root.mkdir()
    toy_book.write(root)
    first = toy_book.build(root)
    assert first.status == 0, first.said
    change(root)


def change(root: Path) -> None:
    """Change a page, a notebook, and a module that another notebook needs."""
    before = root / "before.json"  # what a reader has until the new site is there
    before.write_text(json.dumps(site(root)))
    toy_book.write_notebook(root / "notebooks" / f"{toy_book.OTHER}.ipynb", "'another'")
    (root / "icl_lib" / "beta.py").write_text("VALUE = 1\n")
    page = root / "book" / "cite.md"
    page.write_text(page.read_text(encoding="utf-8") + "\nAnother line.\n", encoding="utf-8")


def neither_old_nor_new(root: Path) -> list[str]:
    """Complaints about a site of which a part is new; none when there is no site and the old one lies beside."""
    html, old = root / "_build" / "html", root / "_build" / "html.old"
    if not html.exists():
        return [] if (old / "index.html").exists() else ["there is no site"]
    before = json.loads((root / "before.json").read_text())
    names = [name for name in before if not name.startswith("_build")]
    now = {path.relative_to(html).as_posix(): digests.of_bytes(without_times(path)) for path in files(html)}
    if "Another line." in (html / "book" / "cite.html").read_text(encoding="utf-8"):
        return []  # the new one: it came by one rename
    return [f"{name} of the site has changed" for name in {*names, *now} if now.get(name) != before.get(name)]


# --- bundle -------------------------------------------------------------------------------------------------------

OLD = b"an older bundle"
BUNDLE = Path("_build", "release", "icl-companion-0.1.0.zip")


def committed_book(root: Path) -> None:
    """A small book in git, with an older bundle."""
    from test_bundle import git, write_small_book

    write_small_book(root)
    shutil.copy(HERE / "killed_at.py", root / "sitecustomize.py")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    (root / BUNDLE).parent.mkdir(parents=True)
    (root / BUNDLE).write_bytes(OLD)
    (root.parent / "bin").mkdir()
    (root.parent / "bin" / "git").symlink_to(shutil.which("git"))


def of_bundle(root: Path) -> dict[str, str]:
    """The variables under which no browser is found, since printing takes the most time, and rocrate is."""
    import rocrate

    library = Path(rocrate.__file__).resolve().parents[1]
    own = {"PATH": str(root.parent / "bin"), "PYTHONPATH": os.pathsep.join([str(root), str(library)]), "ICL_CALLER": str(root)}
    return toy_book.environment(root) | own


def released(root: Path) -> dict[str, str]:
    """What lies where bundles are made, and what git finds that is not committed."""
    release = root / BUNDLE.parent
    untracked = subprocess.run(["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, check=True).stdout
    return {str(path.relative_to(root)): digests.of_file(path) for path in files(release)} | {
        f"{line} in git": "" for line in untracked.splitlines()
    }


def torn_bundle(root: Path) -> list[str]:
    """A complaint when neither the older bundle nor a whole new one is there."""
    if not (root / BUNDLE).exists():
        return ["the older bundle is gone"]
    if (root / BUNDLE).read_bytes() == OLD:
        return []
    try:
        with zipfile.ZipFile(root / BUNDLE) as packed:
            return [f"{packed.testzip()} in the bundle is damaged"] if packed.testzip() else []
    except zipfile.BadZipFile as error:
        return [f"the bundle is none: {error}"]


COMMANDS = {
    command.name: command
    for command in (
        Command("book", ("-m", "book.builder"), built_book, toy_book.environment, site, neither_old_nor_new),
        of_papers("renew", outdated, "--all", "--jobs", "1", "toy-plain", "toy-reading"),
        of_papers("train", outdated),
        of_papers("sweep", toy_library.write, "--jobs", "1", "--seeds", "0-1"),
        Command("bundle", ("-m", "book.release.bundle"), committed_book, of_bundle, released, torn_bundle),
    )
}
