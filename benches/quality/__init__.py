"""Quality benchmark: measures through the public API whether the right memories are found, on public question sets."""
