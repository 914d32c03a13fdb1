"""What a trained network's context leaves behind: one vector for all queries, and what is not one."""
