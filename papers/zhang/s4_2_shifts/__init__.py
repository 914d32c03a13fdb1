"""Section 4.2 Behaviour under distribution shifts: notebooks/zhang_4_2_shifts.ipynb."""
