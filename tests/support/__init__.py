"""Helpers that several test files share: embedders without a model, stores, and processes. They contain no assertions."""
