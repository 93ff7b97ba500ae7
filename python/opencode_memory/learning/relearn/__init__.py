"""Relearning: judges memories that earlier rules learned by the present rules, and archives those that fail.

A judged memory is no rejection of the user: if a session says the same again, it may be learned again.
"""
