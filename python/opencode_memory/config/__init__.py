"""Configuration: files, environment and options, merged into one frozen dataclass."""
