"""Settings: command line over environment over ``SET`` over ``thalweg.toml`` over default, each with its origin."""

from __future__ import annotations

import dataclasses
import difflib
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from thalweg.errors import Location, OptionError, ScriptError, ScriptErrors, UserError
from thalweg.model import options
from thalweg.model.options import MAX_DEPTH, at_least, duration, one_of, option, size, within

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE: Final = "thalweg.toml"
ENVIRONMENT: Final = "TWG_"
_PREFIX = re.compile(r"[a-z_][a-z0-9_]*_")
_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")
_NEAR: Final = 0.8
_UNITS: Final = (("h", 3_600_000_000_000), ("min", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1))


def name(value: str) -> str:
    """A name that is not empty and has no control characters."""
    if not value.strip() or not value.isprintable():
        message = f"expected a name, found {value!r}"
        raise ValueError(message)
    return value


def prefix(value: str) -> str:
    """Lower-case letters, digits and ``_``, ending in ``_``."""
    if _PREFIX.fullmatch(value) is None:
        message = f"expected lower-case letters, digits and _, ending in _ (such as '_twg_'), found {value!r}"
        raise ValueError(message)
    return value


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that ``SET``, ``TWG_*``, ``thalweg.toml`` and the command line may say."""

    pipeline_name: str | None = option("pipeline.name", name, default=None, doc="name of the pipeline; default: the file's stem")
    budget_rows: int = option("budget.rows", at_least(1), default=65_536, doc="records that cut an epoch")
    budget_bytes: int = option("budget.bytes", within(1, 1 << 30, size), default=32 << 20, doc="bytes that cut an epoch")
    budget_age: int = option("budget.age", at_least(1, duration), default=250_000_000, doc="time that cuts an epoch")
    drain_deadline: int = option("drain.deadline", duration, default=30_000_000_000, doc="longest drain after SIGTERM or Ctrl-C")
    queue_bytes: int = option("queue.bytes", at_least(1, size), default=16 << 20, doc="bound of each queue between stages")
    commit_interval: int = option("commit.interval", duration, default=1_000_000_000, doc="time between offset commits")
    log_interval: int = option("log.interval", at_least(1, duration), default=10_000_000_000, doc="time between progress log lines")
    log_format: str = option("log.format", one_of("logfmt", "json"), default="logfmt", doc="how log lines are written")
    metadata_prefix: str = option("metadata.prefix", prefix, default="_twg_", doc="prefix of the metadata columns")
    metadata_policy: str = option(
        "metadata.policy", one_of("none", "locator", "all"), default="locator", doc="metadata columns of decoded lanes without 'metadata'"
    )
    sql_on_error: str | None = option(
        "sql.on_error", one_of("dlq", "fail"), default=None, doc="rows a query fails on; default: dlq where 'bad_data' is dlq, else fail"
    )
    delivery_gate: str = option(
        "delivery.gate", one_of("auto", "all"), default="auto", doc="which sinks hold back the offsets: the primary raw one, or all"
    )
    decode_kernels: str = option(
        "decode.kernels", one_of("auto", "off"), default="auto", doc="auto: compiled decoders take over as soon as they are ready; off: the exact path only"
    )
    decode_max_depth: int | None = option(
        "decode.max_depth", within(1, MAX_DEPTH), default=None, doc="for tables in Avro and Protobuf that do not say it; what lies deeper becomes JSON text"
    )
    repl_mode: str = option("repl.mode", one_of("snapshot", "tail"), default="snapshot", doc="what SELECT over a stream does in the REPL")
    repl_tail_from: str = option("repl.tail.from", one_of("latest", "earliest"), default="latest", doc="where tailing a stream begins in the REPL")
    repl_snapshot_bytes: int = option("repl.snapshot.bytes", at_least(1, size), default=4 << 30, doc="bound of a snapshot on disk")
    repl_max_rows: int = option("repl.max.rows", at_least(1), default=1_000, doc="rows that the REPL prints of one result")


KEYS: Final = tuple(doc.key for doc in options.docs(Settings))


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as given in one layer."""

    value: str
    origin: str
    """Where it came from, for ``twg check``: ``command line``, ``TWG_BUDGET_ROWS``, ``pipeline.sql:1:5``, ``thalweg.toml``, ``default``."""


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers around the file's own ``SET``, checked: strongest first."""

    command_line: Mapping[str, Setting] = field(default_factory=dict)
    environment: Mapping[str, Setting] = field(default_factory=dict)
    toml: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resolved:
    """The settings of a run, and where each came from."""

    settings: Settings
    origins: Mapping[str, str]
    shown: Mapping[str, str]
    """Each value as a user would write it."""


def layers(command_line: Mapping[str, str], environ: Mapping[str, str], pipeline: Path | None = None) -> Layers:
    """Read and check the layers around a pipeline file.

    ``thalweg.toml`` is looked for beside the pipeline, then in the current directory; the first one counts.
    Raises UserError (ScriptErrors for places in ``thalweg.toml``) with every unknown key and every value that does not fit.
    """
    errors: list[UserError] = []
    given = {key: Setting(value, "command line") for key, value in command_line.items()}
    errors += [UserError(e.message, where="command line", hint=e.hint) for e in _problems(command_line)]
    environment = _environment(environ, errors)
    if errors:
        raise errors[0] if len(errors) == 1 else UserError("\n".join(str(e) for e in errors))
    folders = [*([pipeline.parent] if pipeline is not None else []), Path()]
    found = next((folder / FILE for folder in folders if (folder / FILE).is_file()), None)
    return Layers(given, environment, read_toml(found) if found is not None else {})


