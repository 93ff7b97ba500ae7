"""State shared by all requests of one server: the store, the configuration and the metrics."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.config.paths import EXPORTS
from opencode_memory.embedding import find_model
from opencode_memory.embedding.tokenization import Tokenization
from opencode_memory.maintenance.health import check_health
from opencode_memory.projects.resolver import ProjectResolver
from opencode_memory.server.server_tasks import ServerTasks
from opencode_memory.server.typed_texts import TypedTexts

if TYPE_CHECKING:
    from opencode_memory.config.load import Config
    from opencode_memory.server.metrics import Metrics
    from opencode_memory.store.memory_store import MemoryStore

Operation = Callable[["MemoryStore", Any], dict[str, Any] | None]

_READABLE_LENGTH: Final = 40
_WARM_UP_QUERY: Final = "opencode-memory: nothing is about this"


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a server.

    Attributes:
        problems: Descriptions of problems; empty if the server is healthy.
        notes: Descriptions of states that need no action, for example memories that wait for their vectors.
        background: The process that computes embeddings, for example ``worker 4711`` or ``this process``.
    """

    problems: tuple[str, ...]
    notes: tuple[str, ...]
    background: str

    @property
    def ok(self) -> bool:
        """Whether the server is healthy."""
        return not self.problems

    @property
    def status(self) -> str:
        """``healthy`` or ``degraded``."""
        return "healthy" if self.ok else "degraded"


@dataclass(frozen=True, slots=True)
class Background:
    """The process that embeds and indexes for a server.

    Attributes:
        describe: Returns a short description of it.
        problems: Returns descriptions of its problems.
        wake: Notifies it of new memories.
        let_learn: Lets it learn from sessions, or pauses that.
    """

    describe: Callable[[], str] = lambda: "this process"
    problems: Callable[[], tuple[str, ...]] = tuple
    wake: Callable[[], None] = lambda: None
    let_learn: Callable[[bool], None] = lambda _may_learn: None


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state that all calls of one server share.

    Attributes:
        store: The store. It is bound to no project, because each call names its project.
        config: The configuration.
        metrics: The metrics; None for a server without ``/metrics``.
        background: The process that embeds and indexes.
        typed: What users typed in live sessions.
        operations: Operations that commands may delegate, by name. Each takes the store and a request of JSON values,
            and returns a result of JSON values; None if the command has to do it itself.
        tasks: Know whether the tasks of a resident server run.
        projects: Finds the project of a client's folder.
    """

    store: MemoryStore
    config: Config
    metrics: Metrics | None = None
    background: Background = field(default_factory=Background)
    typed: TypedTexts = field(default_factory=TypedTexts)
    operations: Mapping[str, Operation] = field(default_factory=dict)
    tasks: ServerTasks = field(default_factory=ServerTasks)
    projects: ProjectResolver = field(init=False)
    _tokenization: Tokenization = field(default_factory=lambda: Tokenization(find_model().vocabulary))

    def __post_init__(self) -> None:
        object.__setattr__(self, "projects", ProjectResolver(self.store, self.config.environment))

    @property
    def exports(self) -> Path:
        """The folder of the data directory that holds the exports of all clients."""
        return self.store.data_dir / EXPORTS

    def exports_of(self, project: str | None) -> Path:
        """Return the folder of exports that clients of one project, or clients without a project, may use."""
        if project is None:
            return self.exports / "global"
        # Project names contain slashes. Without them two names can be equal, so append a hash.
        readable = re.sub(r"[^\w.-]+", "-", project, flags=re.ASCII)[-_READABLE_LENGTH:].strip("-.")
        return self.exports / f"{readable}-{hashlib.sha256(project.encode()).hexdigest()[:12]}"

    @property
    def allowed_folders(self) -> tuple[Path, ...]:
        """Folders that the configuration allows for every client."""
        return tuple(Path(folder).expanduser() for folder in self.config.server.allowed_folders)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text with the tokenizer of the embedding model."""
        return sum(word.tokens for word in self._tokenization.words(text))

    def count_call(self, tool: str, outcome: str, seconds: float) -> None:
        """Record a tool call in the metrics."""
        if self.metrics is not None:
            self.metrics.calls.labels(tool, outcome).inc()
            self.metrics.seconds.labels(tool).observe(seconds)

    def count_recall(self, *, found: bool) -> None:
        """Record in the metrics whether a recall found any memory."""
        if self.metrics is not None:
            self.metrics.recalls.labels("hit" if found else "miss").inc()

    def count_late(self, cause: str) -> None:
        """Record in the metrics that a message got no memories in time."""
        if self.metrics is not None:
            self.metrics.late.labels(cause).inc()

    def wake_worker(self) -> None:
        """Notify the background process of new memories to embed."""
        self.background.wake()

    def warm_up(self) -> None:
        """Load the model and the indexes, so that the first recall of a client is fast."""
        self.count_tokens(_WARM_UP_QUERY)
        self.store.recall(_WARM_UP_QUERY, limit=1, entity=_WARM_UP_QUERY, unasked=True)

    def health(self) -> Health:
        """Check the store, the background process and the tasks of the server."""
        findings = check_health(self.store)
        problems = [
            *self.tasks.problems,
            *self.background.problems(),
            *(finding.text for finding in findings if finding.is_problem),
        ]
        notes = [finding.text for finding in findings if not finding.is_problem]
        return Health(tuple(problems), tuple(notes), self.background.describe())
