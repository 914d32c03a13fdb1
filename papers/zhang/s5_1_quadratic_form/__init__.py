"""Section 5.1 Equivalence to a quadratic optimization problem: notebooks/zhang_5_1_quadratic_form.ipynb."""
