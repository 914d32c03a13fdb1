"""What stops a build."""


class Problem(Exception):
    """One sentence for the reader: what went wrong and what to do."""
