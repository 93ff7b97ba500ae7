"""Types of tool arguments that several tools share, with their limits."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

MemoryId = Annotated[str, Field(min_length=6, max_length=64, description="id, or its last 8 characters")]
Id = Annotated[str, Field(min_length=6, max_length=64)]
MemoryIds = Annotated[list[Id], Field(min_length=1, max_length=1000)]
ALONE: Final = 'stands alone, subject named, in the user\'s words: "Use X, not Y", not "this"'
"""Description of the text of a memory."""
Content = Annotated[str, Field(min_length=1, max_length=100_000)]
Detail = Annotated[str | None, Field(max_length=10_000)]
Reason = Annotated[str | None, Field(max_length=500)]
Name = Annotated[str | None, Field(max_length=512)]
Project = Annotated[str | None, Field(max_length=512, description="default: yours")]
Entities = Annotated[
    list[Annotated[str, Field(max_length=512)]] | None,
    Field(max_length=64, description="subjects, e.g. !12, src/app.py"),
]
Labels = Annotated[list[Annotated[str, Field(max_length=512)]] | None, Field(max_length=64)]
When = Annotated[str | None, Field(max_length=64, description="2026-03-31, yesterday, 3d")]
Limit = Annotated[int, Field(ge=1, le=100)]
SessionId = Annotated[str, Field(min_length=1, max_length=512)]
ItemRef = Annotated[str, Field(min_length=1, max_length=512, description="e.g. !12, #34, src/app.py")]
Key = Annotated[str, Field(min_length=1, max_length=512)]
FilePath = Annotated[str, Field(min_length=1, max_length=4096)]
CategoryName = Literal[
    "decision",
    "convention",
    "preference",
    "procedure",
    "fact",
    "context",
    "solution",
    "blocker",
    "event",
    "directive",
    "plan",
    "idea",
    "conversation",
]
AnyCategory = Annotated[str | None, Field(max_length=32, description="as in remember")]
ScopeName = Literal["project", "global"]
SourceName = Literal["memories", "sessions", "all"]
