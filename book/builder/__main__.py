"""`python -m book.builder`; `./run book` calls it."""

import sys

from book.builder.book import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
