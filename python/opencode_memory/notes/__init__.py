"""Turning what already exists on disk into memories."""
