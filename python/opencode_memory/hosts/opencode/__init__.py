"""What is installed into OpenCode: the plugin, and what it reads from the manifest beside it."""