def read_toml(path: Path) -> dict[str, Setting]:
    """The settings of a ``thalweg.toml``: nested tables are dotted keys. Raises ScriptErrors with every place that is wrong."""
    text = path.read_text(encoding="utf-8-sig")
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ScriptErrors([_toml_syntax(path, text, str(e))]) from e
    flat = dict(_flatten(tree, ""))
    errors = []
    values: dict[str, str] = {}
    for key, value in flat.items():
        if isinstance(value, bool):
            values[key] = str(value).lower()
        elif isinstance(value, str | int | float):
            values[key] = str(value)
        else:
            errors.append(_toml_error(path, text, key, f"option '{key}': expected a string or a number", None))
    errors += [_toml_error(path, text, e.key, e.message, e.hint) for e in _problems(values)]
    if errors:
        raise ScriptErrors(errors)
    return {key: Setting(value, str(path)) for key, value in values.items()}


def check(values: Mapping[str, str]) -> list[OptionError]:
    """What is wrong with these settings: unknown keys with the nearest known one, values that do not fit."""
    return _problems(values)


def resolve(given: Layers, sets: Mapping[str, Setting], stem: str) -> Resolved:
    """Merge the layers; all of them were checked before. ``stem`` names the pipeline where nobody does."""
    merged: dict[str, Setting] = {**given.toml, **sets, **given.environment, **given.command_line}
    settings, errors = options.read(Settings, {key: setting.value for key, setting in merged.items()})
    if settings is None:
        raise errors[0]
    settings = dataclasses.replace(settings, pipeline_name=settings.pipeline_name or stem)
    origins = {key: merged[key].origin if key in merged else "default" for key in KEYS}
    if "pipeline.name" not in merged:
        origins["pipeline.name"] = "the file's name"
    return Resolved(settings, origins, _shown(settings))


def variable(key: str) -> str:
    """The environment variable of a setting: ``budget.rows`` is ``TWG_BUDGET_ROWS``."""
    return ENVIRONMENT + key.upper().replace(".", "_")


def _problems(values: Mapping[str, str]) -> list[OptionError]:
    """Unknown keys, then values that do not fit."""
    known = options.docs(Settings)
    return [options.unknown(key, known) for key in values if key not in KEYS] + options.read(Settings, values)[1]


def _environment(environ: Mapping[str, str], errors: list[UserError]) -> dict[str, Setting]:
    """The variables that name a setting. One that nearly does is an error; others belong to somebody else."""
    variables = {variable(key): key for key in KEYS}
    out = {}
    for given, value in sorted(environ.items()):
        if not given.startswith(ENVIRONMENT):
            continue
        key = variables.get(given)
        if key is None:
            near = difflib.get_close_matches(given, variables, n=1, cutoff=_NEAR)
            if near:
                errors.append(UserError(f"unknown setting {given}", where="environment", hint=f"did you mean {near[0]}?"))
            continue
        out[key] = Setting(value, given)
        errors += [UserError(e.message, where=f"environment {given}", hint=e.hint) for e in _problems({key: value})]
    return out


def _flatten(tree: Mapping[str, Any], before: str) -> list[tuple[str, Any]]:
    """Nested tables as dotted keys."""
    out: list[tuple[str, Any]] = []
    for key, value in tree.items():
        out += _flatten(value, f"{before}{key}.") if isinstance(value, dict) else [(before + key, value)]
    return out


def _toml_syntax(path: Path, text: str, message: str) -> ScriptError:
    """A TOML syntax error at its place."""
    place = _TOML_PLACE.search(message)
    lines = text.splitlines() or [""]
    line, column = (int(place[1]), int(place[2])) if place else (len(lines), len(lines[-1]) + 1)
    at = Location(str(path), line, column, lines[min(line, len(lines)) - 1])
    return ScriptError(_TOML_PLACE.sub("", message).strip(), at)


def _toml_error(path: Path, text: str, key: str, message: str, hint: str | None) -> ScriptError:
    """An error at the line that gives ``key``: the last part of a dotted key, under its table if there is one."""
    last = key.rsplit(".", 1)[-1]
    wanted = re.compile(rf"(?P<table>\[?)\s*(?:[\w.\"'-]+\.)?[\"']?{re.escape(last)}[\"']?\s*=")
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("["):
            table = re.sub(r"[\s\"']", "", line.strip().strip("[]")) + "."
        found = wanted.search(line)
        if found and key.startswith(table):
            column = line.index(last, found.start()) + 1
            return ScriptError(message, Location(str(path), number, column, line, len(last)), hint=hint)
    return ScriptError(message, Location(str(path), 1, 1, text.splitlines()[0] if text else ""), hint=hint)


def _shown(settings: Settings) -> dict[str, str]:
    """Each value as a user would write it."""
    out = {}
    for item in dataclasses.fields(Settings):
        key, value, reader = item.metadata["key"], getattr(settings, item.name), (item.metadata["reader"].__doc__ or "").lower()
        if value is None:
            out[key] = ""
        elif isinstance(value, int) and "duration" in reader:
            out[key] = show_duration(value)
        elif isinstance(value, int) and "size" in reader:
            out[key] = show_size(value)
        else:
            out[key] = str(value)
    return out


def show_duration(ns: int) -> str:
    """Nanoseconds in the largest unit that divides them: ``250 ms``."""
    if ns == 0:
        return "0 s"
    unit, factor = next((unit, factor) for unit, factor in _UNITS if ns % factor == 0)
    return f"{ns // factor} {unit}"


def show_size(nbytes: int) -> str:
    """Bytes in the largest binary unit that divides them: ``32 MiB``."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes and nbytes % factor == 0:
            return f"{nbytes // factor} {unit}"
    return f"{nbytes} B"
