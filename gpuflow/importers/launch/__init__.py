"""Launch lines of inference engines: words, flags, and what they mean."""
