"""What lives as long as a server does: the store, the configuration, and what is counted."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from opencode_memory.config.paths import EXPORTS
from opencode_memory.embedding import find_model
from opencode_memory.embedding.tokenization import Tokenization
from opencode_memory.errors import OpencodeMemoryError
from opencode_memory.projects.resolver import ProjectResolver

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.server.metrics import Metrics
    from opencode_memory.store.memory_store import MemoryStore

_READABLE_LENGTH: Final = 40
_ANYTHING: Final = "opencode-memory: nothing is about this"


@dataclass(frozen=True, slots=True)
class Health:
    """How a server is.

    Attributes:
        problems: What is wrong, in words; nothing when all is well.
        background: What embeds: ``worker 4711``, ``this process`` ….
    """

    problems: tuple[str, ...]
    background: str

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def word(self) -> str:
        """The same in a word."""
        return "healthy" if self.ok else "degraded"


@dataclass(frozen=True, slots=True)
class Background:
    """What embeds and indexes behind a server's back.

    Attributes:
        describe: Says what it is.
        problems: Says what is wrong with it.
        wake: Tells it that something was written.
    """

    describe: Callable[[], str] = lambda: "this process"
    problems: Callable[[], tuple[str, ...]] = tuple
    wake: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class ServerState:
    """What every call of one server shares.

    Attributes:
        store: The store, bound to no project: each call says which one it is about.
        config: The configuration.
        metrics: What is counted; None where nobody could read it.
        background: What embeds and indexes.
        projects: Finds the project of a client's folder.
    """

    store: MemoryStore
    config: Config
    metrics: Metrics | None = None
    background: Background = field(default_factory=Background)
    projects: ProjectResolver = field(init=False)
    _tokenization: Tokenization = field(default_factory=lambda: Tokenization(find_model().tokenizer))

    def __post_init__(self) -> None:
        object.__setattr__(self, "projects", ProjectResolver(self.store, self.config.environment))

    @property
    def exports(self) -> Path:
        """The folder of the data directory where all exports of clients lie."""
        return self.store.data_dir / EXPORTS

    def exports_of(self, project: str | None) -> Path:
        """Return the folder of the exports where the clients of a project, or those without one, may read and write."""
        if project is None:
            return self.exports / "global"
        # The name of a project holds slashes, and what is left without them may fit two projects.
        readable = re.sub(r"[^\w.-]+", "-", project, flags=re.ASCII)[-_READABLE_LENGTH:].strip("-.")
        return self.exports / f"{readable}-{hashlib.sha256(project.encode()).hexdigest()[:12]}"

    @property
    def allowed_folders(self) -> tuple[Path, ...]:
        """Folders that the configuration opens to every client."""
        return tuple(Path(folder).expanduser() for folder in self.config.server.allowed_folders)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text as the embedder's model does."""
        return sum(word.tokens for word in self._tokenization.words(text))

    def count_call(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a call of a tool."""
        if self.metrics is not None:
            self.metrics.calls.labels(tool, outcome).inc()
            self.metrics.seconds.labels(tool).observe(seconds)

    def count_recall(self, *, found: bool) -> None:
        """Count a recall by whether it found anything."""
        if self.metrics is not None:
            self.metrics.recalls.labels("hit" if found else "miss").inc()

    def wake_worker(self) -> None:
        """Say that something was written that has to be embedded."""
        self.background.wake()

    def warm_up(self) -> None:
        """Load what a recall needs, so that the next one is quick."""
        self.count_tokens(_ANYTHING)
        self.store.recall(_ANYTHING, limit=1, entity=_ANYTHING, unasked=True)

    def health(self) -> Health:
        """Look whether the store answers and the background works."""
        problems = list(self.background.problems())
        try:
            self.store.count(scope="global")
        except OpencodeMemoryError as error:
            problems.append(f"the store does not answer: {error}")
        return Health(tuple(problems), self.background.describe())
