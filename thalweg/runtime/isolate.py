"""Which rows a query cannot compute: found by halving its input, under a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from thalweg.arrow import metadata
from thalweg.arrow.batch import BadRows
from thalweg.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_RUNS: Final = 4_096
"""Queries that one node may cost in one epoch before the pipeline fails instead: about 250 bad rows of 65,536."""

Run = "Callable[[Mapping[str, pa.RecordBatch]], list[pa.RecordBatch]]"


def isolate(
    node: str, tables: Mapping[str, pa.RecordBatch], run: Callable[[Mapping[str, pa.RecordBatch]], list[pa.RecordBatch]]
) -> tuple[list[pa.RecordBatch], BadRows]:
    """Rows that ``run`` gives over every input row that it can compute, and the input rows that it cannot.

    ``tables`` are the node's inputs, each with the row number column. Raises QueryFailed when the query fails over no rows at all (then no row
    is to blame), or when there are too many bad rows to look for.
    """
    search = _Search(node, tables, run)
    search.attempt(search.numbers[:0])
    good = search.split(search.numbers)
    search.bad.rows, search.bad.codes, search.bad.messages, search.bad.paths = search.sorted_bad()
    return good, search.bad


class _Search:
    """One search; counts its queries."""

    def __init__(
        self, node: str, tables: Mapping[str, pa.RecordBatch], run: Callable[[Mapping[str, pa.RecordBatch]], list[pa.RecordBatch]]
    ) -> None:
        """Row numbers of all inputs together, ascending, each once."""
        self._node, self._tables, self._run = node, tables, run
        self._rows = {name: batch.column(batch.schema.get_field_index(metadata.ROW)).to_numpy() for name, batch in tables.items()}
        self.numbers = np.unique(np.concatenate([*self._rows.values(), np.empty(0, np.int32)]))
        self.bad = BadRows()
        self._runs = 0

    def attempt(self, numbers: np.ndarray) -> list[pa.RecordBatch]:
        """Run over these row numbers only."""
        self._runs += 1
        if self._runs > MAX_RUNS:
            raise QueryFailed(
                f"{self._node}: more than {len(self.bad)} rows of one epoch fail; looking for them one by one takes too long",
                hint="use try_cast, nullif or a WHERE clause so that bad rows give NULL or are left out",
            )
        part = {}
        for name, batch in self._tables.items():
            keep = np.isin(self._rows[name], numbers, assume_unique=False) if len(numbers) else np.zeros(batch.num_rows, bool)
            part[name] = batch.filter(pa.array(keep))
        return self._run(part)

    def split(self, numbers: np.ndarray) -> list[pa.RecordBatch]:
        """Halve until what is left works or is one row; an explicit stack keeps row order."""
        good: list[pa.RecordBatch] = []
        stack = [numbers]
        while stack:
            part = stack.pop()
            if not len(part):
                continue
            try:
                good += self.attempt(part)
            except QueryFailed as e:
                if self._runs > MAX_RUNS:
                    raise
                if len(part) == 1:
                    self.bad.add(int(part[0]), code_of(e.message), e.message)
                else:
                    middle = len(part) // 2
                    stack += [part[middle:], part[:middle]]
        return good

    def sorted_bad(self) -> tuple[list[int], list[str], list[str], list[str | None]]:
        """Bad rows in ascending order."""
        order = sorted(range(len(self.bad)), key=self.bad.rows.__getitem__)
        bad = self.bad
        return [bad.rows[i] for i in order], [bad.codes[i] for i in order], [bad.messages[i] for i in order], [bad.paths[i] for i in order]


def code_of(message: str) -> str:
    """``sql.cast``, ``sql.arithmetic`` or ``sql.other``, from the engine's message."""
    folded = message.lower()
    if any(word in folded for word in ("divide by zero", "overflow", "arithmetic")):
        return "sql.arithmetic"
    if any(word in folded for word in ("cast", "parse", "parser error", "cannot convert", "invalid utf")):
        return "sql.cast"
    return "sql.other"
