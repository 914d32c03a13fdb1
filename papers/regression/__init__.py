"""What the wings of Zhang et al. and of Garg et al. both use: prompts of in-context regression, decoders trained on them."""
