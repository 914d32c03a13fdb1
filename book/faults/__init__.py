"""Small faults, each planted in a process of its own, and the check that catches it."""
