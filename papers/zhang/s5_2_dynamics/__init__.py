"""Section 5.2 Dynamical system of gradient flow: notebooks/zhang_5_2_dynamics.ipynb."""
