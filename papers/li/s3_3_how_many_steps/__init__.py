"""Section 3.3 How many steps: notebooks/li_3_3_how_many_steps.ipynb."""
