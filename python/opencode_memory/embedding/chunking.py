"""Splits texts that are longer than the model's window into overlapping chunks.

Pieces are exact substrings that overlap and, up to ``MAX_CHUNKS`` of them, leave no character out. They are only cut
between words as the tokenizer sees words, because the tokens of such a piece are exactly those it had in the whole
text, so that counting once is enough; a word cut in two becomes other tokens, and the piece could outgrow the window.
That a piece can always end between words follows from the tokenizer, which makes at most 100 tokens of a word.
Nothing here knows a tokenizer or a model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

OVERLAP: Final = 32
"""Tokens that a piece may share with the one before it, so that a sentence at the cut is whole in one of them."""

MAX_CHUNKS: Final = 128
"""Pieces of one text: all of 100,000 characters of English prose, and a bound of seconds on anything denser."""

_SEARCHED: Final = 0.25
"""Share of the window, from its end, in which a better place for the cut is looked for."""

_SENTENCE_ENDS: Final = frozenset(".!?…")
_FULL_WIDTH_ENDS: Final = frozenset("。！？")  # noqa: RUF001 - these end a sentence without a space


class Word(NamedTuple):
    """A word as the tokenizer sees it: its characters ``[start, end)`` in the text, and how many tokens it makes."""

    start: int
    end: int
    tokens: int


def surely_fits(text: str, limit: int) -> bool:
    """Say whether a text has at most ``limit`` tokens, when that can be told without a tokenizer.

    A token covers at least one character of the normalised text, and no character is normalised to more characters than
    it has bytes in UTF-8 (a Hangul syllable comes near: three letters, three bytes). So the bytes bound the tokens.

    Returns:
        True if it fits; False if the tokens have to be counted.
    """
    return len(text) <= limit and (text.isascii() or len(text.encode("utf-8", "surrogatepass")) <= limit)


def cut(text: str, words: Sequence[Word], *, window: int, max_chunks: int = MAX_CHUNKS) -> list[str]:
    """Cut a text into overlapping pieces.

    Args:
        text: The text.
        words: Its words in order.
        window: Most tokens in a piece.
        max_chunks: A text that would make more pieces is represented by this many, spread evenly from its first to its
            last; what lies between them is then in no piece.

    Returns:
        Substrings in the order of the text; the text itself when it fits.
    """
    spans = _spans(text, words, window)
    if len(spans) > max_chunks:
        steps = max(1, max_chunks - 1)
        spans = [spans[step * (len(spans) - 1) // steps] for step in range(max_chunks)]
    return [text[start:end] for start, end in spans]


def _spans(text: str, words: Sequence[Word], window: int) -> list[tuple[int, int]]:
    """Cover the text with spans of characters that each hold at most ``window`` tokens."""
    spans = []
    first = 0
    while True:
        start = words[first].start if first else 0
        stop = _fill(words, first, window)
        if stop == len(words):
            spans.append((start, len(text)))
            return spans
        low = _step_back(words, stop, int(window * _SEARCHED), first + 1)
        stop = max(range(low, stop + 1), key=lambda index: (_quality(text, words, index), index))
        # The characters between two words belong to the piece that ends there, so that no character is lost.
        spans.append((start, words[stop].start))
        low = _step_back(words, stop, min(OVERLAP, window // 4), first + 1)
        first = max(range(low, stop), key=lambda index: (_quality(text, words, index), -index), default=stop)


def _fill(words: Sequence[Word], first: int, window: int) -> int:
    """Return the index after the last word that still fits when a piece starts with word ``first``."""
    tokens = 0
    for index in range(first, len(words)):
        tokens += words[index].tokens
        if tokens > window and index > first:
            return index
    return len(words)


def _step_back(words: Sequence[Word], stop: int, tokens: int, least: int) -> int:
    """Return the first of the words before ``stop`` that have at most ``tokens`` tokens together."""
    index = stop
    while index > least and words[index - 1].tokens <= tokens:
        index -= 1
        tokens -= words[index].tokens
    return index


def _quality(text: str, words: Sequence[Word], index: int) -> int:
    """Rate a cut before a word: 4 a blank line, 3 a line, 2 a sentence, 1 a space, 0 within what belongs together."""
    before = words[index - 1].end
    gap = text[before : words[index].start]
    if "\n" in gap:
        return 4 if gap.count("\n") > 1 else 3
    last = text[before - 1 : before]
    if not gap:
        return 2 if last in _FULL_WIDTH_ENDS else 0
    return 2 if last in _SENTENCE_ENDS or last in _FULL_WIDTH_ENDS else 1
