"""The speed benchmark: opencode-memory beside its peers, in the same run, on the same data."""
