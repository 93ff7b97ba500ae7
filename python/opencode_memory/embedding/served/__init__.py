"""Embeds with a model behind an OpenAI-compatible server on this machine.

Read ``embedder`` first. ``wire`` renders requests and validates answers, ``client`` sends them and tries again, and
``settings`` validates what the user configured. Importing this package does not load the HTTP client.
"""
