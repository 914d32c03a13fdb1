"""What the theory shows, and what it does not: notebooks/dherin_what_it_shows.ipynb."""
