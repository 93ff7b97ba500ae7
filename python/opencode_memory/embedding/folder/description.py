"""Description of the model in a folder: pooling, prefixes, length of vectors, read from the model's own files.

The layout is that of sentence-transformers: https://sbert.net/docs/sentence_transformer/usage/custom_models.html.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from opencode_memory.config.embedding import MOST_DIMENSIONS, Pooling
from opencode_memory.errors import ConfigError, ModelNotFoundError

if TYPE_CHECKING:
    from opencode_memory.config.embedding import EmbeddingConfig

_GRAPHS: Final = ("onnx/model.onnx", "model.onnx")
_POOLINGS: Final = {
    "pooling_mode_lasttoken": Pooling.LAST,
    "pooling_mode_cls_token": Pooling.CLS,
    "pooling_mode_mean_tokens": Pooling.MEAN,
}
_LONGEST_WINDOW: Final = 512
"""Tokens. Texts are cut into shorter pieces, so more is needed for a tokenizer with shorter tokens only."""
_HASHED: Final = 65_536
_DIGITS: Final = 12
_HINT: Final = "embedding.folder must name a folder with an ONNX model, config.json and tokenizer.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderModel:
    """A model in a folder.

    Attributes:
        name: Name of the folder.
        graph: The ONNX file.
        tokenizer: The file of the ``tokenizers`` library.
        pooling: How a vector is made of those of the tokens.
        dimension: Length of the vectors; shorter ones are the beginning of the model's own (Matryoshka).
        window: Most tokens that the model reads at once.
        query_prefix: Text in front of each query.
        text_prefix: Text in front of each text.
        digest: Hash of what decides whether vectors can be compared.
    """

    name: str
    graph: Path
    tokenizer: Path
    pooling: Pooling
    dimension: int
    window: int
    query_prefix: str
    text_prefix: str
    digest: str

    @property
    def model_id(self) -> str:
        """Name, length of the vectors, and a hash of the files and of the settings."""
        return f"folder:{self.name}:{self.dimension}@{self.digest}"


def read_folder(config: EmbeddingConfig) -> FolderModel:
    """Describe the model in the configured folder.

    Raises:
        ConfigError: The folder is not set, or a setting does not fit its model.
        ModelNotFoundError: A file is missing or damaged.
    """
    folder = config.folder
    if folder is None:
        error = ConfigError("embedding.folder is not set", key="embedding.folder", origin="default")
        error.hint = _HINT
        raise error
    graph, tokenizer = _find_graph(folder, config.model), folder / "tokenizer.json"
    about = _read_json(folder / "config.json")
    hidden = about.get("hidden_size")
    if type(hidden) is not int or not 0 < hidden <= MOST_DIMENSIONS:
        raise _unusable(f"{folder / 'config.json'} has no usable hidden_size")
    dimension = config.dimensions or hidden
    if dimension > hidden:
        raise ConfigError(
            f"embedding.dimensions is {dimension}, but the model has {hidden}",
            key="embedding.dimensions",
            origin="file",
        )
    prompts = _prompts(folder)
    query_prefix = config.query_prefix or prompts.get("query", "")
    text_prefix = config.text_prefix or prompts.get("document", prompts.get("passage", ""))
    pooling = _pooling(folder, about) if config.pooling is Pooling.AUTO else config.pooling
    recipe = json.dumps([pooling, hidden, query_prefix, text_prefix])
    return FolderModel(
        name=folder.resolve().name,
        graph=graph,
        tokenizer=tokenizer,
        pooling=pooling,
        dimension=dimension,
        window=_window(folder, about),
        query_prefix=query_prefix,
        text_prefix=text_prefix,
        digest=_digest(recipe, graph, tokenizer),
    )


def _find_graph(folder: Path, name: str | None) -> Path:
    for candidate in _GRAPHS if name is None else (name,):
        if Path(candidate).is_absolute() or ".." in Path(candidate).parts:
            raise _unusable(f"embedding.model: {candidate} is not a file in {folder}")
        if (folder / candidate).is_file():
            return folder / candidate
    raise _unusable(f"{folder} has no {' and no '.join(_GRAPHS) if name is None else name}")


def _pooling(folder: Path, about: dict[str, Any]) -> Pooling:
    file = folder / "1_Pooling" / "config.json"
    if not file.exists():
        # Models that read from left to right know the whole text at its last token only.
        return Pooling.LAST if about.get("model_type") in ("qwen2", "qwen3") else Pooling.MEAN
    modes = _read_json(file)
    chosen = [name for name, value in modes.items() if name.startswith("pooling_mode_") and value is True]
    if len(chosen) != 1 or chosen[0] not in _POOLINGS:
        raise _unusable(f"{file} asks for {', '.join(chosen) or 'no pooling'}; set embedding.pooling")
    return _POOLINGS[chosen[0]]


def _prompts(folder: Path) -> dict[str, str]:
    file = folder / "config_sentence_transformers.json"
    prompts = _read_json(file).get("prompts") if file.exists() else None
    return {name: text for name, text in (prompts or {}).items() if isinstance(text, str)}


def _window(folder: Path, about: dict[str, Any]) -> int:
    file = folder / "sentence_bert_config.json"
    given = (_read_json(file).get("max_seq_length") if file.exists() else None, about.get("max_position_embeddings"))
    return min([_LONGEST_WINDOW, *(size for size in given if type(size) is int and size > 1)])


def _read_json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes())
    except OSError as error:
        raise _unusable(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _unusable(f"{file} is not JSON") from error
    if not isinstance(content, dict):
        raise _unusable(f"{file} is not a JSON object")
    return content


def _digest(recipe: str, graph: Path, tokenizer: Path) -> str:
    """Hash the recipe, the tokenizer, and size, beginning and end of the weights, which may be gigabytes."""
    digest = hashlib.sha256(recipe.encode())
    try:
        digest.update(tokenizer.read_bytes())
        # Weights of more than 2 GB are in files beside the graph.
        for file in (graph, *sorted(graph.parent.glob(f"{graph.name}_data*")), *sorted(graph.parent.glob("*.data"))):
            size = file.stat().st_size
            digest.update(f"{file.name}:{size}".encode())
            with file.open("rb") as opened:
                digest.update(opened.read(_HASHED))
                opened.seek(max(0, size - _HASHED))
                digest.update(opened.read(_HASHED))
    except OSError as error:
        raise _unusable(f"{error.filename} cannot be read: {error.strerror}") from error
    return digest.hexdigest()[:_DIGITS]


def _unusable(message: str) -> ModelNotFoundError:
    error = ModelNotFoundError(message)
    error.hint = _HINT
    return error
