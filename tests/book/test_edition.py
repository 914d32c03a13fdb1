"""Pages and print of an edition say nothing of when and where they were made."""

import json

import nbformat
from small_bundle import RECORD

from book.builder.cache import Executed, made_in
from book.builder.cache import Record as Execution
from book.release import edition, printed


def test_a_pdf_is_dated_by_its_commit_its_nodes_are_counted_from_1_and_no_byte_moves(tmp_path):
    path = tmp_path / "book.pdf"
    made = [
        b"%%PDF-1.4\n<</CreationDate (D:%s+02'00')\n/ModDate (D:%s+02'00')>>/ID [<%s> <%s>]" % (day, day, each, each)
        + b"/ID (node%08d) /ID (node%08d) /Headers [(node%08d)]" % (node, node + 2, node)
        for day, each, node in ((b"20260101000000", b"AB" * 16, 1140), (b"20270202030405", b"01" * 16, 99))
    ]
    after = []
    for content in made:
        path.write_bytes(content)
        printed.settle(path, RECORD.edition)
        after.append(path.read_bytes())
    assert after[0] == after[1] and len(after[0]) == len(made[0])
    assert b"/CreationDate (D:20231114221320+00'00')" in after[0]
    assert after[0].endswith(b"/ID (node00000001) /ID (node00000002) /Headers [(node00000001)]")


def test_printed_text_is_in_one_piece_however_the_kernel_parted_it(tmp_path):
    def executed(folder, *texts):
        streams = [nbformat.v4.new_output("stream", name=name, text=text) for name, text in texts]
        cell = nbformat.v4.new_code_cell(
            "show", outputs=streams, metadata={"execution": {"iopub.status.busy": "now"}}, id="one"
        )
        folder.mkdir()
        nbformat.write(
            nbformat.v4.new_notebook(cells=[cell], metadata={"papermill": {"start_time": "now"}}), folder / "a.ipynb"
        )
        record = Execution({}, {}, {}, {}, "full", 1, 12.3, "now")
        return edition.without_times(Executed("a", folder, record, reused=False))

    one = executed(tmp_path / "one", ("stdout", "a\nb\n"), ("stderr", "c"), ("stdout", "d"))
    two = executed(tmp_path / "two", ("stdout", "a\n"), ("stdout", "b\n"), ("stderr", "c"), ("stdout", "d"))
    assert one.notebook.read_bytes() == two.notebook.read_bytes() and b"now" not in one.notebook.read_bytes()
    assert (one.record.seconds, one.record.executed) == (0.0, "")
    kept = json.loads((one.folder / "record.json").read_text(encoding="utf-8"))
    assert kept["made"] == made_in(one.folder, "a") and kept["seconds"] == 12.3  # the next bundle finds it
