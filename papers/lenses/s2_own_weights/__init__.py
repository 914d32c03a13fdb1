"""The context steps from the MLP's own weights: what a block with an MLP learns of tasks that have a mean."""
