"""Indexes the turns of OpenCode's sessions, and reads their texts when they are shown."""
