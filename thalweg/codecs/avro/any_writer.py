"""Declared columns without a reader's schema, against the writers' schemas that are there: some writer must give each of them."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

import pyarrow as pa

from thalweg.arrow.rows import bounded
from thalweg.codecs.avro.match import Incompatible
from thalweg.codecs.avro.resolve import Resolver
from thalweg.codecs.avro.schema import Node, SchemaError, parse_registered
from thalweg.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thalweg.ports.schemas import RegisteredSchema


def refuse_strays(declared: pa.Schema, schemas: Iterable[RegisteredSchema]) -> None:
    """Raise UserError for columns that no schema has, or that none can fill as declared; without readable schemas there is no verdict."""
    try:
        writers = [root for s in schemas if s.kind == "AVRO" for root in _records(parse_registered(s))]
    except SchemaError:
        return
    said = [fault for column in declared for fault in _fault(column, writers)] if writers else []
    if said:
        raise UserError(said[0])


def _records(node: Node) -> list[Node]:
    """The records at a schema's root."""
    return [b for b in (node.branches if node.kind == "union" else (node,)) if b.kind == "record"]


def _fault(column: pa.Field, writers: list[Node]) -> list[str]:
    """What is wrong with a column: nothing, or one message."""
    having = [w for w in writers if any(f.name == column.name for f in w.fields)]
    if not having:
        names = list(dict.fromkeys(f.name for w in writers for f in w.fields))
        near = difflib.get_close_matches(column.name, names, n=1) or [n for n in names if n.lower() == column.name.lower()]
        mean = f"did you mean '{near[0]}'?" if near else f"there are: {bounded(', '.join(names))}"
        return [f"column '{column.name}': none of the schemas has such a field; {mean}"]
    root, said = pa.field("", pa.struct([column])), ""
    for writer in having:
        try:
            Resolver(strict=True, declared=True, missing_is_null=len(having) > 1).read(writer, writer, root)
        except Incompatible as e:
            said = said or f"column '{e.where or column.name}': {e.message}"
        else:
            return []
    return [said]
