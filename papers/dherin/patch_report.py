"""What `./run patch` found, as a table for a terminal and as a page that needs no other file and runs nothing."""

import textwrap
from html import escape

COLUMNS = {
    "kept": "tokens of the context, its last ones, that stay in view",
    "patch": "what stands in for the others; a static patch is fitted to some lines and judged on the held-out ones",
    "tokens": "at which the model is judged",
    "logits error": "largest error of the logits, relative to those with the context",
    "top-1": "share of tokens whose first choice is that with the context",
    "KL": "of the predictions from those with the context, mean over tokens, in nats",
    "largest size": "of the change over the changed weights, of all blocks: an exact patch may be of no use if this is large",
}
STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) { body { background: #16181b; color: #e6e6e6; } }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; } dt { font-weight: 600; } dd { margin: 0; }
.wide { overflow-x: auto; position: relative; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:nth-child(2), td:nth-child(2), td.said { text-align: left; } thead th { background: var(--soft); }
details td:nth-child(2), details th:nth-child(2) { text-align: right; }
details { margin: .4rem 0; } summary { cursor: pointer; padding: .3rem 0; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; }
  .all thead { position: absolute; clip-path: inset(50%); }
  .all tr { display: grid; grid-template-columns: 1fr 1fr; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  .all td { border: 0; text-align: left; padding: .1rem 0; } .all td:nth-child(2), .all td.said { grid-column: 1 / 3; }
  .all td:nth-child(2) { grid-row: 1; font-weight: 600; } .all td:empty { display: none; }
  .all td:not(:nth-child(2)):not(.said)::before { content: attr(data-name) ": "; }
}
"""


def page(report: dict) -> str:
    """Return the report as one file of HTML; whatever the folder or its files say stands there as text."""
    head = f"{report['model_type']} in {report['dtype']}, without its context"
    legend = "".join(f"<dt>{escape(name)}</dt><dd>{escape(told)}</dd>" for name, told in COLUMNS.items())
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(told)}</dd>" for name, told in _facts(report).items())
    rows = "".join(map(_row, report["rows"]))
    columns = "".join(f'<th scope="col">{escape(name)}</th>' for name in COLUMNS)
    blocks = "".join(_blocks(row) for row in report["rows"] if row["block_error"])
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(head)}</title><style>{STYLE}</style></head>
<body><h1>{escape(head)}</h1><dl>{facts}</dl>
<h2>What is left of the context</h2>
<div class="wide" tabindex="0"><table class="all"><thead><tr>{columns}</tr></thead><tbody>{rows}</tbody></table></div>
<h2>Block by block</h2>{blocks}
<h2>What the columns say</h2><dl>{legend}</dl></body></html>
"""


def _facts(report: dict) -> dict[str, str]:
    tokens, lines, unused = report["tokens"], report["lines"], report["unused"]
    found = {"model": report["model"], "tokens": ", ".join(f"{name} {count}" for name, count in tokens.items() if count)}
    if lines["fitted"]:
        found["lines of queries"] = f"{lines['fitted']} for the fit, {lines['held_out']} held out"
    if report["rounding"] is not None:
        found[f"rounding of {report['dtype']} by itself"] = f"logits error {number(report['rounding'])}"
    if unused:
        found["stored weights that the class leaves aside"] = f"{len(unused)}, such as {unused[0]}"
    return found | {"made with": ", ".join(" ".join(each) for each in report["versions"].items())}


def _row(row: dict) -> str:
    told = [str(row["kept"]), escape(row["patch"]), str(row["tokens"])]
    if not row["refused"]:
        sizes = row["size"]
        largest = number(None if None in sizes else max(sizes)) if sizes else ""
        told += [number(row["logits_error"]), f"{row['top1_agreement']:.2f}", number(row["kl"]), largest]
    cells = "".join(f'<td data-name="{escape(name)}">{each}</td>' for name, each in zip(COLUMNS, told, strict=False))
    refused = f'<td class="said" colspan="4">none: {escape(row["refused"])}</td>' if row["refused"] else ""
    return f"<tr>{cells}{refused}</tr>"


def _blocks(row: dict) -> str:
    sizes = [number(each) for each in row["size"]] or [""] * len(row["block_error"])
    cells = zip(map(number, row["block_error"]), sizes, strict=True)
    lines = "".join(f"<tr><td>{k}</td><td>{error}</td><td>{size}</td></tr>" for k, (error, size) in enumerate(cells, 1))
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("block", "error behind it", "size of the patch"))
    told = f"{row['patch']}, {row['kept']} tokens kept"
    table_ = f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<details><summary>{escape(told)}</summary><div class="wide" tabindex="0">{table_}</div></details>'


def number(found: float | None) -> str:
    """Return a number with two digits; JSON and HTML have none for what is not finite."""
    return "not finite" if found is None else f"{found:.2g}"


def table(report: dict) -> str:
    """Return the report as text: a line a patch, then its errors and sizes block by block."""
    tokens = report["tokens"]
    lines = [f"{report['model_type']} in {report['dtype']}; context {tokens['context']} tokens, query {tokens['query']}"]
    if report["rounding"] is not None:
        lines.append(f"rounding of {report['dtype']} by itself: logits error {number(report['rounding'])}")
    lines.append(f"{'kept':>5}  {'patch':30}{'tokens':>7}{'logits error':>14}{'top-1':>7}{'KL':>10}")
    for row in report["rows"]:
        head = f"{row['kept']:5}  {row['patch']:30}{row['tokens']:7}"
        if row["refused"]:
            lines.append(f"{head}  none: {row['refused']}")
            continue
        lines.append(f"{head}{number(row['logits_error']):>14}{row['top1_agreement']:7.2f}{number(row['kl']):>10}")
        for name, key in (("error behind each block", "block_error"), ("size in each block", "size")):
            if row[key]:
                numbers = f"{name}: {' '.join(map(number, row[key]))}"
                lines += textwrap.wrap(numbers, 100, initial_indent=" " * 7, subsequent_indent=" " * 9)
    return "\n".join(lines)
