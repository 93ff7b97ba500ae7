"""What several test files share: embedders without a model, stores, and processes. Nothing here asserts."""
