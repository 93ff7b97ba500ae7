"""Keeps plans with all their versions. Each change is a compare-and-set, so two approvals are one."""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from opencode_memory._core import redact
from opencode_memory.errors import ConflictError, InvalidInputError, NotFoundError
from opencode_memory.plans.plan import Approval, Plan, PlanStatus, PlanVersion
from opencode_memory.plans.text import PlanText, read_plan
from opencode_memory.store import arguments
from opencode_memory.store.documents import Change, Damaged, Document, Matches, sort_out
from opencode_memory.text.display import one_line
from opencode_memory.text.json_values import to_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from opencode_memory.store.memory_store import MemoryStore

KIND: Final = "plan"
TEXT_KIND: Final = "plan-text"
TEXT_CHARACTERS: Final = 200_000
REMARK_CHARACTERS: Final = 4_000
_TITLE_CHARACTERS: Final = 120
_ID_BYTES: Final = 4
_TRIES: Final = 5
_LATER_DAMAGED: Final = "the later texts are damaged"
_STORED: Final = frozenset({"id", "project", "revision", "created_at", "changed_at"})
"""Fields that the document itself has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Result of writing a plan.

    Attributes:
        plan: The plan.
        text: Its text as it was read, with the problems that prevent its submission.
        redactions: Kinds of secrets that were redacted in it.
    """

    plan: Plan
    text: PlanText
    redactions: tuple[str, ...] = ()


