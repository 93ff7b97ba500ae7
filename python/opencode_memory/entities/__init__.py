"""Finds the entities of a text: the merge requests, issues, epics, commits, people and files that it names.

An entity has one name, regardless of how it was written. The name does not depend on the reader, except that a short
form (``!12``, ``group/project!12``) is completed from the project that it was written in:

=====================  ========================================  ======================================
kind                   in ``gitlab.com/group/project``           in a project that is no ``host/path``
=====================  ========================================  ======================================
merge request          ``gitlab.com/group/project!12``            ``!12``
issue, pull request    ``gitlab.com/group/project#12``            ``#12``
epic                   ``gitlab.com/group&12``                    ``&12``
commit                 ``gitlab.com/group/project@1a2b3c4``       ``commit:1a2b3c4``
person                 ``@user``                                  ``@user``
file                   ``src/app.py``                             ``src/app.py``
=====================  ========================================  ======================================

Host, path, hash and person are in lower case, since no forge tells them apart by case; a file keeps its spelling. A
commit without a project is ``commit:…`` because ``@1a2b3c4`` could be a person.

Finding is strict, because a wrong name would connect unrelated memories: text that could also be code, a colour or a
decorator is skipped. Parsing a reference that a user typed is lenient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from opencode_memory.entities import commits, files, people, references, urls
from opencode_memory.entities.blanking import read
from opencode_memory.entities.forge import Home, home_of
from opencode_memory.entities.work_trees import is_file_address, relative

__all__ = ["canonical", "find_entities", "short"]

_MOST: Final = 50
_NAME_CHARS: Final = 512


def find_entities(text: str, *, project: str | None, work_trees: Sequence[str] = ()) -> tuple[str, ...]:
    """Find the entities that a text names.

    Fenced code is not read. Of code in a line, files count, and a reference when it is all that the code holds. The
    time is proportional to the length of the text, however hostile.

    Args:
        text: Any text, usually Markdown.
        project: Name of the text's project; None if it belongs to no project.
        work_trees: Absolute paths of the project's work trees. Files below them are named by their relative paths.

    Returns:
        Canonical names in the order of their first appearance, each once whatever its case, at most 50.

    >>> find_entities("!12 fixes #7, says @Ada: see `src/app.py:3`", project="gitlab.com/acme/shop")
    ('gitlab.com/acme/shop!12', 'gitlab.com/acme/shop#7', '@ada', 'src/app.py')
    """
    home = home_of(project)
    parts = read(text)
    found = (
        *_first(urls.find(parts.addresses, home)),
        *_first(references.find(parts.prose, home)),
        *_first(commits.find(parts.prose, parts.quoted, home)),
        *_first(people.find(parts.spoken)),
        *_first((place, relative(name, work_trees)) for place, name in files.find(parts.lines, parts.quoted)),
        *_first(_files_of_addresses(parts.addresses, work_trees)),
    )
    names = _once(name for _, name in sorted(found))
    return tuple(islice(names, _MOST))


def canonical(reference: str, *, project: str | None, work_trees: Sequence[str] = ()) -> str:
    """Return the canonical name of a reference.

    Args:
        reference: Text of a user or a model, with or without the backticks or angle brackets of Markdown.
        project: Name of the project that the reference is made in; None for none.
        work_trees: Absolute paths of the project's work trees. A file below one is named by its relative path.

    Returns:
        The name. A reference of no known kind is returned as it is, without the blanks around it.

    >>> canonical("https://github.com/Owner/Repo/pull/5/files", project=None)
    'github.com/owner/repo#5'
    >>> canonical("./src/app.py:12", project=None)
    'src/app.py'
    >>> canonical("/work/app/src/app.py", project=None, work_trees=["/work/app"])
    'src/app.py'
    >>> canonical(" PostgreSQL ", project=None)
    'PostgreSQL'
    """
    reference = reference.strip()
    bare = reference.strip("`<> \t")
    inside = relative(bare, work_trees)
    name = _name(inside, home_of(project))
    if name is not None:
        return name
    return reference if inside == bare else inside


def short(name: str, *, project: str | None) -> str:
    """Write a canonical name as one would inside a project; ``canonical`` turns it back.

    >>> short("gitlab.com/group/project!12", project="gitlab.com/group/project")
    '!12'
    >>> short("gitlab.com/group/other!12", project="gitlab.com/group/project")
    'group/other!12'
    """
    home = home_of(project)
    if home is None:
        return name
    candidates = (*commits.shorter(name, home), *references.shorter(name, home))
    # Asking is the proof: a path that looks like a host, say, cannot stand without its own.
    return next((candidate for candidate in candidates if _name(candidate, home) == name), name)


def _name(reference: str, home: Home | None) -> str | None:
    # A file before a person: `@README.md` is how OpenCode mentions a file.
    return (
        urls.parse(reference, home)
        or references.parse(reference, home)
        or commits.parse(reference, home)
        or files.parse(reference)
        or people.parse(reference)
    )


def _files_of_addresses(addresses: Sequence[tuple[int, str]], work_trees: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Find the files of a work tree that are named by an address, such as ``file:///work/app/x.py``."""
    for place, address in addresses:
        if is_file_address(address) and (name := files.parse(relative(address, work_trees))) is not None:
            yield place, name


def _first(found: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Stop a search that cannot add to the answer any more."""
    names: set[str] = set()
    for position, name in found:
        if len(name) <= _NAME_CHARS and name.lower() not in names:
            names.add(name.lower())
            yield position, name
            if len(names) == _MOST:
                return


def _once(names: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for name in names:
        if name.lower() not in seen:
            seen.add(name.lower())
            yield name
