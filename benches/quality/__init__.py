"""The quality benchmark: whether the right memories are found, by public question sets, through the public API."""
