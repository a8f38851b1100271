"""When it happens: plan, timeline, state at a moment, metrics, requirement table."""
