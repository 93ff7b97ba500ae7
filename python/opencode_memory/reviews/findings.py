"""What reviews found, kept from review to review until it is resolved.

A finding is known by its project, its branch, its file and what it says, never by a line number: lines move, and two
branches have different ones. Each is one value of the key-value store under a key of its own, so reviewers that work at
the same time add to each other; of two that change the same finding the later one wins. Nothing is carried from one
branch to another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from opencode_memory._core import redact
from opencode_memory.errors import InvalidInputError, NotFoundError
from opencode_memory.reviews.similarity import file_and_line, same_words
from opencode_memory.store import arguments
from opencode_memory.text.formatting import counted
from opencode_memory.text.json_values import to_json
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.store.kv import KeyValues
    from opencode_memory.store.memory_store import MemoryStore

PREFIX: Final = "review-finding:"
TEXT_CHARACTERS: Final = 4000
RESOLVED_DAYS: Final = 30
"""How long a resolved finding is known, so that the same one found again is seen to have come back."""

_ID_CHARACTERS: Final = 12
_ID: Final = re.compile(rf"[0-9a-f]{{{_ID_CHARACTERS}}}")
# No "~" and no ":": git allows neither in a branch, so what begins with "~" is a hash and the key has one reading.
_READABLE: Final = re.compile(r"[\w./+@#=,()-]{1,200}")


class Severity(StrEnum):
    """How bad it is, worst first."""

    BUG = "bug"
    WARNING = "warning"
    NOTE = "note"


class FindingStatus(StrEnum):
    """Whether it still is so."""

    OPEN = "open"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a review found.

    Attributes:
        id: Names it on its branch.
        branch: The branch that was reviewed.
        file: Path in the work tree; empty for what concerns no single file.
        severity: How bad it is.
        text: What is wrong.
        status: Whether it still is so.
        first_seen: When it was found.
        last_seen: When it was last found, or resolved.
        reviews: How many reviews found it.
        line: Where it was last seen; known to move.
        review: Which review saw it last.
    """

    id: str
    branch: str
    file: str
    severity: Severity
    text: str
    status: FindingStatus
    first_seen: datetime
    last_seen: datetime
    reviews: int
    line: int | None = None
    review: str | None = None

    @property
    def line_of_text(self) -> str:
        """All that a reader needs; a text of several lines stays so, and nothing is escaped."""
        place = "" if not self.file else f" {self.file}" if self.line is None else f" {self.file}:{self.line}"
        often = "" if self.reviews == 1 else f" (in {counted(self.reviews, 'review')})"
        return f"[{self.id}] {self.severity}{place}{often}: {self.text}"


