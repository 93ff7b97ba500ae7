"""Learning by itself: from the messages of any feed to memories, with rules of admission that can be read."""
