"""Results of jobs. One that the store refuses, for example on a full disk, is written in a later round.

Otherwise the lease of the job would have to end first, and the job would then be done once more.
"""

from __future__ import annotations

from collections.abc import Callable


class Results:
    """The results of a worker's jobs that are not written yet."""

    def __init__(self) -> None:
        self._unwritten: list[Callable[[], object]] = []

    def write(self, result: Callable[[], object]) -> None:
        """Write the result of a job, after those that were refused before.

        Args:
            result: Writes the result.

        Raises:
            BusyError: The store is busy. The result is kept.
            StorageError: The store cannot be written. The result is kept.
        """
        self._unwritten.append(result)
        self.write_refused()

    def write_refused(self) -> None:
        """Write the results that the store refused.

        Raises:
            BusyError: The store is busy.
            StorageError: The store cannot be written.
        """
        while self._unwritten:
            self._unwritten[0]()
            del self._unwritten[0]
