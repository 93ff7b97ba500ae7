"""Integrations with coding agents, one package for each."""
