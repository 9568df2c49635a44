"""``twg check``: what a pipeline file would do, and every error in it, without running it."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from typing import TYPE_CHECKING

from thalweg import compose
from thalweg.cli import brokers
from thalweg.cli.render import printable
from thalweg.plan.explain import explain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from thalweg.cli.brokers import Answer


def check(file: str, *, format: str = "text", connect: bool = False, settings: Mapping[str, str]) -> int:  # noqa: A002 - the option's own name
    """Print the plan and return 0; 1 when a broker that was asked gives no answer.

    Raises ScriptErrors with every error of the file, which exits with 2. With ``connect`` the file is first planned offline, so that its own
    errors never hide behind a registry or a broker that does not answer.
    """
    plan = compose.read_plan(file, settings=settings, environ=os.environ, connect=False)
    if not connect:
        _write(explain(plan, format), format)
        return 0
    plan = compose.read_plan(file, settings=settings, environ=os.environ, connect=True)
    answers = brokers.ask(plan)
    _write(_with_answers(explain(plan, format), answers, format), format)
    silent = [answer for answer in answers if answer.error is not None]
    for answer in silent:
        sys.stderr.write(f"error: {answer.table}: {printable(answer.error or '')}\n")
    return 1 if silent else 0


def _write(text: str, form: str) -> None:
    """To standard output; what a user named cannot move the cursor."""
    sys.stdout.write(text if form == "json" else "\n".join(printable(line) for line in text.split("\n")))


def _with_answers(text: str, answers: list[Answer], form: str) -> str:
    """The plan with what the brokers said; a diagram has no place for it."""
    if form == "json":
        return json.dumps({**json.loads(text), "brokers": [dataclasses.asdict(a) for a in answers]}, indent=2, ensure_ascii=False) + "\n"
    if form == "mermaid":
        return text
    lines = ["brokers"]
    for answer in answers:
        lines.append(f"  {answer.table}: " + (f"{len(answer.starts)} partitions" if answer.error is None else "no answer"))
        lines += [f"    {partition}  {start}" for partition, start in answer.starts.items()]
    return text + "\n" + "\n".join(lines) + "\n"
