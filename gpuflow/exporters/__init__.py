"""Us to outside: tables and texts."""
