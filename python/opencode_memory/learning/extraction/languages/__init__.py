"""Lasting statements in languages other than English: one file of cues for each language.

English has its own rules in :mod:`..gate`. The files hold few forms, each of which needs a word of time or generality or
an order to remember, because a statement that is missed can be said again, and a wrong one misleads.
"""
