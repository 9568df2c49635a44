"""What the language has and this build does not: said at its place, never ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.dialect.tree import CreateFunction, CreateTable, CreateView

if TYPE_CHECKING:
    from thalweg.plan.draft import Draft


def unsupported(draft: Draft) -> None:
    """Refuse functions, expectations and contracts."""
    for statement in draft.script.statements:
        if isinstance(statement, CreateFunction):
            draft.fail("CREATE FUNCTION is not in this build", statement.start, len("CREATE FUNCTION"), "use the functions that twg repl lists with \\df")
        elif isinstance(statement, CreateTable | CreateView):
            for expectation in statement.expectations:
                hint = "filter with WHERE in a view until expectations are there"
                draft.fail(f"EXPECT ({expectation.name}) is not in this build", expectation.start, len("CONSTRAINT"), hint)
        if isinstance(statement, CreateTable):
            for option in statement.options:
                if option.key == "contract":
                    draft.fail("'contract' is not in this build", option.start, len(option.key) + 2, "declare the columns in the column list")
