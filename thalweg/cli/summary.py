"""What a run says at its end: what came in, what went out, what was bad, and how to look at it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from thalweg.cli import figures
from thalweg.cli.render import printable
from thalweg.model.options import redact_url

if TYPE_CHECKING:
    from thalweg.plan.graph import Lane, Plan
    from thalweg.runtime.stats import LaneStats, Snapshot, SourceStats

_READABLE = frozenset({"PARQUET"})
"""Kinds of targets that the REPL reads back."""


def start_lines(plan: Plan) -> list[str]:
    """Pipeline, sources and where each lane goes with which guarantee, before anything moves."""
    out = [f"pipeline {printable(plan.settings.name)}"]
    out += [f"  from {printable(s.name)}  {s.kind} {printable(redact_url(s.location))}" for s in plan.sources]
    for lane in plan.lanes:
        gates = "gates" if lane.gates else "does not gate"
        out.append(f"  to   {printable(lane.name)}  {lane.kind} {printable(redact_url(lane.location))}  ({lane.guarantee.value}, {gates})")
    return out


def summary_lines(plan: Plan, end: Snapshot, *, how: str) -> list[str]:
    """The summary; ``how`` says why the run is over."""
    out = [f"{printable(plan.settings.name)}: {how} after {end.seconds:,.1f} s"]
    out += [_source(source, end.seconds) for source in end.sources]
    known = {lane.name: lane for lane in end.lanes}
    out += [_lane(lane, known.get(lane.name)) for lane in plan.lanes]
    out += [f"  bad   {rows:,} x {printable(code)} ({_fate(end.bad_policies.get(code, ''))})" for code, rows in end.bad.items()]
    out += [line for source in end.sources for line in _decoding(source)]
    looks = [command for lane in plan.lanes if (command := look(lane)) and lane.name in known and known[lane.name].delivered]
    if looks:
        out += ["look into it:", *(f"  {command}" for command in looks)]
    return out


def look(lane: Lane) -> str | None:
    """A command line that shows rows of a lane's target; None where the REPL cannot read it back."""
    if lane.kind not in _READABLE:
        return None
    name = "".join(c if c.isalnum() else "_" for c in lane.name.lower())
    location = redact_url(lane.location).replace("'", "''")
    sql = f"CREATE EXTERNAL TABLE {name} STORED AS {lane.kind} LOCATION '{location}'; SELECT * FROM {name} LIMIT 10"  # noqa: S608 - a text for people; the user runs it
    quoted = f'"{sql}"' if not set(sql) & set('"\\$`!') and sql.isprintable() else shlex.quote(sql)
    return f"twg repl -c {quoted}"


def _source(source: SourceStats, seconds: float) -> str:
    """What came in through one source."""
    rate = f"{source.rows / seconds:,.0f} rows/s" if seconds > 0 else "-"
    text = f"  in    {printable(source.name)}: {figures.count(source.rows)}, {figures.size(source.nbytes)}, {rate}"
    left_out = [f"{rows:,} left out by {printable(rule)}" for rule, rows in source.dropped.items()]
    return ", ".join([text, *left_out])


def _decoding(source: SourceStats) -> list[str]:
    """What decoding had to do the long way."""
    out = []
    for what, n in source.decoding.items():
        text = {
            "slow": f"{n:,} records took the exact path",
            "finer": f"{n:,} times lost digits that are finer than their columns' units",
        }.get(what, f"{n:,} x {printable(what.removeprefix('cut '))} lay deeper than 'decode.max_depth' and became JSON text")
        out.append(f"  note  {printable(source.name)}: {text}")
    return out


def _lane(lane: Lane, stats: LaneStats | None) -> str:
    """What went out through one lane."""
    rows = figures.count(stats.delivered if stats else 0)
    failed = ", FAILED" if stats and stats.poisoned else ""
    return f"  out   {printable(lane.name)}: {rows} -> {printable(redact_url(lane.location))}{failed}"


def _fate(policy: str) -> str:
    """What became of bad records."""
    return {"dlq": "in the dead-letter lane", "drop": "dropped", "fail": "the pipeline failed"}.get(policy, policy or "counted")
