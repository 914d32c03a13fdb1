"""What the theory starts from: the observations of Garg et al.: notebooks/garg_prior_observations.ipynb."""
