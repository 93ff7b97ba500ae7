"""The complete and lossless export: one JSON document with one row per line.

Any JSON parser can read it whole. Our own parser reads it line by line, so that writer and reader hold only a batch in
memory. The counts at its end tell a complete file from a truncated one. The store defines the content of a row.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby, islice
from typing import IO, TYPE_CHECKING, Any, Final

from opencode_memory.errors import FormatVersionError, InvalidInputError
from opencode_memory.exchange.foreign import UNTRUSTED
from opencode_memory.exchange.plans_and_loops import EXPORTED, at_rest
from opencode_memory.exchange.renamed import with_own_name
from opencode_memory.exchange.source import TextSource
from opencode_memory.models import ScopeKind
from opencode_memory.store.reserved_keys import is_reserved
from opencode_memory.text.json_values import escape_separators

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

NAME: Final = "json"
FORMAT: Final = "opencode-memory"
VERSION: Final = 1
_BATCH: Final = 1000
_ARRAYS: Final = {
    "project": "projects", "memory": "memories", "link": "links", "kv": "kv", "history": "history",
    "document": "documents",
}  # fmt: skip
_KINDS: Final = {array: kind for kind, array in _ARRAYS.items()}
_ARRAY_STARTS: Final = re.compile(r'"(?P<array>[a-z]+)":\[')


def write(rows: Iterable[tuple[str, Mapping[str, Any]]], out: IO[str], *, at: datetime) -> dict[str, int]:
    """Write an export.

    Args:
        rows: Kind and row, as ``MemoryStore.rows.dump`` yields them, grouped by kind.
        out: The stream to write to.
        at: The current time.

    Returns:
        Number of rows, by kind.
    """
    counts = dict.fromkeys(_ARRAYS, 0)
    header = {"format": FORMAT, "version": VERSION, "exported_at": at.isoformat(timespec="seconds")}
    out.write(_compact(header)[:-1])
    for kind, members in groupby(rows, key=lambda row: row[0]):
        out.write(f',\n"{_ARRAYS[kind]}":[')
        for number, (_, row) in enumerate(members):
            out.write((",\n" if number else "\n") + _compact(row))
            counts[kind] += 1
        out.write("\n]")
    out.write(f',\n"counts":{_compact({_ARRAYS[kind]: count for kind, count in counts.items()})}}}\n')
    return counts


def recognises(head: str) -> bool:
    """Return whether a text begins like an export of ours."""
    return re.match(r'\s*\{\s*"format"\s*:\s*"opencode-memory"', head) is not None


def read(source: TextSource) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield line, kind and row of an export, in the order of the file.

    Raises:
        InvalidInputError: The text is not a complete export; the message names the place and the reason.
        FormatVersionError: A newer version wrote it.
    """
    lines = source.lines()
    first = next(lines, "").strip()
    if not first.endswith(",") or (header := _parse(first[:-1] + "}")) is None:
        # The file was formatted again, so it can only be parsed as a whole.
        yield from _read_whole(source)
        return
    _check_header(source, header)
    array: str | None = None
    found = dict.fromkeys(_KINDS, 0)
    for number, line in enumerate(lines, start=2):
        text = line.strip().removesuffix(",")
        if array is None and (match := _ARRAY_STARTS.fullmatch(text)):
            array = match["array"]
            if array not in _KINDS:
                raise source.wrong(f"has an unknown part {array!r}", line=number)
        elif array is None and text.startswith('"counts":') and text.endswith("}}"):
            _check_counts(source, _parse(text.removeprefix('"counts":')[:-1]), found)
            return
        elif array is not None and text == "]":
            array = None
        elif array is not None:
            found[array] += 1
            yield number, _KINDS[array], _row(source, _parse(text), number)
        else:
            raise source.wrong("is not what an export has here", line=number)
    raise source.wrong("ends in the middle: the export is incomplete; nothing was imported")


