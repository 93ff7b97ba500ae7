"""Installation of the plugin into OpenCode, and its removal."""
