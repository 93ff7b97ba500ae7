"""What holds for a whole process: nothing is imported early, nothing needs a network, a fork does no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def run(script: str, *, home: Path | None = None) -> str:
    """Run a script in a fresh interpreter, with any warning an error; returns what it printed."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script)]
    environment = os.environ | ({"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")} if home else {})
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env=environment)
    return done.stdout.strip()


def test_nothing_heavy_is_imported_before_the_first_text() -> None:
    heavy = run("""
        import sys
        from opencode_memory.embedding import BundledEmbedder
        embedder = BundledEmbedder()
        embedder.chunk("a short text needs no tokenizer")
        print(embedder.model_id, embedder.dimension, file=sys.stderr)
        print(sorted({"numpy", "onnxruntime", "tokenizers", "concurrent.futures"} & set(sys.modules)))
    """)

    assert heavy == "[]"


def test_bundled_model_and_engine_need_no_numpy(tmp_path: Path) -> None:
    """The package takes 73 MB, and only a model in a folder uses it."""
    found = run(f"""
        import sys
        sys.modules["numpy"] = None
        import opencode_memory
        from opencode_memory._core import place_vectors
        from opencode_memory.embedding.rows import to_rows
        from opencode_memory.server.pages.topics import find_topics
        with opencode_memory.open({str(tmp_path)!r}, background=False) as store:
            texts = ["The cat sat on the windowsill. " * 60, "PostgreSQL was chosen over MySQL"]
            ids = [store.remember(text).id for text in texts]
            store.indexes.embed_pending()
            assert store.recall("feline")[0].memory.id == ids[0]
            vectors = store.indexes.vectors_of(ids)
            rows = to_rows([value for vector in vectors for value in vector], len(vectors[0]))
            topics = find_topics(texts, rows)
            print(len(place_vectors(rows, [topic.members for topic in topics])))
    """)

    assert found == "2"


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    """onnxruntime's telemetry would leave a device id and a database in the home folder, and an uploader thread."""
    threads = run(
        """
        import sys
        from pathlib import Path
        from opencode_memory.embedding import BundledEmbedder
        def native_threads():
            return len(list(Path("/proc/self/task").iterdir())) if sys.platform == "linux" else 0
        before = native_threads()
        BundledEmbedder(threads=1).embed(["offline", "offline too"])
        print(native_threads() - before)
        """,
        home=tmp_path,
    )

    assert threads == "0"
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="macOS' own libraries do not survive a fork")
def test_a_forked_child_embeds_like_its_parent() -> None:
    outcome = run("""
        import os, sys, warnings
        import numpy as np
        from opencode_memory.embedding import BundledEmbedder
        embedder = BundledEmbedder(threads=2)
        texts = ["one text", "and " * 60] * 30
        before = embedder.embed(texts)
        warnings.simplefilter("ignore")  # from 3.12 on Python warns, as numpy's own threads are there
        child = os.fork()
        if child == 0:
            sys.exit(0 if np.allclose(embedder.embed(texts), before, atol=1e-5) else 3)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)

    assert outcome == "0"
