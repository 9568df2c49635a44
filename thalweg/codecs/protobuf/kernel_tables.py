"""The rows and tables of a Protobuf program while it is written, and the arrays that they become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thalweg.codecs.protobuf.descriptors import DescriptorError
from thalweg.kernels import program as p
from thalweg.kernels import protobuf_ops as op

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from thalweg.arrow.slots import Slots
    from thalweg.kernels.memory import Longs, Words

_MOST_WORDS = 1 << 26


@dataclass(frozen=True, slots=True)
class Program:
    """What the kernel runs, but for the addresses of columns."""

    rows: Longs
    """int64[m, WORDS]."""
    table: Words
    aux: Longs
    root: int
    """Where the root's table begins."""
    pointers: npt.NDArray[np.int64]
    """int64[q, 4]: row, word, column, word of the column's address."""
    paths: tuple[str, ...]

    def linked(self, columns: Longs) -> Longs:
        """The rows with addresses of a table of columns, int64[c, FIELDS]."""
        out = self.rows.copy()
        if len(self.pointers):
            rows, words, numbers, fields = self.pointers.T
            out[rows, words] = columns[numbers, fields]
        return out.reshape(-1)


class Tables:
    """Collects rows; row 0 is what unknown fields get."""

    def __init__(self) -> None:
        """Only that row."""
        self._rows: list[list[int]] = [[0] * p.WORDS]
        self._paths: list[str] = [""]
        self._aux: list[int] = [0]
        self._tables: list[dict[int, int]] = []
        self._required: list[list[int]] = []
        self._pointers: list[tuple[int, int, Slots, int]] = []
        self._jumps: list[tuple[int, int, int]] = []
        self._texts: list[int] = []

    def add(self) -> int:
        """A new table; its number."""
        self._tables.append({})
        self._required.append([])
        return len(self._tables) - 1

    def row(self, code: int, mode: int = op.PLAIN, *, arg: int = 0, extra: int = 0, path: str = "") -> int:
        """A new row; its place, in words."""
        row = [0] * p.WORDS
        row[op.R_OP], row[op.R_MODE], row[op.R_ARG], row[op.R_EXTRA] = code, mode, arg, extra
        self._rows.append(row)
        self._paths.append(path)
        return (len(self._rows) - 1) * p.WORDS

    def set(self, row: int, word: int, value: int) -> None:
        """Change a word of a row."""
        self._rows[row // p.WORDS][word] = value

    def point(self, row: int, word: int, slots: Slots, field: int) -> None:
        """A word that becomes an address of a column."""
        self._pointers.append((row // p.WORDS, word, slots, field))

    def go_to(self, row: int, word: int, table: int) -> None:
        """A word that becomes the place of a table."""
        self._jumps.append((row // p.WORDS, word, table))

    def text_counter(self, row: int, number: int) -> None:
        """A row whose ``R_NEXT`` becomes the counter of the bytes of a column."""
        self.set(row, op.R_NEXT, number)
        self._texts.append(row // p.WORDS)

    def put(self, table: int, tag: int, row: int) -> None:
        """What a tag means in a table."""
        self._tables[table][tag] = row

    def row_of(self, table: int, tag: int) -> int:
        """What a tag means in a table."""
        return self._tables[table][tag]

    def require(self, table: int, row: int) -> None:
        """A field that a message must have."""
        self._required[table].append(row)

    def numbers(self, known: Sequence[int]) -> int:
        """The numbers of a closed enum, sorted, in the side table: the bounds of the run from the lowest, how many others, those."""
        run = next((i for i in range(1, len(known)) if known[i] != known[i - 1] + 1), len(known))
        return self._side([known[0], known[run - 1], len(known) - run, *known[run:]])

    def finish(self, root: int, levels: int) -> Program:
        """The arrays; ``levels`` counters come before those of bytes. The columns must have their numbers."""
        words: list[int] = []
        places = []
        for tags, required in zip(self._tables, self._required, strict=True):
            tags = {tag: row for tag, row in tags.items() if row}  # noqa: PLW2901 - the tags without those that mean nothing
            near = [t for t in tags if t < op.DENSE]
            far = sorted(t for t in tags if t >= op.DENSE)
            size = max(near, default=0) + 1
            words += [0] * op.T_HEAD
            place = len(words)
            places.append(place)
            words += [0] * max(size, 128)
            words[place - op.T_SIZE], words[place - op.T_MORE] = max(size, 128), len(far)
            words[place - op.T_FIRST] = self._side([n for t in far for n in (t, tags[t])])
            words[place - op.T_REQUIRED] = self._side([len(required), *required]) if required else 0
            for tag in near:
                words[place + tag] = tags[tag]
            if len(words) > _MOST_WORDS:
                raise DescriptorError("the message needs too large a program")
        for row, word, table in self._jumps:
            self._rows[row][word] = places[table]
        for row in self._texts:
            self._rows[row][op.R_NEXT] += levels
        pointers: Any = [(row, word, slots.number, field) for row, word, slots, field in self._pointers]
        return Program(
            np.array(self._rows, np.int64), np.array(words, np.int32), np.array(self._aux, np.int64), places[root],
            np.array(pointers, np.int64).reshape(-1, 4), tuple(self._paths),
        )  # fmt: skip

    def _side(self, values: Sequence[int]) -> int:
        """Values in the side table; where."""
        self._aux += values
        return len(self._aux) - len(values)
