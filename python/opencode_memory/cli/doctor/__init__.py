"""``opencode-memory doctor``: checks of the installation and the store."""
