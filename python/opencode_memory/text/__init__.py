"""Pure functions on text and time that every package may use."""
