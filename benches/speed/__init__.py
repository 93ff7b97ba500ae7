"""Speed benchmark: compares opencode-memory with other engines in the same run, on the same data."""
