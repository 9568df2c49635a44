"""``twg describe-schema``: the Arrow type of every field of a schema, in a file or under a registry's subject."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from thalweg.arrow.described import DescribedField, describe
from thalweg.cli.render import printable
from thalweg.cli.schemas import Described, from_file, from_registry
from thalweg.dialect.substitute import substitute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_COARSE = "digits finer than the column's unit are cut off and counted"


def describe_schema(
    schema: str, *, registry: str | None = None, message: str | None = None, given: Sequence[tuple[str, str]] = (),
    format: str = "text",  # noqa: A002 - the option's own name
) -> int:  # fmt: skip
    """Print every field's path, Arrow type and nullability; ``given`` are options as in SQL. Raises UserError for what is no schema."""
    values = {key: _filled(value, os.environ) for key, value in given}
    found = from_file(schema, message, values) if registry is None else from_registry(registry, schema, message, values)
    fields = list(describe(found.schema))
    sys.stdout.write(_as_json(found, fields) if format == "json" else _as_text(found, fields))
    return 0


def _filled(value: str, environ: Mapping[str, str]) -> str:
    """A value with ``${NAME}`` filled from the environment, so that a secret need not stand in the command line."""
    out = substitute(value, "--option", environ)
    if out.errors:
        raise out.errors[0]
    return out.source.text


def _as_text(found: Described, fields: list[DescribedField]) -> str:
    """Three columns, aligned; notices below."""
    rows = [("field", "Arrow type", "nullable")]
    rows += [(f.path, f.short + (f" ({f.meaning})" if f.meaning else ""), "yes" if f.nullable else "no") for f in fields]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    lines = [f"{found.kind} {found.name}".rstrip()]
    lines += [f"{path:<{widths[0]}}  {kind:<{widths[1]}}  {nullable}" for path, kind, nullable in rows]
    lines += [f"warning: {notice}" for notice in found.notices]
    lines += [f"note: '{where}': {_COARSE}" for where in found.coarse]
    return "".join(f"{printable(line)}\n" for line in lines)


def _as_json(found: Described, fields: list[DescribedField]) -> str:
    """One object: kind, name, fields, notices, and the columns that lose digits."""
    described = [{"path": f.path, "type": str(f.type), "nullable": f.nullable, **({"meaning": f.meaning} if f.meaning else {})} for f in fields]
    out = {"format": found.kind, "name": found.name, "fields": described, "notices": found.notices, "coarse": found.coarse}
    return json.dumps(out, indent=2, ensure_ascii=False) + "\n"
