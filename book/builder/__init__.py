"""From notebooks to the book. One module per step, in the order in which `build` takes them:

`arguments`   what the reader asked for
`cache`       which notebooks have outputs that still answer for their sources
`workers`     two processes at a time, watched; `progress` tells the reader about them
`execute`     one notebook, executed in its own process; `kernels` forks its kernel
`figures`     pictures and their provenance, taken out of the executed notebooks; `made` tells how they were computed
`verdicts`    every claim judged on the data that is there; `pages` writes what was found
`times`       how long what is stored took
`three_models`  the diagram of the front page
`stage`       the sources of the site, gathered in one folder
`published`   whether the site that is there shows all this already
`render`      Jupyter Book, and the exchange of the old site for the new one
`finish`      one pass over the rendered `site`: `chinese`, `mend` the theme, `neighbours`, `prose`, `previews`, `drawings`,
              `identities`, `policy`, `lighten`, and `published_at` for a site that has an address
`reading`     its last step: a copy of each notebook that any viewer shows, with what the pages have `resolved`; `commonmark`
              writes its cells, `shown` its outputs, `raster` its pictures; `lab` hands them to the reader

`check` compares executed notebooks with the committed ones, `outputs` writes the committed ones in the form
of `committed`, and `quick` their numbers.

Nothing here is imported by `icl_lib` or `papers`.
"""
