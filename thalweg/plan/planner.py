"""A script becomes a plan: ``RULES`` in their order, each a function in a file of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from thalweg.errors import ScriptErrors
from thalweg.plan.draft import Draft, PlanRequest
from thalweg.plan.graph import Plan
from thalweg.plan.rules.dead_letters import dead_letters
from thalweg.plan.rules.gates import gates
from thalweg.plan.rules.lanes import lanes
from thalweg.plan.rules.names import names
from thalweg.plan.rules.nodes import nodes
from thalweg.plan.rules.order import order
from thalweg.plan.rules.pruning import pruning
from thalweg.plan.rules.settings import settings
from thalweg.plan.rules.sources import sources
from thalweg.plan.rules.statics import statics
from thalweg.plan.rules.unsupported import unsupported

if TYPE_CHECKING:
    from collections.abc import Callable

    from thalweg.dialect.tree import Script
    from thalweg.engine.session import Session

RULES: Final[tuple[Callable[[Draft], None], ...]] = (
    settings,
    unsupported,
    names,
    sources,
    statics,
    order,
    nodes,
    lanes,
    gates,
    dead_letters,
    pruning,
)
"""Each adds to the draft what it finds out and notes every error; none stops the others."""

__all__ = ["RULES", "PlanRequest", "make_plan"]


def make_plan(script: Script, request: PlanRequest, session: Session) -> Plan:
    """Plan a script; the session gets every relation, empty. Raises ScriptErrors with all errors of the file."""
    draft = Draft(script, request, session, errors=list(script.errors))
    for rule in RULES:
        rule(draft)
    if request.need_copy and not draft.targets and not draft.errors:
        end = max(len(script.source.text.rstrip()) - 1, 0)
        draft.fail("the file has no COPY: nothing would be written", end, 1, "add COPY <table or view> TO './out/' STORED AS PARQUET;")
    if draft.errors:
        raise ScriptErrors(draft.errors)
    assert draft.settings is not None
    return Plan(
        settings=draft.settings, source=script.source, sources=tuple(draft.sources), statics=tuple(draft.statics), nodes=tuple(draft.nodes),
        lanes=tuple(draft.lanes), rewrites=tuple(draft.notes),
    )  # fmt: skip
