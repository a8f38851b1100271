"""How data moves: schedules of collectives, their replay and their meaning."""
