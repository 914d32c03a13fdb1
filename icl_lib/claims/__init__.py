"""Claims: a sentence, a margin fixed before the run, a check and its control. They see datasets, nothing else."""
