"""Extraction: pure functions from session events to candidates. They open neither a store nor a file."""
