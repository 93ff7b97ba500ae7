"""``opencode-memory doctor``: checks the installation, the configuration, the store, the model and OpenCode."""

from __future__ import annotations

import platform
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import click

from opencode_memory._core import first_damage
from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import (
    Check,
    Fix,
    FixableCheck,
    FixKind,
    Level,
    check_embeddings,
    print_check,
    to_check,
)
from opencode_memory.cli.doctor.digest import check_digest
from opencode_memory.cli.doctor.fix import apply
from opencode_memory.cli.doctor.forges import check_forges
from opencode_memory.cli.doctor.lateness import check_lateness
from opencode_memory.cli.doctor.loops import check_loops
from opencode_memory.cli.doctor.packages import check_other_packages
from opencode_memory.cli.doctor.project import check_project
from opencode_memory.cli.doctor.sessions import check_sessions
from opencode_memory.cli.errors import DONE, NOTHING_FOUND, explain
from opencode_memory.cli.output import dim
from opencode_memory.config.paths import default_data_dir
from opencode_memory.config.setting import PREFIX
from opencode_memory.errors import ConfigError, OpencodeMemoryError, StorageError
from opencode_memory.files import access
from opencode_memory.platform import system
from opencode_memory.text.formatting import format_count

if TYPE_CHECKING:
    from opencode_memory.store.memory_store import MemoryStore

_SAMPLE: Final = 200
_OTHER_SYSTEMS: Final = {
    "opencode-memory/memory.db": "opencode-semantic-memory; export there with memory_export_memories",
    "opencode/memory/memory.db": "@opencode-manager/memory; export there with its own ocm-mem export",
}


@command("doctor")
@click.option(
    "--recall", is_flag=True, help="Check only recall: search for known memories, and find duplicates and stale ones."
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help=f"With --recall: number of memories to search for.  [default: {_SAMPLE}]",
)
@click.option("--fix", is_flag=True, help="Apply safe fixes (setup, serve --detach, permissions), and check again.")
def doctor(run: Invocation, *, recall: bool, sample: int | None, fix: bool) -> int:
    """Check the installation, the configuration, the store, the model and OpenCode. Exits with 1 if there are problems.

    With --recall, check whether memories are found by their rarest words and by their topics, and look for near
    duplicates, contradictions, and unused or stale memories. This checks all projects unless -p names one, and changes
    nothing.
    """
    if recall and fix:
        raise click.UsageError("--fix is not valid with --recall, which changes nothing", click.get_current_context())
    if recall:
        from opencode_memory.cli.doctor.recall import run_recall_check  # noqa: PLC0415  loads the engine, not needed for help

        return run_recall_check(run, sample=_SAMPLE if sample is None else sample)
    if sample is not None:
        raise click.UsageError("--sample is valid only with --recall", click.get_current_context())
    unreadable = _use_defaults(run)
    # The defaults in place of an unreadable configuration need no check.
    functions = {name: function for name, function in _CHECKS.items() if name != "configuration" or not unreadable}
    checks, done = [*unreadable, *_run_checks(run, functions)], []
    if fix:
        fixes = dict.fromkeys(check.fix for check in checks if isinstance(check, FixableCheck) and check.fix)
        done = [_apply_fix(run, planned_fix) for planned_fix in fixes]
        checks = [*unreadable, *_run_checks(run, functions)] if done else checks
    is_well = all(check.level is not Level.PROBLEM for check in checks)
    if run.out.as_json:
        run.out.json({"ok": is_well, "checks": _to_fields(checks)} | ({"fixes": _to_fields(done)} if fix else {}))
        return DONE if is_well else NOTHING_FOUND
    for check in [*done, *checks]:
        print_check(run.out, check)
        if check.hint is not None:
            run.out.line(dim(f"{'':<22}{check.hint}"))
    return DONE if is_well else NOTHING_FOUND


