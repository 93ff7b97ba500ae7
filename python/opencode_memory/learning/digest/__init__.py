"""Digest: a language model reads one session and returns what is worth remembering of it.

Nothing is sent before the user agreed. The request holds what the user typed and the last answer before each message,
without secrets and private sections. The answer is untrusted data: every item needs a quote that stands in the session,
and brings no names, numbers or negations of its own. What survives is stored like any other learned memory.
"""
