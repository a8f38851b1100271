"""Screens of the player."""