def _use_defaults(run: Invocation) -> list[Check]:
    """Go on with the defaults if the configuration cannot be used, and return the problem."""
    try:
        _ = run.config
    except ConfigError as error:
        run.use_defaults()
        return [Check("configuration", Level.PROBLEM, str(error), error.hint or "opencode-memory config path")]
    return []


def _run_checks(run: Invocation, functions: Mapping[str, Callable[[Invocation], Iterator[Check]]]) -> list[Check]:
    return [check for name, function in functions.items() for check in _run_check(name, function, run)]


def _to_fields(checks: Iterable[Check]) -> list[dict[str, object]]:
    """Return the JSON fields of checks; all checks have the same fields."""
    return [
        {
            "name": check.name,
            "level": check.level,
            "text": check.text,
            "hint": check.hint,
            "fixable": isinstance(check, FixableCheck) and check.fix is not None,
        }
        for check in checks
    ]


def _apply_fix(run: Invocation, fix: Fix) -> Check:
    try:
        return Check("fix", Level.OK, apply(run, fix))
    except (OpencodeMemoryError, OSError) as error:
        return _to_problem("fix", error, f"{fix.kind}: ")


def _run_check(name: str, function: Callable[[Invocation], Iterator[Check]], run: Invocation) -> Iterator[Check]:
    """Run a check and convert its error to a problem, so that the other checks still run."""
    try:
        yield from function(run)
    except (OpencodeMemoryError, OSError) as error:
        yield _to_problem(name, error)


def _to_problem(name: str, error: OpencodeMemoryError | OSError, what: str = "") -> Check:
    explained = error if isinstance(error, OpencodeMemoryError) else explain(error)
    return Check(name, Level.PROBLEM, f"{what}{explained}", explained.hint)


def _check_installation(_run: Invocation) -> Iterator[Check]:
    import opencode_memory  # noqa: PLC0415  loaded only when it runs

    where = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Check("installation", Level.OK, f"opencode-memory {opencode_memory.__version__}, {where}")
    yield from check_other_packages()
    if shutil.which("git") is None:
        yield Check(
            "git", Level.NOTE, "git is not installed, so projects without a remote are recognized only by their folder"
        )


def _check_configuration(run: Invocation) -> Iterator[Check]:
    file = run.config.file
    text = str(file) if file.exists() else f"defaults; {file} does not exist"
    variables = sorted(origin for origin in set(run.config.origins.values()) if origin.startswith(PREFIX))
    yield Check("configuration", Level.OK, "; ".join((text, *variables)))
    for notice in run.config.notices:
        level = Level.PROBLEM if notice.level == "error" else Level.NOTE
        yield Check("configuration", level, notice.text, notice.hint)


def _check_data_dir(run: Invocation) -> Iterator[Check]:
    from opencode_memory.maintenance.health import check_folder  # noqa: PLC0415  loaded only when it runs

    folder = run.config.data_dir
    obstacle = access.find_obstacle(folder, may_be_missing=True)
    if obstacle is not None:
        hint = f"data_dir is set by {run.config.origins['data_dir']}; name the folder of a store"
        yield Check("data_dir", Level.PROBLEM, obstacle, hint)
        return
    if not folder.exists():
        yield Check("data_dir", Level.NOTE, f"{folder} does not exist yet; the first memory creates it")
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    is_open = system().may_others_read(folder)
    if is_open:
        text = f"other users may read {folder} ({mode:o})"
        # A folder without a store may be named by mistake, for example /tmp, which other users need.
        fix = Fix(FixKind.CHMOD, path=folder, mode=0o700) if _has_store(run) else None
        yield FixableCheck("data_dir", Level.PROBLEM, text, f"chmod 700 {folder}", fix)
    findings = [to_check(finding) for finding in check_folder(folder)]
    if not is_open and not any(finding.name == "data_dir" for finding in findings):
        yield Check("data_dir", Level.OK, str(folder))
    yield from findings


def _has_store(run: Invocation) -> bool:
    """Return whether there is a store. Otherwise the doctor would create one in a folder named by mistake."""
    folder = run.config.data_dir
    return access.find_obstacle(folder) is None and (folder / "store.db").exists()


