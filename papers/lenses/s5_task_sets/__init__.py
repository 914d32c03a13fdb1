"""Task sets: what linear attention learns of k training tasks, and what becomes of it on new ones."""
