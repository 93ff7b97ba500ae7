"""What is worth keeping of a session: events in, candidates out. Pure functions; nothing here opens a store or a file."""
