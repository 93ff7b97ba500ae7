"""Counts sentences that would replace an earlier one: ``python -m benches.quality.replacements --data DIR``.

Each sentence of LoCoMo, BEAM, DevMemBench and real sessions that a person said is stored as if it were a statement to
keep. Few of them change an earlier one, so nearly every replacement is wrong. ``--out`` writes the pairs for reading.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

import opencode_memory
from opencode_memory.learning.extraction.sentences import split_sentences
from opencode_memory.learning.extraction.typed_prose import extract_typed_prose

from .conversations import DataError
from .data_sets.beam import BEAM
from .data_sets.devmembench import DEVMEMBENCH
from .data_sets.locomo import LOCOMO
from .transcripts import data

_AGENT: Final = "assistant"
_LONGEST_MESSAGE: Final = 6_000
_WORDS: Final = range(4, 31)
_MOST_SENTENCES: Final = 1_500
"""Of one conversation. Every sentence is compared with those before it."""


def list_conversations(folder: Path) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name of the set and the messages of people of each conversation, in order."""
    for one in (LOCOMO, BEAM, DEVMEMBENCH):
        for conversation in one.load(folder / one.folder):
            yield one.title, (turn.text for turn in conversation.turns if turn.speaker != _AGENT)
    projects: dict[str, list[str]] = {}
    for session in data.read_sessions(folder / "real-sessions" / data.SESSIONS):
        said = projects.setdefault(session.project, [])
        said += [message.text for message in session.messages if message.role == data.PERSON]
    for texts in projects.values():
        yield "real sessions", iter(texts)


def list_sentences(messages: Iterator[str]) -> Iterator[str]:
    """Yield the sentences of messages that are neither questions nor very short or long."""
    for text in messages:
        if len(text) <= _LONGEST_MESSAGE:
            for sentence in split_sentences(extract_typed_prose(text)):
                core = sentence.core.strip()
                if not sentence.is_question and len(core.split()) in _WORDS:
                    yield core


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return 2 if the data cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with the sets")
    parser.add_argument("--out", type=Path, help="file for the pairs, one JSON object a line")
    options = parser.parse_args(arguments)
    counts: Counter[tuple[str, str]] = Counter()
    pairs: list[dict[str, str]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        opencode_memory.open(folder, embedder=None, background=False) as store,
    ):
        try:
            for number, (title, messages) in enumerate(list_conversations(options.data)):
                project = f"conversation/{number}"
                for place, sentence in enumerate(islice(list_sentences(messages), _MOST_SENTENCES)):
                    counts[title, "sentences"] += 1
                    if (found := store.learning.find_same_subject(sentence, project)) is not None:
                        relation = found.relation.value
                        counts[title, relation] += 1
                        pairs.append({"set": title, "relation": relation, "earlier": found.content, "later": sentence})
                    store.remember(sentence, project=project, category="fact", time=place * 1_000, pinned=True)
        except DataError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
    if options.out is not None:
        options.out.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs))
    for (title, what), count in sorted(counts.items()):
        print(f"{title}: {what} {count:,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
