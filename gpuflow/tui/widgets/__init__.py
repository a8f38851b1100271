"""Widgets of the player."""
