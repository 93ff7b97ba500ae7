"""Selects the memories that are relevant enough to be shown without a request.

Two pure functions: ``query_of`` extracts a query from a message, ``select_hits`` selects the hits to show. Recall
judges an answer as a whole and returns near misses, because its caller asked. Here each hit is judged by itself, and
about half of all messages get no memory. The module knows no store and no budget. ``scripts/fit_injection.py`` fits the
weights; docs/quality.md has the measured precision and recall.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from opencode_memory._core import subject, terms
from opencode_memory.models import Category, Hit, Memory
from opencode_memory.text.pasted import (
    CODE_END,
    CODE_START,
    DIFF_HEADER,
    INDENTED,
    LOG_LEVEL,
    LOG_TIME,
    MEMORY_TAG,
    STACK_FRAME,
    SYSTEM_TAG,
    TABLE_ROW,
    TRACE_START,
    compile_forms,
    strip_command,
    strip_private,
)

POOL: Final = 40
"""The limit of the recall whose hits are judged: how a hit stands out is seen from the others."""
MOST_CHARACTERS: Final = 900
"""Of a message; more than the model reads anyway."""


FEATURES: Final = ("meaning", "usual meaning", "words", "is a summary", "is global")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The parameters of the selection.

    Attributes:
        bias: Added to the weighted sum of the features.
        weights: One weight for each of ``FEATURES``.
        first: Minimum probability of the best hit; below it, no hit is shown.
        second: Minimum probability of the second hit.
        further: Minimum probability of further hits, which are rarely relevant.
        headlines: Minimum probability of the hits to name by a headline.
        most: Maximum number of hits.
    """

    bias: float
    weights: tuple[float, ...]
    first: float
    second: float
    further: float
    headlines: float
    most: int

    def chance(self, features: Sequence[float]) -> float:
        """Return the probability that a hit with these features is relevant."""
        total = self.bias + sum(weight * feature for weight, feature in zip(self.weights, features, strict=True))
        return 1 / (1 + math.exp(-total))


TUNED: Final = Tuning(
    bias=-4.18, weights=(12.5, -21.99, 1.9, -1.47, -1.15), first=0.45, second=0.2, further=0.33, headlines=0.05, most=3
)

_FURTHER: Final = 2
"""Place of the first of the further hits, from 0."""
_USUAL_COSINE: Final = 0.2
_COVERED_COSINE: Final = 0.15
"""Added to the usual cosine for a memory without a vector that holds all terms of the query."""
_USUAL_COUNTS: Final = 8
"""What is usual for a message is learned from its hits; where there are few, it is mixed with so many of these."""
_MOST_USUAL: Final = 0.35
"""Where more than this is usual, most of a store is about the message, and that speaks against none of it."""
_COMMON_COUNTS: Final = 0.3
_JUDGED_CHARACTERS: Final = 4000
_ECHO_SHARE: Final = 0.3
"""A turn of whose terms at most this share is new only repeats the query."""
_OBSERVED: Final = re.compile(r"^(?:Files|Commands): .*$", re.MULTILINE)
_READ_CHARACTERS: Final = 20_000
"""Of either end of a message: what lies between them is a log."""
_PASTED_CHARACTERS: Final = 360
_PASTED_LINES: Final = 3
_LINE_CHARACTERS: Final = 180

# Words of requests, not of subjects. In a store of a few hundred memories they are as rare as other words.
_COMMON: Final = frozenset(
    terms(
        "add make write fix change new need want like show get give put start begin go look check know think see say"
        " said try let help please thank thanks ok okay yes no again now today tomorrow yesterday week thing something"
        " anything everything way time lot bit little small big good great right wrong sure maybe really also still"
        " only first last next one two three second third another same different sentence year month day morning"
        " continue stop use work run happen find set up down out over back keep take come tell ask idea question"
        " answer problem issue file line code part place rest else own whole without each every all many much more"
        " most few less least far long short old early late once twice always never ever yet already soon hour minute"
        " people person somebody someone man"
    )[0]
)

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
# Messages of only these words continue the current work, in a few languages.
_CONTINUATIONS: Final = frozenset(
    _WORD.findall(
        "yes yeah yep yup y ok okay k sure fine right correct exactly good great nice perfect cool excellent awesome"
        " lgtm thanks thank thx ty cheers please pls go on ahead continue proceed carry keep going next do it that this"
        " both all sounds looks like works done no nope not now then and so the a i you we is was too to me for of with"
        " let's lets hi hello hey morning evening there bye again more one first second third option skip step retry"
        " resume start ja jo genau gut super danke bitte weiter mach machen passt nein klar gerne los das oui merci"
        " bien vas si sí gracias vale bueno sigue adelante por favor continúa continua seguir d'accord s'il te vous"
        " plaît continuez continuer vas-y weitermachen leg los avanti sì grazie bene va prego sim não obrigado obrigada"
        " bom pode continuar segue siga doorgaan verder graag dank je да нет продолжай продолжить хорошо спасибо давай"
        " пожалуйста"
        " 继续 繼續 请继续 請繼續 继续吧 继续做 好 好的 可以 可以的 行 是 是的 对 對 不 没问题 沒問題 谢谢 謝謝"
        " 开始 開始 下一步 続けて 続けてください 続けて下さい はい いいえ お願いします ありがとう 了解 次 次へ"
        " 계속 계속해 계속해줘 네 응 그래 좋아 고마워"
    )
)

