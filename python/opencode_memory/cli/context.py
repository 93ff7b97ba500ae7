"""Invocation of a command: the global options, the configuration, the output and the store.

Each part is loaded when the command first uses it. For example, ``config show`` opens no store, and ``kv get`` loads no
model.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from opencode_memory.cli.options import GlobalOptions
from opencode_memory.cli.output import Output
from opencode_memory.config.load import Config, environment, load
from opencode_memory.config.sections import Color
from opencode_memory.config.setting import PREFIX
from opencode_memory.errors import InvalidInputError, OpencodeMemoryError, StorageError
from opencode_memory.text import clock
from opencode_memory.text.suggest import nearest

if TYPE_CHECKING:
    from opencode_memory.config.embedding import EmbeddingProvider
    from opencode_memory.embedding.factory import Embedders
    from opencode_memory.projects.resolver import ProjectResolver
    from opencode_memory.store.memory_store import MemoryStore


_EMBEDDING_SECONDS: Final = 3.0
"""Time that a command may embed at its end. Otherwise `remember` after an interrupted import could take minutes."""
_MANY: Final = 64


@dataclass(frozen=True)
class Invocation:
    """One run of one command."""

    given: GlobalOptions
    started_at: datetime = field(default_factory=clock.now)

    @cached_property
    def config(self) -> Config:
        """The configuration, including the global options."""
        options = {"data_dir": self.given.data_dir, "project": self.given.project, "color": self.given.color}
        return load(environment=environment(), options=options)

    def reload(self) -> None:
        """Read the configuration again, because the command changed it."""
        self.__dict__.pop("config", None)

    def use_defaults(self) -> None:
        """Go on without the configuration file and the variables, because they cannot be used."""
        kept = {name: text for name, text in environment().items() if not name.startswith(PREFIX)}
        self.__dict__["config"] = load(
            environment={**kept, f"{PREFIX}CONFIG": os.devnull}, options={"data_dir": self.given.data_dir}
        )

    @cached_property
    def out(self) -> Output:
        """The output of the command."""
        terminal = sys.stdout.isatty()
        color = self.config.color
        return Output(
            as_json=bool(self.given.as_json),
            color=color is Color.ALWAYS or (color is Color.AUTO and terminal),
            terminal=terminal,
            width=min(shutil.get_terminal_size().columns, 100) if terminal else 80,
        )

    def print_to(self, texts: IO[str]) -> None:
        """Print the answer of the command and its remarks, in their order, to another place from now on."""
        self.__dict__["out"] = replace(self.out, texts=texts, notes=texts)

    @cached_property
    def folder(self) -> Path:
        """The folder that determines the project.

        Raises:
            InvalidInputError: If it does not exist, or if this process may not enter it.
        """
        from opencode_memory.files import access  # noqa: PLC0415  see the module's docstring

        folder = Path(self.given.folder or ".")
        obstacle = access.find_obstacle(folder)
        if obstacle is not None:
            raise InvalidInputError(obstacle, field="--dir")
        return folder.absolute()

    def check_data_dir(self) -> None:
        """Check that the data directory does not exist yet, or is a folder that this process may enter.

        Raises:
            StorageError: It is not.
        """
        from opencode_memory.files import access  # noqa: PLC0415  see the module's docstring

        folder = self.config.data_dir
        obstacle = access.find_obstacle(folder, may_be_missing=True)
        if obstacle is not None:
            error = StorageError(f"data_dir: {obstacle}", path=str(folder))
            error.hint = f"it is set by {self.config.origins['data_dir']}; name the folder of a store"
            raise error

    @cached_property
    def work_tree(self) -> Path | None:
        """The working tree that contains the folder; None outside a repository or if an option names the project."""
        from opencode_memory.projects.resolver import work_tree  # noqa: PLC0415  see the module's docstring

        return work_tree(self.folder) if self.config.project is None else None

    @contextmanager
    def open_store(self, *, creates_project: bool = False, background: bool = True) -> Iterator[MemoryStore]:
        """Open the store for the project that an option names, or for the project of the folder.

        A store that this process cannot write, for example on a read-only file system, is opened for reading. Writes
        are then refused.

        Args:
            creates_project: Whether to register an unknown project. Read-only commands do not, because an unknown
                project has no memories.
            background: Whether a thread embeds new memories until the store is closed. Bulk commands embed in the
                foreground instead, with a progress bar.
        """
        with self._open(background=background) as store:
            self._read_sessions(store)
            try:
                yield self.bind(store, creates_project=creates_project)
            finally:
                # A store that cannot be read has failed the command already, and its error must not be hidden.
                with suppress(OpencodeMemoryError):
                    self._finish_embedding(store)
            if store.is_writable:
                self.offer_relearning(store)

    def _open(self, *, background: bool) -> MemoryStore:
        """Open the store; for reading if it cannot be written, or if SQLite finds no space for its working files."""
        project = self.config.project
        try:
            return self._open_as(read_only=self.is_read_only(), project=project, background=background)
        except StorageError as error:
            from opencode_memory.files import access  # noqa: PLC0415  see the module's docstring

            if not access.is_full(self.config.data_dir):
                raise
            try:
                store = self._open_as(read_only=True, project=project, background=background)
            except OpencodeMemoryError:
                raise error from None
            self.out.note(f"There is no space left for {self.config.data_dir}: memories can be read, but not changed.")
            return store

    def _open_as(
        self, *, read_only: bool, project: str | None = None, actor: str = "user", background: bool = True
    ) -> MemoryStore:
        import opencode_memory  # noqa: PLC0415  see the module's docstring
        from opencode_memory.cli.warning_lines import clean_warnings  # noqa: PLC0415  see the module's docstring

        clean_warnings()
        return opencode_memory.open(
            self.config.data_dir,
            project=project,
            embedder=self._embedders.of_memories,
            other_embedders=self._embedders.others,
            session_embedder=self._embedders.of_sessions,
            read_only=read_only,
            actor=actor,
            background=background,
        )

    def bind(self, store: MemoryStore, *, creates_project: bool = False) -> MemoryStore:
        """Return a store bound to the project that an option names, or to the project of the folder."""
        if self.config.project is not None:
            if self.given.project is not None:
                self._note_unknown_project(store, self.config.project, is_created=creates_project)
            return store.for_project(self.config.project)
        projects = self._resolver(store)
        project = projects.ensure(self.folder) if creates_project else projects.find(self.folder)
        bound = store.for_project(project)
        return bound if project is None else bound.in_work_trees(project, [self.work_tree or self.folder])

    @cached_property
    def _noted_projects(self) -> set[str]:
        """Names that the user was told of. The doctor opens the store several times."""
        return set()

    def _note_unknown_project(self, store: MemoryStore, name: str, *, is_created: bool) -> None:
        """Tell the user that the option names no project. A command that creates it only tells of a similar name."""
        names = store.projects.names()
        if name in names or name in self._noted_projects:
            return
        self._noted_projects.add(name)
        near = nearest(name, names)
        if near is not None:
            self.out.note(f"No project is named {name!r} yet; did you mean {near!r}?")
        elif names and not is_created:
            self.out.note(f"No project is named {name!r}. `opencode-memory projects list` lists them.")

    def check_files_belong(self, store: MemoryStore) -> None:
        """Refuse an option that names another project than that of the folder, because its files show that one.

        Raises:
            InvalidInputError: The option names another project, and the store knows the folder's one.
        """
        own = None
        if self.given.project is not None:
            # A folder whose path is not UTF-8 has no project of its own.
            with suppress(InvalidInputError):
                own = self._resolver(store).find(self.folder)
        if own is not None and own != store.project:
            shown = f"the files of this folder show the memories of the project {own!r}"
            error = InvalidInputError(f"{shown}, not those of {store.project!r}", field="--project")
            error.hint = f"run the command in a folder of {store.project!r}, or without --project"
            raise error

    def name_project(self, store: MemoryStore) -> str:
        """Return the name of the folder's project, or the name that it would get."""
        return self._resolver(store).name(self.folder)

    def select_project(self, store: MemoryStore, scope: str | None, *, all_projects: bool = False) -> str | None:
        """Return the project to search: a name, ``ALL_PROJECTS``, or None for the one that the store is bound to.

        A folder without memories has no project yet. If only the project's memories are wanted, its future name stands
        for it, so that the search finds nothing instead of failing.
        """
        from opencode_memory.models import ALL_PROJECTS, ScopeKind  # noqa: PLC0415  see the module's docstring

        if all_projects:
            return ALL_PROJECTS
        return self.name_project(store) if store.project is None and scope == ScopeKind.PROJECT else None

    def _resolver(self, store: MemoryStore) -> ProjectResolver:
        from opencode_memory.projects.resolver import ProjectResolver  # noqa: PLC0415  see the module's docstring

        return ProjectResolver(store, self.config.environment)

    @contextmanager
    def open_unbound_store(self, *, actor: str, background: bool = True) -> Iterator[MemoryStore]:
        """Open the store for a server or a worker, which serves all projects; read-only as ``open_store`` does.

        Args:
            actor: The writer that the history names.
            background: Whether this process embeds and indexes.
        """
        with self._open_as(read_only=self.is_read_only(), actor=actor, background=background) as store:
            self._read_sessions(store)
            yield store

    @contextmanager
    def open_read_only(self) -> Iterator[MemoryStore]:
        """Open the store read-only and for no project, so that not even usage counts change.

        Raises:
            StorageError: If there is no store.
        """
        self.check_data_dir()
        with self._open_as(read_only=True) as store:
            yield store

    def _finish_embedding(self, store: MemoryStore) -> None:
        """Embed for some seconds what waits, for example what an interrupted command left, and tell what remains."""
        waiting = store.indexes.finish(seconds=_EMBEDDING_SECONDS)
        if waiting >= _MANY:
            from opencode_memory.cli.unembedded import describe_rest  # noqa: PLC0415  see the module's docstring

            self.out.note(describe_rest(waiting))

    def is_read_only(self) -> bool:
        """Return whether there is a store that this process cannot write.

        Raises:
            StorageError: The data directory is a file, or a folder that this process may not enter.
        """
        self.check_data_dir()
        from opencode_memory.files import access  # noqa: PLC0415  see the module's docstring

        files = (self.config.data_dir, self.config.data_dir / "store.db")
        return all(file.exists() for file in files) and not all(access.is_writable(file) for file in files)

    def _read_sessions(self, store: MemoryStore) -> None:
        """Let the store read the texts of turns from the databases that hold them."""
        from opencode_memory.hosts.opencode.turns.attach import read_sessions  # noqa: PLC0415  see the module's docstring

        read_sessions(store, self.config.learning)

    def offer_relearning(self, store: MemoryStore) -> None:
        """Tell the user at a terminal once that the rules of learning changed. Programs do not use up the offer."""
        if self.out.as_json or not self.out.terminal:
            return
        from opencode_memory.learning.relearn.offer import take_offer  # noqa: PLC0415  see the module's docstring

        offer = take_offer(store)
        if offer is not None:
            self.out.note(offer)

    @cached_property
    def _embedders(self) -> Embedders:
        from opencode_memory.embedding.factory import build_embedders  # noqa: PLC0415  see the module's docstring

        return build_embedders(self.config.embedding, self.config.environment)

    def use_provider(self, provider: EmbeddingProvider) -> None:
        """Embed with this provider from now on, instead of the configured one.

        Raises:
            ConfigError: A setting of the provider is missing.
            InvalidInputError: A setting of the provider is invalid.
        """
        from opencode_memory.embedding.factory import build_embedders  # noqa: PLC0415  see the module's docstring

        changed = replace(self.config.embedding, provider=provider)
        self.__dict__["_embedders"] = build_embedders(changed, self.config.environment)
