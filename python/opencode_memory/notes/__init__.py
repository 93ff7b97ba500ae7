"""Notes: imports Markdown files and other project files as memories, and keeps them up to date."""
