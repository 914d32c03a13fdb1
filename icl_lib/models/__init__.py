"""One class per displayed architecture, and what is done to trained weights."""
