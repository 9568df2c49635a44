"""Rows on standard output. Parallel by lane. Delivers best effort: what was printed and flushed counts as durable."""

from __future__ import annotations

import contextlib
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.errors import PipeClosed, SinkFailed
from thalweg.model.options import at_least, one_of, option
from thalweg.ports.sink import Capabilities, Guarantee, Sink, SinkPlugin
from thalweg.sinks.console import json_text
from thalweg.sinks.console.table import Table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from thalweg.model.position import Partition
    from thalweg.ports.sink import Delivery, SinkContext, Target


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    """Options of the ``console`` sink."""

    format: str = option("console.format", one_of("table", "jsonl"), default="table", doc="An aligned table, or one JSON object a line.")
    max_width: int = option("console.max-width", at_least(4), default=48, doc="Longest value of a table, in terminal columns.")


class ConsoleSink(Sink):
    """Prints one relation."""

    def __init__(self, options: ConsoleOptions, context: SinkContext) -> None:
        """Standard output is looked up at ``open``."""
        self._options = options
        self._table = Table(context.schema, options.max_width)
        self._stream: Any = None
        self._printed: list[int] = []

    def open(self) -> None:
        """Take standard output as bytes: the text is UTF-8 whatever the locale says."""
        self._stream = getattr(sys.stdout, "buffer", None)
        if self._stream is None:
            raise SinkFailed("standard output takes no bytes", where="console")

    def covered(self, partitions: Collection[Partition]) -> None:
        """A terminal keeps no record."""

    def write(self, delivery: Delivery) -> None:
        """Print the rows."""
        with self._explained():
            for batch in delivery.batches:
                if batch.num_rows:
                    rows = json_text.lines(batch) if self._options.format == "jsonl" else self._table.lines(batch)
                    self._stream.write(("\n".join(rows) + "\n").encode("utf-8", "backslashreplace"))
        self._printed.append(delivery.seq)

    def confirm(self) -> Collection[int]:
        """What was printed, once it is flushed."""
        self.flush()
        printed, self._printed = self._printed, []
        return printed

    def flush(self) -> None:
        """Hand everything to the reader."""
        with self._explained():
            self._stream.flush()

    def settle(self) -> None:
        """Nobody leaves anything unfinished here."""

    def abandon(self) -> None:
        """What was printed cannot be taken back; it is not confirmed."""
        self._printed.clear()

    def close(self) -> None:
        """Standard output stays open for others."""
        self._printed.clear()

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """A reader that goes away ends the run; nothing unprinted is confirmed."""
        try:
            yield
        except BrokenPipeError as e:
            self._printed.clear()
            _silence()
            raise PipeClosed("the reader of standard output went away", where="console") from e
        except OSError as e:
            raise SinkFailed(f"cannot print: {os.strerror(e.errno) if e.errno else e}", where="console") from e


def _silence() -> None:
    """Point standard output to nowhere, else the interpreter complains once more when it flushes at its end."""
    with contextlib.suppress(OSError, ValueError):  # a stream without a descriptor needs no silencing
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _check(target: Target) -> list[str]:
    """The location has nothing to say."""
    rest = target.location.removeprefix("console:").strip("/")
    return [f"a console has no place: write 'console://', not {target.location!r}"] if rest else []


PLUGIN = SinkPlugin(
    kinds=("CONSOLE",),
    schemes=("console",),
    options=ConsoleOptions,
    capabilities=Capabilities(
        records_spans=False, partitioned=False, data=False, delivers="parallel by lane; best effort: what was printed and flushed counts as durable"
    ),
    guarantee=lambda _target: Guarantee.BEST_EFFORT,
    check=_check,
    make=lambda target, context: ConsoleSink(target.options, context),
)
