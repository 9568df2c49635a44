"""Static tables are read again for every epoch: what is wrong with one is no record's fault."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.engine.session import quoted
from thalweg.errors import QueryFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from thalweg.engine.session import Session
    from thalweg.plan.graph import StaticTable


def require(tables: Sequence[StaticTable]) -> None:
    """Raise QueryFailed where a file or folder is gone: the engine would read it as an empty table, and joins would find nothing."""
    for table in tables:
        if table.path is not None and not Path(table.path).exists():
            raise QueryFailed(
                f"static table {table.name}: {table.path} is gone", where=str(table.at) if table.at else None,
                hint="put it back and start again; to change it while a pipeline runs, rename a new file over it",
            )


def prove(session: Session, tables: Sequence[StaticTable]) -> None:
    """After a query failed: raise QueryFailed where a static table cannot be read by itself, so that no row is blamed for it."""
    for table in tables:
        try:
            for _ in session.stream(f"SELECT * FROM {quoted(table.name)}"):  # noqa: S608 - the name is quoted
                pass
        except Exception as e:
            raise QueryFailed(
                f"static table {table.name} cannot be read: {e}", where=str(table.at) if table.at else None,
                hint="mend the file and start again: no offset was committed past the records that were joined with it",
            ) from e
