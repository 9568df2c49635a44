"""Who holds back the offsets: roles, and the gate rule."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thalweg.dialect.tree import Copy
    from thalweg.plan.draft import Draft


def gates(draft: Draft) -> None:
    """Check roles and failure policies, then decide which lanes gate.

    Until a lagging target can be recovered from raw, every data sink gates, whatever its role; dead letters gate; a sink that holds no data
    (a console) gates only where no other lane of its sources does.
    """
    _roles(draft)
    for copy, _ in draft.targets:
        _policies(draft, copy)
    data = {source for lane in draft.lanes if lane.plugin.capabilities.data and not lane.dead_letters for source in lane.sources}
    draft.lanes = [
        dataclasses.replace(lane, gates=lane.dead_letters or lane.plugin.capabilities.data or not data & set(lane.sources)) for lane in draft.lanes
    ]


def _roles(draft: Draft) -> None:
    """A primary raw target copies a raw lane, keeps what it is given, and is the only one."""
    first: Copy | None = None
    for copy, relation in draft.targets:
        option = next((o for o in copy.options if o.key == "role" and o.value.lower() == "primary_raw"), None)
        if option is None:
            continue
        place = (option.value_start, len(option.value) + 2)
        if first is not None:
            other = draft.script.source.location(first.start)
            draft.fail("a second 'primary_raw' target", *place, f"the first is at line {other.line}; others recover from exactly one")
            continue
        first = copy
        if not relation.startswith("raw."):
            draft.fail(f"'primary_raw' is for a raw lane, not for {relation}", *place, f"COPY raw.<table> TO '{copy.target.value}' ...")
        lane = next((lane for lane in draft.lanes if lane.relation == relation and lane.location == copy.target.value), None)
        if lane is not None and not lane.plugin.capabilities.data:
            draft.fail(f"{lane.kind} keeps nothing that others could recover from", *place)


def _policies(draft: Draft, copy: Copy) -> None:
    """What needs recovery is refused until there is one."""
    for option in copy.options:
        if option.key == "on_failure" and option.value.lower() == "isolate":
            hint = "a target that was left behind could not catch up yet; 'block' is the default"
            draft.fail("'on_failure' 'isolate' is not in this build", option.value_start, len(option.value) + 2, hint)
        elif option.key == "durable" and option.value.lower() == "false":
            hint = "every data sink holds back the offsets until a lagging one can be recovered"
            draft.fail("'durable' 'false' is not in this build", option.value_start, len(option.value) + 2, hint)
