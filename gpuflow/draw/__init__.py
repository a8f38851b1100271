"""What it looks like: frames of text runs with roles, for one size and language."""
