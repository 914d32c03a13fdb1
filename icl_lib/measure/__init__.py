"""What is measured on models: estimates with their standard errors, and slopes."""
