"""A release that proves itself: made from a commit, always the same bytes, and checked by whoever holds it.

`bundle`    ./run bundle, in these steps:
`commit`    the clean commit, its date, and its files
`edition`   the pages, made from these files in a folder and a process of their own; `printed` the same on paper
`contents`  what goes into the bundle, under which names
`deposit`   what repositories ask for: Zenodo and CODECHECK; `crate`: RO-Crate
`manifest`  every file with its size and its SHA-256
`archive`   the zip

`verify`    ./run verify, in these steps:
`opened`    what the zip says of itself, before anything is unpacked
`intact`    every file against the manifest
`recorded`  what was found, to compare with; `requirements` the versions that are asked for
`unpacked`  the source in a folder; `rerun` executes it there
`certificate`  what was found

`child` runs the code of a commit or of a bundle, in a process that ends with its caller.
"""
