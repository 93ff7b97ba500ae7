"""A folder of files for the tests of the mirror."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from opencode_memory import MemoryStore
from opencode_memory.mirror import MirrorReport, Place, global_place, project_place, sync
from opencode_memory.models import Memory, Scope, Status
from support.memory_files import git

ENVIRONMENT = {"PATH": os.environ["PATH"]}


@dataclass
class Scene:
    """A store and a folder with its files."""

    store: MemoryStore
    place: Place

    def sync(self, **options: Any) -> MirrorReport:
        """Synchronize, at the real time, because the times of files are real."""
        # In the future, so that the times of files count as settled and unchanged files are not read again.
        at = datetime.now(UTC) + timedelta(minutes=1)
        return sync(self.store, self.place, at=at, environment=ENVIRONMENT, **options)

    def file(self, name: str = "") -> Path:
        """Return the file with this part in its name; there must be one."""
        [path] = [path for path in self.files() if name in path.name]
        return path

    def files(self) -> list[Path]:
        """Return the Markdown files."""
        return sorted(self.place.path.glob("*.md"))

    def texts(self, status: Status = Status.ACTIVE) -> list[str]:
        """Return the texts of the memories of the place."""
        return sorted(memory.content for memory in self.memories(status))

    def memories(self, status: Status = Status.ACTIVE) -> list[Memory]:
        """Return the memories of the place."""
        return self.store.list(scope=Scope.owned_by(self.place.project), status=status, limit=100_000)

    def replace(self, before: str, after: str, name: str = "port") -> Path:
        """Edit a file in place."""
        path = self.file(name)
        text = path.read_bytes().decode()
        assert before in text
        path.write_bytes(text.replace(before, after).encode())
        return path

    def git(self, *arguments: str) -> str:
        """Run git in the work tree."""
        return git(self.place.top, *arguments)

    def track(self) -> None:
        """Commit the files; without our list of what to ignore, git keeps them."""
        (self.place.path / ".gitignore").unlink(missing_ok=True)
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--message", "files")


def project_scene(store: MemoryStore, folder: Path) -> Scene:
    """Return the folder of a project in a new repository."""
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    place = project_place(folder, "app", {})
    assert place is not None
    return Scene(store, place)


def global_scene(store: MemoryStore, home: Path) -> Scene:
    """Return the folder of the global memories."""
    home.mkdir()
    place = global_place({"HOME": str(home)})
    assert place is not None
    return Scene(store, place)
