"""`./run verify BUNDLE`: is it what was published, and does it compute the same?

Nothing of a bundle runs before every file has the digest that its manifest says. Then its code is executed, in a folder of
its own.
"""

import argparse
import math
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import safetensors

from book.builder import book
from book.builder.layout import Layout
from book.builder.problem import Problem
from book.builder.quick import differences, near_differences, of_claim
from book.release import archive, certificate, child, intact, rerun
from book.release.manifest import FILE
from book.release.opened import Opened, opened
from book.release.recorded import FOUND, LEDGER, NOT_RUN, PINS, QUICK, Recorded
from book.release.requirements import require_same
from book.release.unpacked import require_source, unpack
from book.release.wellformed import is_line, read
from icl_lib import typed
from icl_lib.companion import bounds, digests

UNTOUCHED = "No certificate was written."
STORED = "book/data/"


@dataclass(frozen=True)
class Checked:
    """A bundle of which every file is as its manifest says: the manifest, its SHA-256, and what is to be compared with.

    whole        the SHA-256 of the zip, taken before anything of it runs
    as_written   whether the zip is, to the last byte, the one that `./run bundle` writes, and not packed anew
    """

    manifest: dict
    digest: str
    whole: str
    recorded: Recorded
    as_written: bool


def verify(asked: argparse.Namespace, layout: Layout) -> int:
    """Check a bundle, execute it, and write the certificate; 1 when something differs."""
    began = certificate.now()
    with opened(asked.bundle) as bundle:
        checked = check(bundle, asked.sha256)
        require_same(checked.recorded.pins)
        print(f"Every file is as {FILE} says.\nNow code from this bundle runs, with your rights.", flush=True)
        folder = layout.build / "verify" / checked.digest[:12]
        source = Layout(folder / ("full" if asked.full else "quick"))
        going_on = asked.full and (source.build / rerun.BEFORE).exists()
        unpack(intact.checked(bundle, checked.manifest), source.root, (STORED,) if going_on else ())
    differing, executed = compare(checked.recorded, execute(source, asked.full))
    told = {
        **certificate.of_bundle(asked.bundle.name, checked.manifest, checked.digest, checked.whole),
        "origin": certificate.CITED if asked.sha256 else certificate.UNCHECKED,
        "packed": "as ./run bundle packs it" if checked.as_written else "anew, by another program; the files are the same",
        **{"executed": executed, "differences": differing, "agrees": not differing},
        **certificate.of_machine(),
        **{"began": began, "ended": certificate.now(), "command": " ".join(["./run verify", *asked.words])},
    }
    print("\n" + certificate.write(told, folder), flush=True)
    print(f"\nWritten: {(folder / certificate.NAME).relative_to(layout.root)}.json and .txt", flush=True)
    shutil.rmtree(source.root, ignore_errors=True)
    return 1 if differing else 0


def check(bundle: Opened, digest: str | None) -> Checked:
    """Hold every file against the manifest, and look at what data files claim before anything reads them."""
    manifest, found = intact.manifest_of(bundle, digest)
    print(f"Checking {len(bundle.entries)} files.", flush=True)
    kept = {}
    for name, content in intact.checked(bundle, manifest):
        require_source(name)
        require_sizes(name, content)
        if name in (QUICK, LEDGER, PINS):
            kept[name] = content
    whole = digests.of_open(bundle.file)
    return Checked(manifest, found, whole, Recorded.of(kept), whole == written_again(bundle))


def require_sizes(name: str, content: bytes) -> None:
    """Raise a Problem where a NetCDF file or a file of weights claims too much, or more than it has."""
    try:
        if name.endswith(".nc"):
            bounds.require_netcdf(content)
        if name.endswith(".safetensors"):
            safetensors.deserialize(content)
    except bounds.DAMAGED as error:
        told = str(error)[:160] if isinstance(error, bounds.BadFile) else "is not what its name says"
        raise Problem(f"{name} {told}.") from error


def written_again(bundle: Opened) -> str:
    """The SHA-256 of the zip that `archive.write` makes of the same files, of the date that they have."""
    with tempfile.TemporaryFile() as again:
        archive.pack(bundle.entries, bundle.content, bundle.entries[FILE].date_time, again)
        return digests.of_open(again)


