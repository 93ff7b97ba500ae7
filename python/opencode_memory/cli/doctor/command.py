"""``opencode-memory doctor``: is everything in place for remembering and recalling here?"""

from __future__ import annotations

import os
import platform
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import click

from opencode_memory.cli.command import command
from opencode_memory.cli.context import Invocation
from opencode_memory.cli.doctor.checks import Check, Curable, Cure, Level, Remedy, embedding_checks, print_check
from opencode_memory.cli.doctor.fix import apply
from opencode_memory.cli.errors import DONE, NOTHING_FOUND
from opencode_memory.cli.output import dim
from opencode_memory.config.paths import default_data_dir
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.text.formatting import counted

_SAMPLE: Final = 200
_ENOUGH_BYTES: Final = 200 * 1000 * 1000
_OTHER_SYSTEMS: Final = {
    "opencode-memory/memory.db": "opencode-semantic-memory; export there with memory_export_memories",
    "opencode/memory/memory.db": "@opencode-manager/memory; export there with its own ocm-mem export",
}


@command("doctor")
@click.option(
    "--recall", is_flag=True, help="Ask the store for its own memories instead, and look for pairs and leftovers."
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    metavar="N",
    help=f"With --recall: how many memories to ask for.  [default: {_SAMPLE}]",
)
@click.option("--fix", is_flag=True, help="Do what is safe: setup again, serve --detach, permissions; then look again.")
def doctor(run: Invocation, *, recall: bool, sample: int | None, fix: bool) -> int:
    """Check the installation, the configuration, the store, the model and OpenCode; 1 when something is wrong.

    With --recall: check whether memories are found by the rarest of their own words and by their topics, and look for
    near duplicates, contradictions, and what is unused or stale. Looks at all projects unless -p names one, and changes
    nothing.
    """
    if recall and fix:
        raise click.UsageError("--recall changes nothing, so --fix does not go with it", click.get_current_context())
    if recall:
        from opencode_memory.cli.doctor.recall import examine  # noqa: PLC0415  loads the engine, which a help needs not

        return examine(run, sample=_SAMPLE if sample is None else sample)
    if sample is not None:
        raise click.UsageError("--sample goes with --recall", click.get_current_context())
    checks, done = _look(run), []
    if fix:
        done = [_apply(run, remedy) for remedy in dict.fromkeys(filter(None, map(_remedy, checks)))]
        checks = _look(run) if done else checks
    is_well = all(check.level is not Level.PROBLEM for check in checks)
    if run.out.as_json:
        run.out.json({"ok": is_well, "checks": _told(checks)} | ({"fixes": _told(done)} if fix else {}))
        return DONE if is_well else NOTHING_FOUND
    for check in [*done, *checks]:
        print_check(run.out, check)
        if check.hint is not None:
            run.out.line(dim(f"{'':<22}{check.hint}"))
    return DONE if is_well else NOTHING_FOUND


def _look(run: Invocation) -> list[Check]:
    return [check for look in _LOOKS for check in _guarded(look, run)]


def _told(checks: Iterable[Check]) -> list[dict[str, object]]:
    """Return the same fields of each, whatever helps."""
    return [
        {"name": one.name, "level": one.level, "text": one.text, "hint": one.hint, "fixable": _remedy(one) is not None}
        for one in checks
    ]


def _remedy(check: Check) -> Remedy | None:
    return check.remedy if isinstance(check, Curable) else None


def _apply(run: Invocation, remedy: Remedy) -> Check:
    try:
        return Check("fix", Level.OK, apply(run, remedy))
    except (OpencodeMemoryError, OSError) as error:
        return Check("fix", Level.PROBLEM, f"{remedy.cure}: {error}", getattr(error, "hint", None))


def _guarded(look: Callable[[Invocation], Iterator[Check]], run: Invocation) -> Iterator[Check]:
    """Turn what a look cannot do into a problem, so that the others still tell."""
    try:
        yield from look(run)
    except (OpencodeMemoryError, OSError) as error:
        yield Check(look.__name__.strip("_"), Level.PROBLEM, str(error), getattr(error, "hint", None))


def _installation(_run: Invocation) -> Iterator[Check]:
    import opencode_memory  # noqa: PLC0415  loaded only when it runs

    where = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Check("installation", Level.OK, f"opencode-memory {opencode_memory.__version__}, {where}")
    if shutil.which("git") is None:
        yield Check("git", Level.NOTE, "git is not installed: projects without a remote are known by their folder only")


def _configuration(run: Invocation) -> Iterator[Check]:
    file = run.config.file
    yield Check("configuration", Level.OK, str(file) if file.exists() else f"defaults; {file} does not exist")
    for notice in run.config.notices:
        level = Level.PROBLEM if notice.level == "error" else Level.NOTE
        yield Check("configuration", level, notice.text, notice.hint)


def _data_dir(run: Invocation) -> Iterator[Check]:
    folder = run.config.data_dir
    if not folder.exists():
        yield Check("data_dir", Level.NOTE, f"{folder} does not exist yet; the first memory creates it")
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        text, remedy = f"others may look into {folder} ({mode:o})", Remedy(Cure.CHMOD, path=folder, mode=0o700)
        yield Curable("data_dir", Level.PROBLEM, text, f"chmod 700 {folder}", remedy)
    elif not os.access(folder, os.W_OK):
        yield Check("data_dir", Level.PROBLEM, f"{folder} cannot be written")
    else:
        yield Check("data_dir", Level.OK, str(folder))
    free = shutil.disk_usage(folder).free
    if free < _ENOUGH_BYTES:
        yield Check("disk", Level.PROBLEM, f"only {free / 1e6:,.0f} MB are free")


def _store(run: Invocation) -> Iterator[Check]:
    if not run.config.data_dir.exists():
        return
    with run.open_store() as store:
        stats = store.stats()
        yield Check("store", Level.OK, f"{stats.memories} memories in {stats.projects} projects")
        yield from embedding_checks(stats.pending_embeddings, stats.model_mismatch)
        if dead := sum(counts.dead for counts in store.jobs.counts()):
            yield Check("jobs", Level.PROBLEM, f"{counted(dead, 'job')} failed for good", "opencode-memory jobs")
        if store.project is None:
            yield Check("project", Level.NOTE, f"{run.folder} has no memories yet")
        else:
            yield Check("project", Level.OK, store.project)


def _model(_run: Invocation) -> Iterator[Check]:
    from opencode_memory.embedding import OnnxEmbedder, verify_model  # noqa: PLC0415  loaded only when it runs

    embedder = OnnxEmbedder(verify_model())
    vector = embedder.embed_query("Is the model there?")
    yield Check("model", Level.OK, f"{embedder.model_id}, {len(vector)} dimensions")


def _other_systems(run: Invocation) -> Iterator[Check]:
    shared = default_data_dir(run.config.environment).parent.parent
    for file, about in _OTHER_SYSTEMS.items():
        if (shared / file).exists():
            text = f"{shared / file} belongs to {about}"
            yield Check("other system", Level.NOTE, text, "opencode-memory import FILE reads what it exports")


def _opencode(run: Invocation) -> Iterator[Check]:
    from opencode_memory.cli.doctor.opencode import look_at_opencode  # noqa: PLC0415  loads what a help needs not

    yield from look_at_opencode(run)


_LOOKS: Final = (_installation, _configuration, _data_dir, _store, _model, _opencode, _other_systems)
