"""Gate for sentences of the user: the few forms of a sentence that state something lasting.

Each module knows one form. :mod:`.judge` asks them in order.
"""