# Also attachments, which learning strips by a pattern of their own.
_ADDED: Final = re.compile(
    rf"<\s*((?:[a-z]+[-_ ])*(?:{MEMORY_TAG}|{SYSTEM_TAG})(?:[-_]\w+)*"
    r"|file|attachment|document|content|skill_content)\b[^>]{0,500}>.*?(?:<\s*/\s*\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_QUOTED: Final = re.compile(r"\s{0,3}>")
_PASTED: Final = compile_forms(
    INDENTED,
    TABLE_ROW,
    DIFF_HEADER,
    r"[+-]\s{2,}\S",  # a changed line of a diff
    STACK_FRAME,
    TRACE_START,
    r"\s*(?:\^+\s*$|thread\ ')",  # the marker below a line of a trace, and a panic in Rust
    LOG_TIME,
    r"\s*\[?\d{1,2}:\d\d:\d\d\b | [A-Z][a-z]{2}\ +\d{1,2}\ \d\d:\d\d:\d\d",
    rf"\s*\[?{LOG_LEVEL}",
    r"\s*[$%\u276f]\s\S | \s*[\w.-]+@[\w.-]+:\S*[$\#]\s",  # a terminal
    CODE_START,
    CODE_END,
    r"\s*<[/\w!?].*>\s*$",  # markup
)
_INFORMATIVE: Final = re.compile(
    r"error|exception|fail|fatal|panic|denied|refused|rejected|cannot|can't|could not|couldn't|unable|not found|no such"
    r"|missing|invalid|unsupported|mismatch|violat|expected|timed? ?out|killed|warn",
    re.IGNORECASE,
)
# Parts that differ from run to run, and decoration.
_VOLATILE: Final = re.compile(
    r"\x1b\[[0-9;]*m|\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
    r"|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?|\b0x[0-9a-f]+|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"
    r"|[\u2500-\u259f]+|[=\-_*#@~^]{4,}|(?<=\w):\d+(?::\d+)?(?=[:)\s]|$)"
)


@dataclass(frozen=True, slots=True)
class ScoredHit:
    """A hit with its features.

    Attributes:
        hit: The hit.
        meaning: Its cosine; None if it has no vector yet.
        matched: Number of query terms in it.
        asked: Number of query terms.
        features: In the order of ``FEATURES``.
    """

    hit: Hit
    meaning: float | None
    matched: int
    asked: int
    features: tuple[float, ...]

    @property
    def reason(self) -> str:
        """Return the reasons in a few words."""
        words = f"words {self.matched} of {self.asked}"
        return words if self.meaning is None else f"meaning {self.meaning:.2f}, {words}"


def query_of(text: str) -> str:
    """Return the query of a message, at most ``MOST_CHARACTERS``; empty if there is no query.

    Text that a memory or a tool added to the message, and quotations, are removed. Of pasted logs and code only
    informative lines stay; of a long text only its beginning and its end.
    """
    said, pasted = _split_message(text)
    told = "\n".join(_select_informative(pasted))
    own = " ".join(said.split())
    if not told and all(word.casefold() in _CONTINUATIONS or word.isdecimal() for word in _WORD.findall(own)):
        return ""
    return f"{_cut_middle(own, MOST_CHARACTERS - len(told) - 1)}\n{told}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The hits to show beside a message.

    Attributes:
        relevant: Those to show in full, best first, each with a reason.
        further: Those that are probably not relevant, best first; only if ``relevant`` is not empty.
    """

    relevant: tuple[tuple[Hit, str], ...] = ()
    further: tuple[Hit, ...] = ()


def select_hits(query: str, hits: Sequence[Hit], *, by: Tuning = TUNED) -> Selection:
    """Select the hits that are worth showing without a request.

    Turns and summaries of conversations are never among the further hits, because their first words say little.

    Args:
        query: From ``query_of``.
        hits: The result of ``recall(query, limit=POOL, explain=True)``; a smaller limit hides how far a hit stands out.
        by: The parameters of the selection.
    """
    all_scored = [scored for scored in compute_features(query, hits) if not _is_echo_of(query, scored.hit.memory)]
    ranked = sorted(((by.chance(scored.features), scored) for scored in all_scored), key=lambda pair: -pair[0])
    if not ranked or ranked[0][0] < by.first:
        return Selection()
    likely = [(chance, scored) for chance, scored in ranked if chance >= by.second]
    # A summary tells of many things. It never stands above a statement, and one of them is enough.
    summaries = [(chance, scored) for chance, scored in likely if is_summary(scored.hit.memory)]
    others = [(chance, scored) for chance, scored in likely if not is_summary(scored.hit.memory)]
    relevant = [
        scored
        for place, (chance, scored) in enumerate([*others, *summaries[:1]][: by.most])
        if place < _FURTHER or chance >= by.further
    ]
    chosen = {scored.hit.memory.id for scored in relevant}
    further = (
        scored.hit
        for chance, scored in ranked
        if chance >= by.headlines
        and scored.hit.memory.id not in chosen
        and scored.hit.memory.category is not Category.CONVERSATION
    )
    return Selection(relevant=tuple((scored.hit, scored.reason) for scored in relevant), further=tuple(further))


def is_summary(memory: Memory) -> bool:
    """Return whether a memory is the summary of a session; a turn of a conversation has a position in it."""
    return memory.category is Category.CONVERSATION and memory.position is None


def is_echo(query: str, text: str) -> bool:
    """Return whether a text hardly says more than the query."""
    told = set(terms(text[:_JUDGED_CHARACTERS])[0])
    return len(told - set(terms(query)[0])) <= _ECHO_SHARE * len(told)


def typed_of(text: str) -> str:
    """Return what the user typed of a message: without pasted lines, quotations, and text of a memory or a tool."""
    return _split_message(text)[0].strip()


def _is_echo_of(query: str, memory: Memory) -> bool:
    # Files and commands of a summary say where something was done, not what the answer is.
    return memory.category is Category.CONVERSATION and is_echo(query, _OBSERVED.sub("", memory.content))


def compute_features(query: str, hits: Sequence[Hit]) -> list[ScoredHit]:
    """Compute the features of each hit, in the order of the hits."""
    asked = set(terms(subject(query[: 2 * MOST_CHARACTERS]))[0])
    found = [asked.intersection(terms(hit.memory.content[:_JUDGED_CHARACTERS])[0]) for hit in hits]
    cosines = [_cosine(hit) for hit in hits]
    known = [cosine for cosine in cosines if cosine is not None]
    usual = _USUAL_COSINE * _USUAL_COUNTS + (median(known) * len(known) if known else 0.0)
    usual = min(usual / (_USUAL_COUNTS + len(known)), _MOST_USUAL)
    weight = {term: _rarity(sum(term in words for words in found), len(hits)) for term in asked}
    return [
        ScoredHit(
            hit=hit,
            meaning=cosine,
            matched=len(matched),
            asked=len(asked),
            features=(
                _estimate(usual, len(matched), len(asked)) if cosine is None else cosine,
                usual,
                math.log1p(sum(weight[term] * (_COMMON_COUNTS if term in _COMMON else 1) for term in matched)),
                float(hit.memory.category is Category.CONVERSATION),
                float(hit.memory.project is None),
            ),
        )
        for hit, cosine, matched in zip(hits, cosines, found, strict=True)
    ]


def _cosine(hit: Hit) -> float | None:
    signals = () if hit.explanation is None else hit.explanation.signals
    return next((signal.raw for signal in signals if signal.name == "meaning"), None)


def _estimate(usual: float, matched: int, asked: int) -> float:
    """Estimate the cosine of a memory without a vector from the share of the query that it covers."""
    return usual + _COVERED_COSINE * (matched / max(1, asked)) ** 2


def _rarity(count: int, hits: int) -> float:
    # Count terms among the hits, not in the store: a term of all hits does not tell them apart. A short list is no
    # reason to consider a term common.
    return math.log1p((max(hits, POOL) - count + 0.5) / (count + 0.5))


def _split_message(text: str) -> tuple[str, list[str]]:
    """Return the user's own text of a message, and its pasted lines."""
    text = strip_command(strip_private(text))
    if len(text) > 2 * _READ_CHARACTERS:
        text = f"{text[:_READ_CHARACTERS]}\n{text[-_READ_CHARACTERS:]}"
    return _split_pasted(_ADDED.sub("\n", text))


def _split_pasted(text: str) -> tuple[str, list[str]]:
    """Separate the user's own lines from pasted ones; quoted lines are neither."""
    said: list[str] = []
    pasted: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
            else:
                pasted.append(line)
        elif mark:
            fence = mark[1]
        elif _PASTED.match(line):
            pasted.append(line)
        elif not _QUOTED.match(line):
            said.append(line)
    return "\n".join(said), pasted


def _select_informative(pasted: Iterable[str]) -> list[str]:
    cleaned = (" ".join(_VOLATILE.sub(" ", line[: 10 * _LINE_CHARACTERS]).split()) for line in pasted)
    lines = list(dict.fromkeys(line[:_LINE_CHARACTERS] for line in cleaned if line))
    if sum(map(len, lines)) <= _PASTED_CHARACTERS:
        return lines
    telling = [line for line in lines if _INFORMATIVE.search(line)] or lines[: _PASTED_LINES - 1]
    # In some logs the first error is the cause, in stack traces the last line.
    return telling if len(telling) <= _PASTED_LINES else [telling[0], *telling[1 - _PASTED_LINES :]]


def _cut_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head, tail = text[: most * 2 // 3 - 2], text[-(most // 3) :]
    return f"{head.rpartition(' ')[0] or head} … {tail.partition(' ')[2] or tail}"
