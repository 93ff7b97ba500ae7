"""The store: the Python API over the engine, and the state that other packages keep in it."""
