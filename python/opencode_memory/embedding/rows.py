"""Rows of 32-bit floats in buffers of the standard library, which the engine reads without a copy in Python."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opencode_memory.embedding.base import Vector, Vectors

_FLOAT: Final = "f"


class Rows:
    """Rows of which each is set once, in any order and from any thread.

    Args:
        number: Number of rows.
        dimension: Number of values in a row.
    """

    def __init__(self, number: int, dimension: int) -> None:
        self._dimension = dimension
        self._values = memoryview(bytearray(number * dimension * array(_FLOAT).itemsize)).cast(_FLOAT)

    def put(self, places: Sequence[int], vectors: Vectors) -> None:
        """Set the rows at the given places.

        Raises:
            ValueError: There is another number of vectors, or they have another dimension.
        """
        given = _flat(vectors)
        if len(given) != len(places) * self._dimension:
            raise ValueError(f"{len(given)} values for {len(places)} rows of {self._dimension}")
        width = self._dimension
        for number, place in enumerate(places):
            self._values[place * width : (place + 1) * width] = given[number * width : (number + 1) * width]

    def view(self) -> Vectors:
        """Return the rows, read-only, as one buffer of shape (number, dimension)."""
        return _shape(self._values, self._dimension)


def to_rows(values: Iterable[float], dimension: int) -> Vectors:
    """Return values as a read-only buffer of shape (number of rows, dimension)."""
    return _shape(memoryview(array(_FLOAT, values)), dimension)


def first_row(vectors: Vectors, dimension: int) -> Vector:
    """Return the first row as a read-only buffer of shape (dimension,)."""
    return _flat(vectors)[:dimension].toreadonly()


def _flat(vectors: Vectors) -> Vector:
    return vectors.cast("B").cast(_FLOAT) if len(vectors) else vectors


def _shape(values: Vector, dimension: int) -> Vectors:
    """Return a view with rows. A view without values cannot have two dimensions, so it has one."""
    if not values:
        return values.toreadonly()
    return values.toreadonly().cast("B").cast(_FLOAT, (len(values) // dimension, dimension))