class Plans:
    """The plans of one project.

    Args:
        store: The store.
        project: The project; None for plans without one.
    """

    def __init__(self, store: MemoryStore, project: str | None) -> None:
        self._documents = store.documents
        self._project = project

    def write(
        self,
        text: str,
        *,
        at: datetime,
        by: str = "user",
        session: str | None = None,
        directory: str | None = None,
    ) -> Written:
        """Store a new plan as a draft.

        Args:
            text: The Markdown, 1 to 200,000 characters; secrets are redacted.
            at: The current time.
            by: The writer.
            session: The session that wrote it.
            directory: Folder of that session.

        Raises:
            InvalidInputError: The text is empty or too long.
        """
        kept, kinds = _clean(text)
        read = read_plan(kept)
        for _ in range(_TRIES):
            plan = Plan(
                id=secrets.token_hex(_ID_BYTES),
                project=self._project,
                title=one_line(read.title or "Plan", _TITLE_CHARACTERS),
                status=PlanStatus.DRAFT,
                text_version=1,
                revision=0,
                created_at=at,
                changed_at=at,
                session=session,
                agent=by,
                directory=directory,
            )
            if self._documents.get(KIND, plan.id) is None:
                version = PlanVersion(number=1, text=kept, by=by, why="", at=at)
                return Written(plan=self._save(plan, version), text=read, redactions=kinds)
        raise ConflictError("no free id was found for the plan; try again")

    def write_submitted(self, text: str, *, at: datetime) -> Plan:
        """Store a new plan of the user, and submit it. A text with problems is not stored.

        Raises:
            InvalidInputError: The text is empty or too long, or has problems.
        """
        _refuse_problems(read_plan(_clean(text)[0]))
        return self.submit(self.write(text, at=at).plan)

    def edit(self, plan: Plan, *, old: str, new: str, at: datetime, by: str = "user", why: str = "") -> Written:
        """Replace a part of a plan's text, which becomes a draft again.

        Args:
            plan: The plan.
            old: The text to replace; it must occur exactly once.
            new: Its replacement, taken literally.
            at: The current time.
            by: The writer.
            why: The reason.

        Raises:
            InvalidInputError: The old text does not occur, or more than once.
            ConflictError: The plan was changed meanwhile, or is no longer open.
        """
        text = self.text(plan)
        count = text.count(old) if old else 0
        if count != 1:
            how = "does not occur in the plan" if count == 0 else f"occurs {count} times; give more of it"
            raise InvalidInputError(f"old: the text {how}", field="old")
        return self.rewrite(plan, text.replace(old, new, 1), at=at, by=by, why=why)

    def rewrite(self, plan: Plan, text: str, *, at: datetime, by: str = "user", why: str = "") -> Written:
        """Give a plan a new text; earlier ones are kept.

        Raises:
            InvalidInputError: The text is empty or too long.
            ConflictError: The plan was changed meanwhile, or is no longer open.
        """
        refuse_closed(plan)
        kept, kinds = _clean(text)
        read, number = read_plan(kept), plan.text_version + 1
        changed = replace(
            plan,
            title=one_line(read.title or plan.title, _TITLE_CHARACTERS),
            status=PlanStatus.DRAFT,
            text_version=number,
        )
        version = PlanVersion(number=number, text=kept, by=by, why=one_line(why, REMARK_CHARACTERS), at=at)
        return Written(plan=self._save(changed, version), text=read, redactions=kinds)

    def submit(self, plan: Plan) -> Plan:
        """Offer a plan for approval. A submitted plan stays as it is.

        Raises:
            InvalidInputError: The plan has problems; the message names each.
            ConflictError: The plan was changed meanwhile, or is no longer open.
        """
        if plan.status is PlanStatus.SUBMITTED:
            return plan
        _refuse_problems(read_plan(self.text(plan)))
        return self._move(plan, PlanStatus.SUBMITTED, from_={PlanStatus.DRAFT}, remark=None)

    def send_back(self, plan: Plan, remark: str) -> Plan:
        """Return a submitted plan to its author with a remark.

        Raises:
            InvalidInputError: The remark is empty or too long.
            ConflictError: The plan was changed meanwhile, or is not submitted.
        """
        said = remark.strip()
        if not 1 <= len(said) <= REMARK_CHARACTERS:
            raise InvalidInputError(f"remark: must have 1 to {REMARK_CHARACTERS:,} characters", field="remark")
        return self._move(plan, PlanStatus.DRAFT, from_={PlanStatus.SUBMITTED}, remark=redact(said)[0])

    def approve(self, plan: Plan, approval: Approval, *, also: builtins.list[Change] | None = None) -> Plan:
        """Approve a submitted plan. A second approval of the same kind returns the plan as it is.

        Args:
            plan: The plan.
            approval: The decision.
            also: Documents that are written in the same transaction, for example a loop.

        Raises:
            ConflictError: The plan was changed meanwhile, is not submitted, or was approved in another way.
        """
        if plan.approval is not None and plan.status in {PlanStatus.APPROVED, PlanStatus.RUNNING, PlanStatus.DONE}:
            if plan.approval.mode is approval.mode:
                return plan
            raise ConflictError(f"the plan [{plan.id}] was approved before, as {plan.approval.mode}")
        return self._move(
            plan, PlanStatus.APPROVED, from_={PlanStatus.SUBMITTED}, remark=None, approval=approval, also=also
        )

    def note_started(self, plan: Plan, approval: Approval) -> Plan:
        """Record that the work on an approved plan has begun."""
        if plan.status is PlanStatus.RUNNING:
            return plan
        return self._move(plan, PlanStatus.RUNNING, from_={PlanStatus.APPROVED}, remark=None, approval=approval)

    def note_end(self, plan: Plan, *, is_done: bool) -> Plan:
        """Record that the work has ended: it is done, or it was given up."""
        status = PlanStatus.DONE if is_done else PlanStatus.ABANDONED
        return plan if plan.status is status else self._move(plan, status, from_=None, remark=plan.remark)

    def finish(self, plan: Plan) -> Plan:
        """Record that the user calls an approved plan done.

        Raises:
            ConflictError: The plan was changed meanwhile, or was not approved.
        """
        if plan.status is PlanStatus.DONE:
            return plan
        return self._move(plan, PlanStatus.DONE, from_={PlanStatus.APPROVED, PlanStatus.RUNNING}, remark=plan.remark)

    def abandon(self, plan: Plan) -> Plan:
        """Give a plan up. It is kept and can be read.

        Raises:
            ConflictError: The plan was changed meanwhile, or is done.
        """
        if plan.status is PlanStatus.ABANDONED:
            return plan
        refuse_done(plan)
        return self._move(plan, PlanStatus.ABANDONED, from_=None, remark=plan.remark)

    def text(self, plan: Plan, number: int | None = None) -> str:
        """Return a text of a plan, by default the newest.

        Raises:
            NotFoundError: There is no text of this number.
            CorruptStoreError: Its record is damaged.
        """
        number = number or plan.text_version
        name = _text_name(plan.id, number)
        found = self._documents.get(TEXT_KIND, name)
        if found is None:
            raise NotFoundError(f"the plan [{plan.id}] has no version {number}", id=name)
        return found.read(to_version).text

    def versions(self, plan: Plan) -> builtins.list[PlanVersion]:
        """Return all texts of a plan, the first one first."""
        found = self._documents.list(TEXT_KIND, prefix=f"{plan.id}/")
        return [document.read(to_version) for document in found]

    def list(self) -> builtins.list[Plan]:
        """Return the plans of the project, the one that changed last first.

        Plans whose records are damaged are left out; ``damaged`` returns them.
        """
        documents = self._documents.list(KIND, project=self._project)
        plans, _ = sort_out((one for one in documents if one.project == self._project), to_plan)
        return sorted(plans, key=lambda plan: plan.changed_at, reverse=True)

    def damaged(self) -> builtins.list[Damaged]:
        """Return the damaged plans of the project, and those without one, which the user can name in no other place."""
        _, damaged = sort_out(self._documents.list(KIND), to_plan)
        return [plan for plan in damaged if plan.document.project in {self._project, None}]

    def find_damaged(self, part: str) -> Damaged | None:
        """Return the plan of ``damaged`` whose id starts with ``part``.

        Return None if there is none, or if the part also names another plan.
        """
        return self._match(part).only_damaged

    def rescue(self, damaged: Damaged, *, at: datetime) -> Plan:
        """Replace the damaged record of a plan by a new one, a draft with the newest text that can be read.

        Args:
            damaged: The plan.
            at: The current time.

        Raises:
            NotFoundError: The plan has no text that can be read.
            ConflictError: Another process has changed it meanwhile.
        """
        document = damaged.document
        stored = self._documents.list(TEXT_KIND, prefix=f"{document.name}/")
        texts, _ = sort_out(stored, to_version)
        if not texts:
            raise NotFoundError(f"the plan [{document.name}] has no text that can be read", id=document.name)
        newest = max(texts, key=lambda version: version.number)
        # A text is never overwritten. So the next one must not get the number of a damaged one.
        last = int(stored[-1].name.rpartition("/")[2])
        again = None if newest.number == last else replace(newest, number=last + 1, why=_LATER_DAMAGED, at=at)
        title = read_plan(newest.text).title or "Plan"
        plan = Plan(
            id=document.name,
            project=document.project,
            title=one_line(title, _TITLE_CHARACTERS),
            status=PlanStatus.DRAFT,
            text_version=newest.number if again is None else again.number,
            revision=document.version,
            created_at=document.created_at,
            changed_at=at,
            agent=newest.by,
        )
        return self._save(plan, again)

    def _match(self, part: str) -> Matches[Plan]:
        """Return the plans of the project whose id starts with ``part``, and the damaged ones."""
        wanted = arguments.text(part, field="plan").strip().lower()
        if not wanted:
            return Matches(readable=[], damaged=[])
        return Matches(
            readable=[plan for plan in self.list() if plan.id.startswith(wanted)],
            damaged=[plan for plan in self.damaged() if plan.document.name.startswith(wanted)],
        )

    def get(self, part: str) -> Plan:
        """Return the plan whose id starts with ``part``.

        Raises:
            NotFoundError: There is none in this project, or several.
            CorruptStoreError: Its record is damaged.
        """
        hint = "opencode-memory plan list shows the ids"
        return self._match(part).get_only(part, kind="plan", repair=describe_rescue, hint=hint)

    def newest(self, *statuses: PlanStatus, session: str | None = None) -> Plan | None:
        """Return the plan that changed last, of these states and of this session if one is named."""
        for plan in self.list():
            if plan.status in statuses and (session is None or plan.session == session):
                return plan
        return None

    def _move(
        self,
        plan: Plan,
        status: PlanStatus,
        *,
        from_: set[PlanStatus] | None,
        remark: str | None,
        approval: Approval | None = None,
        also: builtins.list[Change] | None = None,
    ) -> Plan:
        if from_ is not None and plan.status not in from_:
            names = " or ".join(sorted(from_))
            raise ConflictError(f"the plan [{plan.id}] is {plan.status}, not {names}")
        moved = replace(plan, status=status, remark=remark, approval=approval or plan.approval)
        return self._save(moved, also=also)

    def _save(
        self, plan: Plan, version: PlanVersion | None = None, *, also: builtins.list[Change] | None = None
    ) -> Plan:
        changes = [change_of(plan), *(also or ())]
        if version is not None:
            name = _text_name(plan.id, version.number)
            changes.append(Change(kind=TEXT_KIND, name=name, expected=0, body=to_json(version), project=plan.project))
        try:
            revision = self._documents.write(changes)[0]
        except ConflictError as error:
            raise ConflictError(f"the plan [{plan.id}] was changed meanwhile; look at it again") from error
        return replace(plan, revision=revision)


