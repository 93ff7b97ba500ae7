"""Findings of code reviews, kept from review to review until they are resolved.

A finding is identified by its project, branch, file and text, never by a line number, because lines move and differ
between branches. Each finding is one key-value pair, so concurrent reviewers add to each other. If two change the same
finding, the later write wins. Findings are not carried from one branch to another.
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
from opencode_memory.store import arguments, reserved_keys
from opencode_memory.text.formatting import format_count
from opencode_memory.text.json_values import to_json
from opencode_memory.text.suggest import did_you_mean

if TYPE_CHECKING:
    from opencode_memory.store.kv import KeyValues
    from opencode_memory.store.memory_store import MemoryStore

PREFIX: Final = reserved_keys.REVIEW_FINDING
TEXT_CHARACTERS: Final = 4000
RESOLVED_DAYS: Final = 30
"""How long a resolved finding is known, so that the same one found again is seen to have come back."""

_ID_CHARACTERS: Final = 12
_ID: Final = re.compile(rf"[0-9a-f]{{{_ID_CHARACTERS}}}")
# Git allows neither "~" nor ":" in a branch name, so "~" begins a hash and the key is unambiguous.
_READABLE: Final = re.compile(r"[\w./+@#=,()-]{1,200}")


class Severity(StrEnum):
    """The severity of a finding, worst first."""

    BUG = "bug"
    WARNING = "warning"
    NOTE = "note"


class FindingStatus(StrEnum):
    """Whether a finding is open."""

    OPEN = "open"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding of a review.

    Attributes:
        id: Its id on its branch.
        branch: The reviewed branch.
        file: Path in the work tree; empty if it concerns no single file.
        severity: Its severity.
        text: The problem.
        status: Whether it is open.
        first_seen: The time it was found first.
        last_seen: The time it was last found or resolved.
        reviews: Number of reviews that found it.
        line: Its last known line, which may have moved.
        review: The last review that found it.
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
        """The finding on one line; a text of several lines keeps them, and no character is escaped."""
        place = "" if not self.file else f" {self.file}" if self.line is None else f" {self.file}:{self.line}"
        often = "" if self.reviews == 1 else f" (in {format_count(self.reviews, 'review')})"
        return f"[{self.id}] {self.severity}{place}{often}: {self.text}"


class Seen(StrEnum):
    """The earlier state of a recorded finding."""

    NEW = "new"
    KNOWN = "known"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of recording a finding.

    Attributes:
        finding: The stored finding.
        seen: Whether it was new, known, or resolved before.
        redactions: Kinds of secrets that were redacted in it.
    """

    finding: Finding
    seen: Seen
    redactions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of one branch.

    Args:
        kv: The key-value store.
        project: Their project; None if the reviewer's project is not known.
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
        """Store a finding. A known finding is counted again, and opened again if it was resolved.

        Args:
            text: The problem, 1 to 4,000 characters; secrets are redacted.
            at: The current time.
            file: Path in the work tree, with or without a line number.
            severity: ``bug``, ``warning`` or ``note``; by default the earlier one, else ``warning``.
            line: The current line.
            review: The name of the review; it counts each finding once.

        Raises:
            InvalidInputError: An argument is invalid.
        """
        said, redactions = redact(_validate_text(text))
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
                line=_validate_line(line) or line_there,
                review=review,
            )
            return Recorded(found, Seen.NEW, tuple(dict.fromkeys([*redactions, *more, *self._write(found)])))
        recorded = self._record_again(
            known, at=at, severity=worst, line=_validate_line(line) or line_there, review=review
        )
        return replace(recorded, redactions=tuple(dict.fromkeys([*redactions, *more])))

    def record_again(
        self,
        id: str,
        *,
        at: datetime,
        severity: str | None = None,
        line: int | None = None,
        review: str | None = None,
    ) -> Recorded:
        """Record that a known finding was found again, whatever its wording.

        Raises:
            NotFoundError: The branch has no finding with this id.
        """
        return self._record_again(
            self._require(id), at=at, severity=_severity(severity), line=_validate_line(line), review=review
        )

    def resolve(self, id: str, *, at: datetime) -> Finding:
        """Resolve a finding; it is kept for another 30 days.

        Raises:
            NotFoundError: The branch has no finding with this id.
        """
        known = self._require(id)
        if known.status is FindingStatus.RESOLVED:
            return known
        resolved = replace(known, status=FindingStatus.RESOLVED, last_seen=at)
        self._write(resolved)
        return resolved

    def open(self) -> tuple[Finding, ...]:
        """Return the open findings of this branch, worst first, then by file, oldest first."""
        return tuple(one for one in self._all() if one.status is FindingStatus.OPEN)

    def _record_again(
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

    def _require(self, id: str) -> Finding:
        plain = id.strip().strip("[]`").lower()
        found = self._read(plain) if _ID.fullmatch(plain) else None
        if found is None:
            error = NotFoundError(f"there is no finding {id[:80]!r} on branch {self.branch}", id=id)
            error.hint = "list the findings of this branch; those of another branch are known there alone"
            raise error
        return found

    def _all(self) -> list[Finding]:
        found = [
            self._parse(entry.key.removeprefix(self._prefix), entry.value)
            for entry in self.kv.list(self._prefix, project=self.project)
        ]
        order = list(Severity)
        return sorted(
            (one for one in found if one is not None),
            key=lambda one: (order.index(one.severity), one.file, one.first_seen, one.id),
        )

    def _read(self, id: str) -> Finding | None:
        return self._parse(id, self.kv.get(f"{self._prefix}{id}", project=self.project))

    def _write(self, finding: Finding) -> tuple[str, ...]:
        life = RESOLVED_DAYS * 86_400.0 if finding.status is FindingStatus.RESOLVED else None
        value = {name: value for name, value in to_json(finding).items() if name != "id" and value is not None}
        return self.kv.set(f"{self._prefix}{finding.id}", value, ttl_seconds=life, project=self.project)

    def _parse(self, id: str, value: Any) -> Finding | None:
        """Parse a stored finding; None for a value that another writer stored under such a key."""
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
                line=_validate_line(value.get("line")),
                review=arguments.optional_text(value.get("review"), field="review"),
            )
        except (KeyError, TypeError, ValueError):
            return None

    @property
    def _prefix(self) -> str:
        return f"{PREFIX}{_label(self.branch)}:"


def open_findings(store: MemoryStore, project: str | None, branch: str) -> tuple[Finding, ...]:
    """Return the open findings of a branch; see ``Findings.open``."""
    return Findings(store.kv, project, branch).open()


def _label(branch: str) -> str:
    """Return the part of a key for a branch, without control characters, secrets and excessive length."""
    if _READABLE.fullmatch(branch) and not redact(f"{PREFIX}{branch}:")[1]:
        return branch
    return f"~{hashlib.sha256(branch.encode()).hexdigest()[:16]}"


def _validate_text(text: object) -> str:
    said = arguments.text(text, field="text").strip()
    if not said or len(said) > TEXT_CHARACTERS:
        raise InvalidInputError(
            f"text: has {len(said)} characters; a finding has 1 to {TEXT_CHARACTERS}",
            field="text",
            limit=str(TEXT_CHARACTERS),
        )
    return said


def _validate_line(line: object) -> int | None:
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
