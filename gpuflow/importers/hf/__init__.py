"""The parts of a Hugging Face config.json, each read by its own module."""