def _check_store(run: Invocation) -> Iterator[Check]:
    from opencode_memory.maintenance.health import check_store  # noqa: PLC0415  loaded only when it runs

    if not _has_store(run):
        if access.find_obstacle(run.config.data_dir) is None:
            with suppress(StorageError), run.open_read_only():
                # Only a lost store raises another error: its file is gone, but its folder has backups or indexes.
                pass
            yield Check("store", Level.NOTE, "there is no store yet; the first memory creates it")
        return
    from opencode_memory.cli.doctor.model import check_change  # noqa: PLC0415  as above

    with run.open_store() as store:
        stats = store.stats()
        yield Check(
            "store", Level.OK, f"{format_count(stats.memories, 'memory')} in {format_count(stats.projects, 'project')}"
        )
        if (damage := first_damage(store.data_dir)) is not None:
            hint = "opencode-memory repair builds indexes again; for rows, opencode-memory backup restore"
            yield Check("store", Level.PROBLEM, f"the file is damaged: {damage}", hint)
        yield from map(to_check, check_store(store))
        for leftover in store.backups.leftovers():
            text = f"{leftover.path} is left of a backup or a restore, and may contain memories"
            yield Check("backups", Level.NOTE, text, leftover.advice)
        yield from check_embeddings(0, stats.model_mismatch)
        yield from check_change(store, run.config.embedding)
        if dead := sum(counts.dead for counts in store.jobs.counts()):
            yield Check(
                "jobs", Level.PROBLEM, f"{format_count(dead, 'job')} failed permanently", "opencode-memory jobs"
            )
        yield from check_digest(store, run.config.learning)
        yield from check_lateness(store)
        yield from check_sessions(store, run.config.learning)
        yield from check_loops(store)
        yield from check_forges(store, run.config)
        yield from check_project(run, store)
        yield from _check_rules(store)


def _check_rules(store: MemoryStore) -> Iterator[Check]:
    from opencode_memory.learning.relearn.offer import is_due  # noqa: PLC0415  loaded only when it runs

    if is_due(store):
        text = "learning has stricter rules now, and earlier memories are not judged by them yet"
        yield Check("learning", Level.NOTE, text, "opencode-memory learning relearn --dry-run")


def _check_delegation(run: Invocation) -> Iterator[Check]:
    from opencode_memory.cli.delegation import can_delegate  # noqa: PLC0415  loaded only when it runs

    if not run.config.server.delegate:
        text = "server.delegate is off, so each command opens the store itself"
    elif can_delegate(run.config):
        text = "the running server answers `opencode-memory recall`"
    else:
        text = "no running server has the same version, store and settings, so each command opens the store itself"
    yield Check("delegation", Level.OK, text)


def _check_model(run: Invocation) -> Iterator[Check]:
    from opencode_memory.cli.doctor.model import check_model  # noqa: PLC0415  loaded only when it runs

    config, environment = run.config.embedding, run.config.environment
    if not _has_store(run):
        yield from check_model(config, environment)
        return
    with run.open_store(background=False) as store:
        yield from check_model(config, environment, store)


def _check_other_systems(run: Invocation) -> Iterator[Check]:
    shared = default_data_dir(run.config.environment).parent.parent
    for file, about in _OTHER_SYSTEMS.items():
        if (shared / file).exists():
            text = f"{shared / file} belongs to {about}"
            yield Check("other system", Level.NOTE, text, "opencode-memory import FILE reads what it exports")


def _check_opencode(run: Invocation) -> Iterator[Check]:
    from opencode_memory.cli.doctor.opencode import check_opencode  # noqa: PLC0415  not needed for help

    yield from check_opencode(run)


_CHECKS: Final = {
    "installation": _check_installation,
    "configuration": _check_configuration,
    "data_dir": _check_data_dir,
    "store": _check_store,
    "delegation": _check_delegation,
    "model": _check_model,
    "opencode": _check_opencode,
    "other_systems": _check_other_systems,
}