def load(
    store: MemoryStore,
    source: TextSource,
    *,
    as_own: bool,
    with_projects: bool,
    renamed: Mapping[str, str],
    namespace: str | None,
    progress: Callable[[int], None] | None,
) -> dict[str, Counter[str]]:
    """Import an export into a store in batches; running it again after an interruption repeats no change.

    Args:
        store: The store to write to.
        source: An export that ``read`` has checked.
        as_own: Whether the file is this store's own past. Otherwise memories get the trust of an import, no pin and no
            confirmation, directives and procedures wait for review, and the history, plans, loops and own state of this
            program are left out.
        with_projects: Whether the file may assign repositories to projects.
        renamed: Names of projects in the store, by their names in the file, if both differ.
        namespace: The project whose key-value pairs are written only; None for those of all.
        progress: Called with the number of rows done.

    Returns:
        Outcomes and their numbers, by kind.
    """
    counts: dict[str, Counter[str]] = {kind: Counter() for kind in _ARRAYS}
    done = 0
    rows = ((line, kind, with_own_name(kind, row, renamed) if renamed else row) for line, kind, row in read(source))
    for kind, members in groupby(rows, key=lambda row: row[1]):
        while batch := list(islice(members, _BATCH)):
            try:
                if (kind in {"history", "document"} and not as_own) or (kind == "project" and not with_projects):
                    counts[kind]["left out"] += len(batch)
                elif kind == "memory":
                    counts[kind].update(store.rows.load(kind, [_memory(row, as_own=as_own) for _, _, row in batch]))
                elif kind == "document":
                    counts[kind].update(store.rows.load(kind, [_document(source, row, line) for line, _, row in batch]))
                else:
                    # Own state of another store would, for example, switch learning off here, or resolve findings.
                    taken = [row for _, _, row in batch if kind != "kv" or _is_taken(row, namespace, as_own=as_own)]
                    counts[kind].update(store.rows.load(kind, taken))
                    if len(taken) < len(batch):
                        counts[kind]["left out"] += len(batch) - len(taken)
            except InvalidInputError as error:
                raise source.wrong(
                    f"{_ARRAYS[kind]} from here on: {error}", line=batch[0][0], field=error.field
                ) from error
            done += len(batch)
            if progress is not None:
                progress(done)
    return counts


def _memory(row: dict[str, Any], *, as_own: bool) -> dict[str, Any]:
    # A memory without a project is global. Without an explicit scope, the store would use its own project.
    scoped = {**row, "scope": ScopeKind.GLOBAL} if row.get("project") is None else row
    return scoped if as_own else {**scoped, **UNTRUSTED}


def _is_taken(value: dict[str, Any], namespace: str | None, *, as_own: bool) -> bool:
    is_own_state = is_reserved(str(value.get("key")))
    return (as_own or not is_own_state) and (namespace is None or value.get("project") == namespace)


def _document(source: TextSource, row: dict[str, Any], line: int) -> dict[str, Any]:
    if str(row.get("kind")) not in EXPORTED:
        raise source.wrong(f"holds a document of the unknown kind {str(row.get('kind'))[:64]!r}", line=line)
    return at_rest(row)


def _read_whole(source: TextSource) -> Iterator[tuple[int, str, dict[str, Any]]]:
    document = source.json()
    _check_header(source, document)
    found: dict[str, int] = {}
    for array, kind in _KINDS.items():
        rows = document.get(array, [])
        if not isinstance(rows, list):
            raise source.wrong(f"{array} is not a list")
        found[array] = len(rows)
        for number, row in enumerate(rows):
            yield 1, kind, _row(source, row, f"{array}[{number}]")
    _check_counts(source, document.get("counts"), found)


def _check_header(source: TextSource, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise source.wrong("is not an export of opencode-memory")
    version = header.get("version")
    if not isinstance(version, int):
        raise source.wrong("has no version", line=1)
    if version > VERSION:
        raise FormatVersionError(
            f"{source.name} was written by a newer version of opencode-memory (format {version}, this one reads "
            f"{VERSION}); upgrade and import again",
            found=version,
            supported=VERSION,
        )


def _check_counts(source: TextSource, counts: Any, found: Mapping[str, int]) -> None:
    if not isinstance(counts, dict):
        raise source.wrong("has no counts at its end: the export is incomplete; nothing was imported")
    for array, number in found.items():
        if counts.get(array, 0) != number:
            raise source.wrong(f"holds {number} of {counts.get(array, 0)} {array}: the export is incomplete")


def _row(source: TextSource, row: Any, place: int | str) -> dict[str, Any]:
    if not isinstance(row, dict):
        line = place if isinstance(place, int) else None
        raise source.wrong("is not a JSON object" if line is not None else f"{place} is not a JSON object", line=line)
    return row


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # No JSON, or a number of more than 4300 digits.
        return None


def _compact(value: Mapping[str, Any]) -> str:
    return escape_separators(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
