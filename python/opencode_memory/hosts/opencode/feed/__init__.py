"""Sessions of OpenCode as events to learn from: its database and its live event stream."""
