"""What wings of several papers use: prompts of in-context regression, and decoders trained on them."""