def refuse_closed(plan: Plan) -> None:
    """Refuse a plan that can no longer be changed.

    Raises:
        ConflictError: The plan is no longer open.
    """
    if not plan.status.is_open:
        raise ConflictError(f"the plan [{plan.id}] is {plan.status}, so it can no longer be changed; write a new one")


def refuse_done(plan: Plan) -> None:
    """Refuse to give up a plan that is done.

    Raises:
        ConflictError: The plan is done.
    """
    if plan.status is PlanStatus.DONE:
        raise ConflictError(f"the plan [{plan.id}] is done, so it cannot be abandoned")


def change_of(plan: Plan) -> Change:
    """Return the change that writes a plan."""
    body = {field.name: to_json(getattr(plan, field.name)) for field in fields(Plan) if field.name not in _STORED}
    return Change(kind=KIND, name=plan.id, expected=plan.revision, body=body, project=plan.project)


def to_plan(document: Document) -> Plan:
    """Return the plan of a document."""
    given: Mapping[str, Any] = document.body
    return _plans().validate_python(
        {
            **given,
            "id": document.name,
            "project": document.project,
            "revision": document.version,
            "created_at": document.created_at,
            "changed_at": document.updated_at,
        }
    )


def describe_rescue(document: Document) -> str:
    """Return what the user can do about a damaged plan."""
    return f"`opencode-memory plan edit {document.name}{document.project_option}` makes a new draft of its newest text"


def to_version(document: Document) -> PlanVersion:
    """Return the text of a plan that a document has."""
    return _versions().validate_python(document.body)


def _refuse_problems(text: PlanText) -> None:
    if text.problems:
        raise InvalidInputError("the plan cannot be submitted yet: " + "; ".join(text.problems), field="text")


def _clean(text: str) -> tuple[str, tuple[str, ...]]:
    if not 1 <= len(text.strip()) <= TEXT_CHARACTERS:
        raise InvalidInputError(f"text: must have 1 to {TEXT_CHARACTERS:,} characters", field="text")
    kept, kinds = redact(text)
    return kept, tuple(kinds)


def _text_name(id: str, number: int) -> str:
    return f"{id}/{number:06}"


@cache
def _plans() -> TypeAdapter[Plan]:
    from pydantic import TypeAdapter  # noqa: PLC0415  only plans need it

    return TypeAdapter(Plan)


@cache
def _versions() -> TypeAdapter[PlanVersion]:
    from pydantic import TypeAdapter  # noqa: PLC0415  as above

    return TypeAdapter(PlanVersion)
