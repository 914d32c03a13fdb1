"""Small faults, each planted in a copy of the code, and the check that catches it."""
