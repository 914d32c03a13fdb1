"""The book's own pages, style and data; `build` makes the book of them."""
