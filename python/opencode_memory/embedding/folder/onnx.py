"""How onnxruntime is set up for the model of a folder.

Each run uses one thread; ``run_batches`` gets its speed from running several batches at once. Against one batch on all
threads this is faster (no barrier after each operator), keeps its speed when another process takes a core, and leaves
nothing behind that a ``fork`` could break.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from opencode_memory.embedding.folder.extra import missing_library
from opencode_memory.errors import ModelNotFoundError

if TYPE_CHECKING:
    from pathlib import Path


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
        import onnxruntime  # noqa: PLC0415  part of an extra
    except ImportError as error:
        raise missing_library("onnxruntime", error) from error
    # For a process that imported it before us. The other half, the uploader, then belongs to that process.
    onnxruntime.disable_telemetry_events()
    return onnxruntime
