"""Automatic learning: turns the messages of any feed into memories, by rules and documented admission thresholds."""
