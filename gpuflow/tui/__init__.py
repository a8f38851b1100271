"""The live player."""