class Seen(StrEnum):
    """What was known of a finding before."""

    NEW = "new"
    KNOWN = "known"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a finding that was recorded.

    Attributes:
        finding: As it is kept.
        seen: Whether it was new, known, or had been resolved and is back.
        redactions: Kinds of secrets that were replaced in it.
    """

    finding: Finding
    seen: Seen
    redactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of one branch.

    Attributes:
        kv: Where values are kept.
        project: Whose; None for a reviewer of whom no project is known.
        branch: From ``branch_of``.
    """

    kv: KeyValues
    project: str | None
    branch: str

    def record(
        self,
        text: str,
        *,
        at: datetime,
        file: str = "",
        severity: str | None = None,
        line: int | None = None,
        review: str | None = None,
    ) -> Recorded:
        """Keep a finding; the same one again is seen once more, and open again if it was resolved.

        Args:
            text: What is wrong, 1 to 4,000 characters; secrets are replaced.
            at: The present moment.
            file: Path in the work tree, a line behind it does no harm.
            severity: ``bug``, ``warning`` or ``note``; by default what it was, else ``warning``.
            line: Where it is just now.
            review: Names the review: what one sees twice it has seen once.

        Raises:
            InvalidInputError: An argument is not acceptable.
        """
        said, redactions = redact(_checked_text(text))
        place, line_there = file_and_line(file)
        place, more = redact(place)
        id_ = hashlib.sha256(f"{place}\0{same_words(said, file=place)}".encode()).hexdigest()[:_ID_CHARACTERS]
        known = self._read(id_)
        worst = _severity(severity)
        if known is None:
            found = Finding(
                id=id_,
                branch=self.branch,
                file=place,
                severity=worst or Severity.WARNING,
                text=said,
                status=FindingStatus.OPEN,
                first_seen=at,
                last_seen=at,
                reviews=1,
                line=_checked_line(line) or line_there,
                review=review,
            )
            return Recorded(found, Seen.NEW, tuple(dict.fromkeys([*redactions, *more, *self._write(found)])))
        recorded = self._seen_again(known, at=at, severity=worst, line=_checked_line(line) or line_there, review=review)
        return replace(recorded, redactions=tuple(dict.fromkeys([*redactions, *more])))

    def still_there(
        self,
        id: str,
        *,
        at: datetime,
        severity: str | None = None,
        line: int | None = None,
        review: str | None = None,
    ) -> Recorded:
        """Note that a known finding was found again, however it is worded by now.

        Raises:
            NotFoundError: There is none of this id on this branch.
        """
        return self._seen_again(
            self._known(id), at=at, severity=_severity(severity), line=_checked_line(line), review=review
        )

    def resolve(self, id: str, *, at: datetime) -> Finding:
        """Note that a finding is no longer so; it is known for another 30 days.

        Raises:
            NotFoundError: There is none of this id on this branch.
        """
        known = self._known(id)
        if known.status is FindingStatus.RESOLVED:
            return known
        resolved = replace(known, status=FindingStatus.RESOLVED, last_seen=at)
        self._write(resolved)
        return resolved

    def open(self) -> tuple[Finding, ...]:
        """Return what is open on this branch, the worst first, then by file, the oldest first."""
        return tuple(one for one in self._all() if one.status is FindingStatus.OPEN)

    def _seen_again(
        self, known: Finding, *, at: datetime, severity: Severity | None, line: int | None, review: str | None
    ) -> Recorded:
        again = review is None or review != known.review
        is_back = known.status is FindingStatus.RESOLVED
        found = replace(
            known,
            status=FindingStatus.OPEN,
            severity=severity or known.severity,
            last_seen=at,
            reviews=known.reviews + (1 if again else 0),
            line=known.line if line is None else line,
            review=review or known.review,
        )
        self._write(found)
        return Recorded(found, Seen.BACK if is_back else Seen.KNOWN)

    def _known(self, id: str) -> Finding:
        plain = id.strip().strip("[]`").lower()
        found = self._read(plain) if _ID.fullmatch(plain) else None
        if found is None:
            error = NotFoundError(f"there is no finding {id[:80]!r} on branch {self.branch}", id=id)
            error.hint = "list the findings of this branch; those of another branch are known there alone"
            raise error
        return found

    def _all(self) -> list[Finding]:
        found = [
            self._understood(entry.key.removeprefix(self._prefix), entry.value)
            for entry in self.kv.list(self._prefix, project=self.project)
        ]
        order = list(Severity)
        return sorted(
            (one for one in found if one is not None),
            key=lambda one: (order.index(one.severity), one.file, one.first_seen, one.id),
        )

    def _read(self, id: str) -> Finding | None:
        return self._understood(id, self.kv.get(f"{self._prefix}{id}", project=self.project))

    def _write(self, finding: Finding) -> tuple[str, ...]:
        life = RESOLVED_DAYS * 86_400.0 if finding.status is FindingStatus.RESOLVED else None
        value = {name: value for name, value in to_json(finding).items() if name != "id" and value is not None}
        return self.kv.set(f"{self._prefix}{finding.id}", value, ttl_seconds=life, project=self.project)

    def _understood(self, id: str, value: Any) -> Finding | None:
        """Return a value as a finding; None for what else somebody may have put under such a key."""
        if not _ID.fullmatch(id) or not isinstance(value, Mapping):
            return None
        try:
            return Finding(
                id=id,
                branch=self.branch,
                file=file_and_line(value["file"])[0],
                severity=Severity(value["severity"]),
                text=arguments.text(value["text"], field="text"),
                status=FindingStatus(value["status"]),
                first_seen=_moment(value["first_seen"]),
                last_seen=_moment(value["last_seen"]),
                reviews=arguments.count(value["reviews"], field="reviews", least=1),
                line=_checked_line(value.get("line")),
                review=arguments.optional_text(value.get("review"), field="review"),
            )
        except (KeyError, TypeError, ValueError):
            return None

    @property
    def _prefix(self) -> str:
        return f"{PREFIX}{_label(self.branch)}:"


def open_findings(store: MemoryStore, project: str | None, branch: str) -> tuple[Finding, ...]:
    """Return what is open on a branch; see ``Findings.open``."""
    return Findings(store.kv, project, branch).open()


def _label(branch: str) -> str:
    """Return what stands for a branch in a key, which has a length, no control characters, and no secrets."""
    if _READABLE.fullmatch(branch) and not redact(f"{PREFIX}{branch}:")[1]:
        return branch
    return f"~{hashlib.sha256(branch.encode()).hexdigest()[:16]}"


def _checked_text(text: object) -> str:
    said = arguments.text(text, field="text").strip()
    if not said or len(said) > TEXT_CHARACTERS:
        raise InvalidInputError(
            f"text: has {len(said)} characters; a finding has 1 to {TEXT_CHARACTERS}",
            field="text",
            limit=str(TEXT_CHARACTERS),
        )
    return said


def _checked_line(line: object) -> int | None:
    return None if line is None else arguments.count(line, field="line", least=1)


def _severity(severity: str | None) -> Severity | None:
    if severity is None:
        return None
    try:
        return Severity(severity.strip().lower())
    except ValueError as error:
        raise InvalidInputError(
            f"severity: there is no {severity[:40]!r}; {did_you_mean(severity[:40], Severity)}", field="severity"
        ) from error


def _moment(value: object) -> datetime:
    moment = datetime.fromisoformat(arguments.text(value, field="time"))
    return moment if moment.tzinfo is not None else moment.astimezone()
