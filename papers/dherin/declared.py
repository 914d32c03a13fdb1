"""What declarations of this wing share."""

from icl_lib.companion import Declaration


class Heads(Declaration):
    """Base of declarations whose ``heads`` share the channels of ``width`` evenly."""

    def __post_init__(self):
        super().__post_init__()
        if self.width % self.heads:
            raise ValueError(f"{self.heads} heads of {self.width} channels: heads must divide the width")
