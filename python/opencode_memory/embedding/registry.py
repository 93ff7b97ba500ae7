"""Registry of the bundled models: their names, files and hashes.

The hash of a model is computed when it is converted and travels beside it in ``manifest.json``: hashing 45 MB at each
start would take longer than everything else before the first vector. At a load only the sizes are compared, which finds
a truncated or exchanged file; ``verify_model`` reads every byte.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opencode_memory.errors import ModelNotFoundError

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2"

_FOLDERS: Final = {DEFAULT_MODEL: Path(__file__).parent / "model"}
_REINSTALL: Final = "reinstall opencode-memory; the model is part of the package"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """One file of a model as it was when it was converted."""

    path: Path
    size: int
    sha256: str

    def check_size(self) -> None:
        """Compare the size on disk with the manifest.

        Raises:
            ModelNotFoundError: The file is missing, unreadable or of another size.
        """
        try:
            size = self.path.stat().st_size
        except OSError as error:
            message = f"the model file {self.path} cannot be read: {error.strerror}"
            raise _unusable(message) from error
        if size != self.size:
            message = f"the model file {self.path} has {size:,} bytes instead of {self.size:,}"
            raise _unusable(message)

    def check_content(self) -> None:
        """Compare the hash of the content with the manifest.

        Raises:
            ModelNotFoundError: As for ``check_size``, or the content differs.
        """
        self.check_size()
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != self.sha256:
            message = f"the model file {self.path} is damaged: its SHA-256 is not the one it was made with"
            raise _unusable(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that is installed.

    Attributes:
        name: Its public name.
        dimension: Length of its vectors.
        window: Most tokens it reads at once, the two that frame each text included.
        weights: The ``safetensors`` file that the encoder maps.
        vocabulary: The file with one token on each line.
        version: Changes exactly when its vectors stop being comparable with those of before.
    """

    name: str
    dimension: int
    window: int
    weights: ModelFile
    vocabulary: ModelFile
    version: str

    @property
    def model_id(self) -> str:
        """The name and the version, as stamped beside each stored vector."""
        return f"{self.name}@{self.version}"


def find_model(name: str = DEFAULT_MODEL) -> Model:
    """Look a model up by name; reads its small manifest only.

    Raises:
        ModelNotFoundError: No model has this name, or its manifest is missing or damaged.
    """
    folder = _FOLDERS.get(name)
    if folder is None:
        near = difflib.get_close_matches(name, _FOLDERS, n=1, cutoff=0.4)
        known = f"did you mean {near[0]!r}?" if near else f"known models: {', '.join(sorted(_FOLDERS))}"
        message = f"there is no embedding model named {name!r}"
        raise _unusable(message, hint=known)
    return read_manifest(folder)


def read_manifest(folder: Path) -> Model:
    """Describe the model in a folder from its ``manifest.json``.

    Raises:
        ModelNotFoundError: The manifest is missing or damaged.
    """
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
        return Model(
            name=manifest["name"],
            dimension=manifest["dimension"],
            window=manifest["window"],
            weights=_model_file(folder, manifest["weights"]),
            vocabulary=_model_file(folder, manifest["vocabulary"]),
            version=manifest["version"],
        )
    except OSError as error:
        message = f"the model manifest {path} cannot be read: {error.strerror}"
        raise _unusable(message) from error
    except (ValueError, KeyError, TypeError) as error:
        message = f"the model manifest {path} is damaged: {error!r}"
        raise _unusable(message) from error


def verify_model(name: str = DEFAULT_MODEL) -> Model:
    """Read every byte of a model and compare it with what was converted; about 0.1 s.

    Raises:
        ModelNotFoundError: A file is missing or damaged.
    """
    model = find_model(name)
    model.weights.check_content()
    model.vocabulary.check_content()
    return model


def _model_file(folder: Path, entry: dict[str, Any]) -> ModelFile:
    return ModelFile(path=folder / entry["file"], size=entry["bytes"], sha256=entry["sha256"])


def _unusable(message: str, *, hint: str = _REINSTALL) -> ModelNotFoundError:
    error = ModelNotFoundError(message)
    error.hint = hint
    return error
