"""Coding agents that the memory is installed into, one package for each."""
