"""Lone surrogates, which UTF-8 cannot encode. They come from JSON, and from names of files that are not UTF-8."""

from __future__ import annotations


def is_encodable(text: str) -> bool:
    r"""Return whether UTF-8 can encode a text. It cannot for the name of a file whose bytes are not UTF-8.

    >>> is_encodable("caf\u00e9"), is_encodable("caf\udce9")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


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
