"""Integration with OpenCode: the plugin, its manifest, the setup, and feeds of sessions to learn from."""
