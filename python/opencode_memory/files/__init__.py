"""File operations that do not depend on what a file contains."""
