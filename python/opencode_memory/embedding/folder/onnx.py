"""A model in memory: how onnxruntime is set up, and how one batch goes through it.

Each run uses one thread; ``run_batches`` gets its speed from running several batches at once. Against one batch on all
threads this is faster (no barrier after each operator), keeps its speed when another process takes a core, and leaves
nothing behind that a ``fork`` could break.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from opencode_memory.errors import EmbeddingError, ModelNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from opencode_memory.embedding.base import Vectors
    from opencode_memory.embedding.registry import Model


class Session:
    """A loaded model; safe from threads.

    Raises:
        EmbeddingError: onnxruntime cannot be imported.
        ModelNotFoundError: The model's file is missing or damaged.
    """

    def __init__(self, model: Model) -> None:
        model.graph.check_size()
        self._model_id = model.model_id
        self._session: Any = open_graph(model.graph.path)

    def run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Run the model over one batch.

        Args:
            rows: The token ids of at least one text; shorter rows are padded.

        Returns:
            float32, shape (number of rows, dimension), each row of length 1.

        Raises:
            EmbeddingError: The model failed.
        """
        import numpy as np  # noqa: PLC0415 - loaded with the model

        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(ids)
        for line, row in enumerate(rows):
            ids[line, : len(row)] = row
            mask[line, : len(row)] = 1
        try:
            vectors: Vectors = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0]
        except Exception as error:  # onnxruntime's exceptions have no closer base
            message = f"the model {self._model_id} failed on a batch of shape {ids.shape}: {error}"
            raise EmbeddingError(message) from error
        return vectors


def open_graph(file: Path) -> Any:
    """Load an ONNX file for runs on one thread each; return onnxruntime's session.

    Raises:
        EmbeddingError: onnxruntime cannot be imported.
        ModelNotFoundError: The file is missing or damaged.
    """
    onnxruntime = _import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    # The arena keeps what the largest batch needed. As `batching` bounds a batch, that is about 30 MB for a thread,
    # less than malloc keeps without the arena, and saves 7 % of the time in page faults.
    options.enable_cpu_mem_arena = True
    # It would keep a plan for each shape that was ever seen, and nearly every batch has its own.
    options.enable_mem_pattern = False
    options.log_severity_level = 3  # errors, which also arrive as exceptions
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no closer base
        message = f"the model file {file} could not be loaded: {error}"
        raise ModelNotFoundError(message) from error


def _import_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry off.

    The official builds send events over HTTPS: from the import on they run an uploader thread, and keep a device id and
    a database in the user's cache folder. This variable is the only thing that prevents all of it, and only before the
    first import in the process. It is told to the library alone: ``os.environ``, which is the user's configuration,
    stays as it is.

    Raises:
        EmbeddingError: It is not installed, or not for this platform.
    """
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    try:
        import onnxruntime  # noqa: PLC0415 - costs as much as a whole command
    except ImportError as error:
        message = f"onnxruntime cannot be imported: {error}"
        raise EmbeddingError(message) from error
    # For a process that imported it before us. The other half, the uploader, then belongs to that process.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def run_batches(
    run: Callable[[list[int]], None],
    batches: Sequence[list[int]],
    *,
    threads: int,
    done: Callable[[list[int]], None],
) -> None:
    """Run batches at the same time.

    A Ctrl-C, or anything else that is raised, ends the call when the batches that are running have ended; those that
    wait are dropped.

    Args:
        run: Processes a batch, in any thread.
        batches: What to process, started in this order.
        threads: How many at once.
        done: Called in the calling thread after each batch, in the order in which they end.
    """
    if min(threads, len(batches)) == 1:
        for batch in batches:
            run(batch)
            done(batch)
        return
    from concurrent.futures import ThreadPoolExecutor, as_completed  # noqa: PLC0415 - not needed by a query

    pool = ThreadPoolExecutor(min(threads, len(batches)), thread_name_prefix="embed")
    try:
        futures = {pool.submit(run, batch): batch for batch in batches}
        for future in as_completed(futures):
            future.result()
            done(futures[future])
    finally:
        pool.shutdown(cancel_futures=True)
