"""Projects of folders: what a repository is recognised by, and which project in the store that is."""
