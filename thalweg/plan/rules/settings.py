"""``SET`` and the layers around the file become the settings of the run."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from thalweg import config
from thalweg.config import Setting
from thalweg.dialect.tree import SetOption
from thalweg.plan.graph import PipelineSettings
from thalweg.ports.source import Budget

if TYPE_CHECKING:
    from thalweg.plan.draft import Draft


def settings(draft: Draft) -> None:
    """Check each ``SET`` at its place and merge what is right."""
    sets: dict[str, Setting] = {}
    for statement in draft.script.statements:
        if isinstance(statement, SetOption):
            _read(draft, statement, sets)
    file = draft.script.source.file
    resolved = config.resolve(draft.request.layers, sets, PurePath(file).stem or "pipeline")
    draft.values = found = resolved.settings
    draft.settings = PipelineSettings(
        name=found.pipeline_name or "pipeline",
        budget=Budget(found.budget_rows, found.budget_bytes, found.budget_age),
        metadata_prefix=found.metadata_prefix,
        drain_deadline_ns=found.drain_deadline,
        queue_bytes=found.queue_bytes,
        commit_interval_ns=found.commit_interval,
        sql_on_error=found.sql_on_error,
        log_interval_ns=found.log_interval,
        log_format=found.log_format,
        kernels=found.decode_kernels == "auto",
        origins=resolved.origins,
        shown=resolved.shown,
    )


def _read(draft: Draft, statement: SetOption, sets: dict[str, Setting]) -> None:
    """One ``SET``; the parser has seen to it that there is one for each key."""
    key, value = statement.key, statement.value
    for error in config.check({key.value: value.value}):
        place = key if key.value not in config.KEYS else value
        message = error.message.replace("unknown option", "unknown setting").replace("option '", "setting '")
        draft.fail(message, place.start, len(place.value) + 2, (error.hint or "").replace("known options", "settings") or None)
        return
    sets[key.value] = Setting(value.value, f"SET, {draft.script.source.location(key.start)}")
