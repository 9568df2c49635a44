"""``twg check``: what a pipeline file would do, and every error in it, without running it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from thalweg import compose
from thalweg.cli.render import printable
from thalweg.plan.explain import explain

if TYPE_CHECKING:
    from collections.abc import Mapping


def check(file: str, *, format: str = "text", connect: bool = False, settings: Mapping[str, str]) -> int:  # noqa: A002 - the option's own name
    """Print the plan and return 0; raises ScriptErrors with every error of the file, which exits with 2.

    With ``connect`` the file is first planned offline, so that its own errors are never hidden behind a registry that does not answer.
    """
    plan = compose.read_plan(file, settings=settings, environ=os.environ, connect=False)
    if connect:
        plan = compose.read_plan(file, settings=settings, environ=os.environ, connect=True)
    text = explain(plan, format)
    sys.stdout.write(text if format == "json" else "\n".join(printable(line) for line in text.split("\n")))
    return 0
