"""Runs the ONNX model of a folder: its inputs, its outputs, and the pooling of its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opencode_memory.config.embedding import Pooling
from opencode_memory.embedding.folder.onnx import open_graph
from opencode_memory.errors import EmbeddingError, ModelNotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from opencode_memory.embedding.base import Vectors
    from opencode_memory.embedding.folder.description import FolderModel

_POOLED: Final = "sentence_embedding"
_CACHE: Final = "past_key_values."


class FolderSession:
    """A loaded model; safe from threads.

    Raises:
        EmbeddingError: onnxruntime cannot be imported.
        ModelNotFoundError: The file is damaged, or the model has inputs or outputs that are not known.
    """

    def __init__(self, model: FolderModel) -> None:
        self._model = model
        self._session: Any = open_graph(model.graph)
        self._inputs = {given.name: given for given in self._session.get_inputs()}
        known = {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
        unknown = [name for name in self._inputs if name not in known and not name.startswith(_CACHE)]
        if unknown:
            raise ModelNotFoundError(f"{model.graph} has inputs that are not known: {', '.join(unknown)}")
        self._output = self._choose_output()

    def run(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Run the model over one batch.

        Args:
            rows: The token ids of at least one text; shorter rows are padded at their end.

        Returns:
            float32, shape (number of rows, dimension), each row of length 1.

        Raises:
            EmbeddingError: The model failed, or a vector has no length.
        """
        import numpy as np  # noqa: PLC0415 - loaded with the model

        mask = np.zeros((len(rows), max(map(len, rows))), np.int64)
        ids = np.zeros_like(mask)
        for line, row in enumerate(rows):
            ids[line, : len(row)] = row
            mask[line, : len(row)] = 1
        try:
            output = self._session.run([self._output], self._feed(ids, mask))[0]
        except Exception as error:  # onnxruntime's exceptions have no closer base
            message = f"the model {self._model.model_id} failed on a batch of shape {ids.shape}: {error}"
            raise EmbeddingError(message) from error
        pooled = output if output.ndim == 2 else self._pool(output, mask)  # noqa: PLR2004  rows and values
        vectors: npt.NDArray[np.float32] = pooled[:, : self._model.dimension].astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # The comparison is false for NaN, too.
        if vectors.shape[1] != self._model.dimension or not np.all((lengths > 0) & (lengths < np.inf)):
            raise EmbeddingError(f"the model {self._model.model_id} returned a vector that cannot be compared")
        vectors /= lengths
        return vectors.data.cast("B").cast("f", vectors.shape)

    def _feed(self, ids: npt.NDArray[np.int64], mask: npt.NDArray[np.int64]) -> dict[str, Any]:
        import numpy as np  # noqa: PLC0415 - loaded with the model

        values = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
        }
        feed = {name: value for name, value in values.items() if name in self._inputs}
        for name, given in self._inputs.items():
            if name.startswith(_CACHE):
                # Nothing was read before: no positions, for each head.
                kind = np.float16 if given.type == "tensor(float16)" else np.float32
                feed[name] = np.zeros((len(ids), given.shape[1], 0, given.shape[3]), kind)
        return feed

    def _pool(self, tokens: npt.NDArray[np.float32], mask: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - loaded with the model

        if self._model.pooling is Pooling.CLS:
            return tokens[:, 0]
        if self._model.pooling is Pooling.LAST:
            last: npt.NDArray[np.float32] = tokens[np.arange(len(tokens)), mask.sum(axis=1) - 1]
            return last
        weights = mask[:, :, None].astype(np.float32)
        mean: npt.NDArray[np.float32] = (tokens * weights).sum(axis=1) / weights.sum(axis=1)
        return mean

    def _choose_output(self) -> str:
        outputs = {given.name: given for given in self._session.get_outputs()}
        for name in (_POOLED, "last_hidden_state", "token_embeddings"):
            if name in outputs:
                return name
        message = f"{self._model.graph} has no output last_hidden_state, but {', '.join(outputs)}"
        raise ModelNotFoundError(message)
