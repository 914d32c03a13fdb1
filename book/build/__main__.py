"""`python -m book.build`; `./run book` calls it."""

import sys

from book.build.book import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
