"""The speed of the training loop: sizes, the plain loop it is compared with, and the roofline."""
