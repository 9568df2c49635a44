"""Whatever may become a dead letter has somewhere to land."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.dialect.tree import SetOption

if TYPE_CHECKING:
    from thalweg.dialect.tree import CreateTable
    from thalweg.plan.draft import Draft


def dead_letters(draft: Draft) -> None:
    """Refuse a policy of ``dlq`` without a COPY of the lane; a file with broken statements may have had one."""
    if draft.script.errors or draft.request.bounded:
        return
    landed = {relation for _, relation in draft.targets}
    for query in draft.queries.values():
        if not query.is_view and query.lineage is not None:
            landed.update(d.name for d in query.lineage.dependencies)
    if "dlq.all" in landed:
        return
    homeless = [table for table in draft.tables if f"dlq.{table.name}" not in landed]
    told = [_option(draft, table) for table in homeless]
    for statement in draft.script.statements:
        if isinstance(statement, SetOption) and statement.key.value == "sql.on_error" and statement.value.value == "dlq" and not any(told):
            for table in homeless[:1]:
                _fail(draft, "'sql.on_error' = 'dlq'", table, statement.value.start, len(statement.value.value) + 2)


def _option(draft: Draft, table: CreateTable) -> bool:
    """Note every option of a table that would send records to a lane that nobody lands."""
    found = [o for o in table.options if o.key in {"bad_data", "tombstones"} and o.value.strip().lower() == "dlq"]
    for option in found:
        _fail(draft, f"'{option.key}' 'dlq'", table, option.value_start, len(option.value) + 2)
    return bool(found)


def _fail(draft: Draft, what: str, table: CreateTable, offset: int, width: int) -> None:
    """The refusal with its way out."""
    hint = f"add COPY dlq.{table.name} TO './dlq/{table.name}/' STORED AS PARQUET;"
    draft.fail(f"{what} needs a COPY of dlq.{table.name}: the records would go nowhere", offset, width, hint)
