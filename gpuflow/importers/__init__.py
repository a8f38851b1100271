"""Outside to us: files people already have."""
