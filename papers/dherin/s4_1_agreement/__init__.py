"""Section 4.1-4.2 Setup and agreement: notebooks/dherin_4_1_agreement.ipynb."""
