"""Theory of regression that no one paper owns."""