def execute(source: Layout, full: bool) -> dict:
    """Run the bundle's own code in its folder; what it found."""
    if child.run(rerun.__name__, ["--full"] if full else [], source, {}):
        raise Problem("The code of the bundle did not come to its end, see above.")
    return read(rerun.NOTE, (source.build / rerun.NOTE).read_bytes(), FOUND)


def compare(recorded: Recorded, found: dict) -> tuple[list[str], list[str]]:
    """What differs from the record, and what was compared with it, in sentences."""
    claims = sum(len(one["claims"]) for one in found["quick"].values())
    executed = [f"The notebooks were executed in the quick profile; {claims} verdicts and numbers compared with quick.json."]
    executed += [f"Of them, in an earlier call that was stopped: {', '.join(found['earlier'])}."] if found["earlier"] else []
    differing = [f"{slug} is in quick.json and was not computed." for slug in recorded.quick if slug not in found["quick"]]
    differing += differences(recorded.quick, found["quick"])
    executed += near_differences(recorded.quick, found["quick"])
    executed.append(
        f"The stored results were judged again; {len(recorded.stored)} verdicts and numbers compared with those of the ledger."
    )
    differing += stored_differences(recorded.stored, found["full"])
    if "renewed" in found:
        executed.append(
            f"{len(found['files'])} networks and results were computed anew, and judged beside those of the bundle."
        )
        differing += differences(found["full"], found["renewed"], "the bundle")
    return differing, executed


def stored_differences(recorded: Mapping[str, dict], found: Mapping[str, dict]) -> list[str]:
    """What the claims say of the stored results, where it is not what the ledger says; numbers may differ by rounding."""
    judged = {claim: one for each in found.values() for claim, one in each["claims"].items()}
    told = {claim: as_judged(one, judged.get(claim)) for claim, one in recorded.items() if one["verdict"] != NOT_RUN}
    ids = [*told, *(claim for claim in judged if claim not in told)]
    return [each for id in ids for each in of_claim(id, told.get(id), judged.get(id), "the ledger")]


def as_judged(told: Mapping, now: Mapping | None) -> dict:
    """What the ledger says of a claim in the form of a judgement; it has no word for numbers that are not finite."""
    unknown = {"value": math.nan, "two_se": 0.0}
    if now and not (math.isfinite(now["value"]) and math.isfinite(now["two_se"])):
        unknown = {name: now[name] for name in unknown}
    words = {"verdict": told["verdict"], "control": told["control_verdict"], "positive": told["positive_verdict"]}
    margin = math.nan if told["margin"] is None else told["margin"]
    return {**words, "margin": margin, "near": False, **told.get("found", unknown)}


def parse(words: list[str]) -> argparse.Namespace:
    """`bundle`, `sha256`, `full` and the `words` as the certificate tells them; exits with 2 on anything else."""
    parser = typed.Parser(prog="./run verify", description="Check a release, execute its code, and compare what it finds.")
    parser.add_argument("bundle", metavar="BUNDLE", type=Path, help="the zip that ./run bundle made")
    parser.add_argument("--sha256", metavar="DIGEST", help="the SHA-256 of MANIFEST.json, as the citation prints it")
    parser.add_argument(
        "--full", action="store_true", help="compute networks and stored results anew, too; goes on when stopped"
    )
    asked = parser.parse_args(words)
    asked.sha256 = asked.sha256 and asked.sha256.strip().lower()
    if asked.sha256 is not None and not intact.DIGEST.fullmatch(asked.sha256):
        parser.error("a SHA-256 has 64 digits from 0 to f")
    asked.words = [asked.bundle.name if Path(word) == asked.bundle else word for word in words]
    if other := [word for word in asked.words if not is_line(word)]:
        parser.error(f"{other[0]!r} cannot stand in a certificate; rename the file")
    asked.bundle = typed.path(asked.bundle)
    return asked


def main(words: list[str]) -> int:
    asked = parse(words)
    return book.answer(lambda layout: verify(asked, layout), UNTOUCHED, "_build/verify")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
