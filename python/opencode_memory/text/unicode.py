"""Replacement of lone surrogates, which JSON may contain and UTF-8 cannot encode."""

from __future__ import annotations


def replace_surrogates(text: str) -> str:
    r"""Replace each surrogate with a question mark, so that the text can be encoded.

    >>> replace_surrogates("caf\u00e9 \ud83d")
    'café ?'
    """
    return text.encode("utf-8", errors="replace").decode("utf-8")


def join_surrogates(text: str) -> str:
    r"""Combine surrogate pairs into characters, and replace each lone surrogate with U+FFFD.

    JavaScript counts in UTF-16, so a text that it sends may be cut between the halves of a pair.

    >>> join_surrogates("\ud83d\ude00 \ud83d")
    '😀 \ufffd'
    """
    return text.encode("utf-16", errors="surrogatepass").decode("utf-16", errors="replace")
