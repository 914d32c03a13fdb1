"""Theory of the training engine: numbers that no device changes.

``operations``  of a training step, and the speed that a device allows
"""
