"""How the book is cited: its record, its addresses, its editions.

`record`      what is cited: `CITATION.cff`, the one place of the version
`bibtex`      entries for the book, a claim, a figure, and the papers
`pages`       the pages on citing and on editions, filled
`details`     the citation folded below every figure and on every card
`claim_files` one JSON for each claim, for others to read
`addresses`   the addresses that are promised to stay
`editions`    what changed from one ledger to the next

`cff-1.2.0.schema.json` is the schema of the Citation File Format (https://github.com/citation-file-format), by its authors
under CC BY 4.0; only its blanks are changed.
"""
