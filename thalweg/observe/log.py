"""One structured line for each event of interest: logfmt or JSON, values escaped and cut, repeats limited, secrets never."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from thalweg.model import events as e
from thalweg.model.clock import MILLISECOND_NS, SECOND_NS
from thalweg.model.options import redact, redact_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from thalweg.model.clock import Clock
    from thalweg.model.position import Partition

_LONGEST: Final = 500
"""Code points of one value; an event with many partitions or a huge bad record is cut."""
_LONGEST_LIST: Final = 16_000
"""Code points of a list of fields."""
_BURST: Final = 5
"""Lines of one kind within one period; the next one says how many were left out."""
_PERIOD_NS: Final = 10 * SECOND_NS
_LASTS_NS: Final = 5 * SECOND_NS
"""How long a queue must be in a state before a line says so: one that is full for moments is how a busy pipeline works."""
_LEVELS: Final = {"debug": 0, "info": 1, "warning": 2, "error": 3}
_BARE: Final = re.compile(r"[!#-<>-~]+")
_KEY: Final = re.compile(r"[^A-Za-z0-9_.\-\[\]]+")


class _LogObserver:
    """Writes lines; called from every thread."""

    def __init__(self, write: Callable[[str], object], clock: Clock, *, style: str = "logfmt", at_least: str = "info") -> None:
        """``write`` is given whole lines; ``style`` is ``logfmt``, ``json``, or ``plain`` for a terminal; lower levels are left out."""
        self._write = write
        self._clock = clock
        self._form = _FORMS[style]
        self._at_least = _LEVELS[at_least]
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, ...], _Burst] = {}
        self._states = _States(clock)

    def on(self, event: e.Event) -> None:
        """Take one fact; most are counted elsewhere and give no line."""
        for lasting in self._states.due(event):
            self._say(lasting)
        if not isinstance(event, e.Pressure):
            self._say(event)

    def _say(self, event: e.Event) -> None:
        """The line of an event, if it has one that is wanted."""
        describe = _LINES.get(type(event))
        if describe is None:
            return
        line = describe(event)
        if _LEVELS.get(line.level, 0) < self._at_least:
            return
        left_out = self._left_out((type(event).__name__, *line.about))
        if left_out is not None:
            extra = {"suppressed": left_out} if left_out else {}
            self.line(line.level, line.event, {**line.fields, **extra})

    def line(self, level: str, event: str, fields: Mapping[str, object]) -> None:
        """Write one line; a log that cannot be written does not stop a pipeline."""
        shown = {_KEY.sub("_", key): _shown(value) for key, value in fields.items()}
        stamp = datetime.fromtimestamp(self._clock.now_ns() // MILLISECOND_NS / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {"ts": stamp, "level": level, "event": event, **shown}
        with self._lock, contextlib.suppress(OSError, ValueError):
            self._write(self._form(record) + "\n")

    def _left_out(self, key: tuple[str, ...]) -> int | None:
        """None when there were too many lines like this lately, else how many were left out before it."""
        now = self._clock.monotonic_ns()
        with self._lock:
            burst = self._seen.setdefault(key, _Burst(now))
            if now - burst.begin_ns >= _PERIOD_NS:
                burst.begin_ns, burst.lines = now, 0
            if burst.lines >= _BURST:
                burst.left_out += 1
                return None
            burst.lines += 1
            left_out, burst.left_out = burst.left_out, 0
            return left_out


class _States:
    """What pressure each stage is under, as far as it lasts; asked at every event, since time passes without any of its own."""

    def __init__(self, clock: Clock) -> None:
        """Every stage is normal."""
        self._clock = clock
        self._lock = threading.Lock()
        self._young: dict[str, tuple[int, e.Pressure]] = {}
        """States that have not lasted yet, with the time at which they will have."""
        self._said: dict[str, str] = {}

    def due(self, event: e.Event) -> list[e.Pressure]:
        """States that have lasted by now and are other than what was said of their stage last; ``stuck`` has lasted when it is told."""
        if not self._young and not isinstance(event, e.Pressure):
            return []
        now = self._clock.monotonic_ns()
        with self._lock:
            old = [state for until, state in self._young.values() if until <= now]
            if isinstance(event, e.Pressure):
                self._young[event.stage] = (now + _LASTS_NS, event)
                old += [event] if event.state == "stuck" else []
            out = []
            for state in old:
                if self._young[state.stage][1] is state:
                    del self._young[state.stage]
                if self._said.get(state.stage, "normal") != state.state:
                    self._said[state.stage] = state.state
                    out.append(state)
            return out


class _Long(str):
    """A text that may be longer than others: said once, and useless where it is cut early."""

    __slots__ = ()


@dataclass(slots=True)
class _Burst:
    """Lines of one kind in the current period."""

    begin_ns: int
    lines: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    """What an event says; ``about`` tells kinds apart that are limited on their own."""

    level: str
    event: str
    fields: Mapping[str, object]
    about: tuple[str, ...] = field(default=())


def _started(event: e.PipelineStarted) -> _Line:
    """What a reader of the log wants to know first."""
    return _Line("info", "started", {"pipeline": event.pipeline, **redact(event.facts)})


def _resolved(event: e.SchemaResolved) -> _Line:
    """Every field of one side of a table."""
    fields = {"table": event.source, "side": event.side, "format": event.format, "columns": event.columns, "fields": _Long(event.fields)}
    return _Line("info", "schema_resolved", fields, (event.source, event.side))


def _stopped(event: e.PipelineStopped) -> _Line:
    """How it ended."""
    return _Line("info", "stopped", {"pipeline": event.pipeline, "reason": event.reason, "seconds": round(event.seconds, 3)})


def _assigned(event: e.Assigned) -> _Line:
    """Where each partition resumes and why."""
    places = [f"{p}@{at} ({event.reasons[p]})" if p in event.reasons else f"{p}@{at}" for p, at in sorted(event.positions.items())]
    return _Line("info", "assigned", {"source": event.source, "partitions": len(places), "positions": ", ".join(places)}, (event.source,))


def _revoked(event: e.Revoked) -> _Line:
    """What went; a lost partition is a warning."""
    fields = {"source": event.source, "partitions": len(event.partitions), "which": _which(event.partitions)}
    return _Line("warning", "lost", fields, (event.source,)) if event.lost else _Line("info", "revoked", fields, (event.source,))


def _reset(event: e.OffsetReset) -> _Line:
    """From where to where."""
    fields = {"source": event.source, "partition": str(event.partition), "old": event.old, "new": event.new, "reason": event.reason}
    return _Line("warning", "offset_reset", fields, (event.source, str(event.partition)))


def _bad(event: e.BadRecords) -> _Line:
    """How many by code, and the first one."""
    fields = {"source": event.source, "policy": event.policy, "rows": sum(event.codes.values()), "example": event.example}
    return _Line("warning", "bad_records", {**fields, **event.codes}, (event.source, *sorted(event.codes)))


def _dropped(event: e.RecordsDropped) -> _Line:
    """How many by which rule."""
    return _Line("info", "records_dropped", {"source": event.source, "rule": event.rule, "rows": event.rows}, (event.source, event.rule))


def _commit_failed(event: e.CommitFailed) -> _Line:
    """Why."""
    return _Line("warning", "commit_failed", {"source": event.source, "reason": event.reason}, (event.source,))


def _retried(event: e.LaneRetried) -> _Line:
    """Which attempt, and why."""
    return _Line("warning", "lane_retried", {"lane": event.lane, "attempt": event.attempt, "reason": event.reason}, (event.lane,))


def _poisoned(event: e.LanePoisoned) -> _Line:
    """Why."""
    return _Line("error", "lane_poisoned", {"lane": event.lane, "reason": event.reason}, (event.lane,))


def _rewound(event: e.Rewound) -> _Line:
    """Why."""
    return _Line("warning", "rewound", {"reason": event.reason})


def _pressed(event: e.Pressure) -> _Line:
    """Which stage, once the state has lasted; only the upper half is a warning."""
    level = "warning" if event.state in {"critical", "stuck"} else "info"
    return _Line(level, "pressure", {"stage": event.stage, "state": event.state, "bytes": event.nbytes}, (event.stage,))


def _noticed(event: e.Notice) -> _Line:
    """The level is the one that the notice has."""
    return _Line(event.level.lower(), "notice", {"code": event.code, "message": event.message}, (event.code,))


_LINES: Final[dict[type, Callable[[Any], _Line]]] = {
    e.PipelineStarted: _started,
    e.SchemaResolved: _resolved,
    e.PipelineStopped: _stopped,
    e.Assigned: _assigned,
    e.Revoked: _revoked,
    e.OffsetReset: _reset,
    e.BadRecords: _bad,
    e.RecordsDropped: _dropped,
    e.CommitFailed: _commit_failed,
    e.LaneRetried: _retried,
    e.LanePoisoned: _poisoned,
    e.Rewound: _rewound,
    e.Pressure: _pressed,
    e.Notice: _noticed,
}


def _which(partitions: tuple[Partition, ...]) -> str:
    """Partitions as brokers write them."""
    return ", ".join(str(p) for p in sorted(partitions))


def _shown(value: object) -> object:
    """A value that is safe to write: numbers as they are, texts without passwords in URLs and cut to a length."""
    if value is None or isinstance(value, bool | int | float):
        return value
    longest = _LONGEST_LIST if isinstance(value, _Long) else _LONGEST
    text = redact_url(str(value)[: 4 * longest])
    whole = max(len(text), len(str(value)))
    return text if whole <= longest else f"{text[:longest]}... ({whole - longest} more)"


def _as_json(record: Mapping[str, object]) -> str:
    """One object."""
    return _plain(json.dumps(record))


def _as_logfmt(record: Mapping[str, object]) -> str:
    """``key=value`` for each field."""
    return " ".join(f"{key}={_logfmt(value)}" for key, value in record.items())


def _as_plain(record: Mapping[str, object]) -> str:
    """Level and event as words, no time: whoever looks at a terminal knows it."""
    rest = {key: value for key, value in record.items() if key not in {"ts", "level", "event"}}
    return f"{record['level']} {record['event']} {_as_logfmt(rest)}".rstrip()


def _logfmt(value: object) -> str:
    """A value in one word, or in quotes with everything invisible escaped."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    text = str(value)
    return text if _BARE.fullmatch(text) else _plain(json.dumps(text, ensure_ascii=not text.isprintable()))


def _plain(text: str) -> str:
    """JSON leaves DEL as it is."""
    return text.replace("\x7f", "\\u007f")


_FORMS: Final = {"json": _as_json, "logfmt": _as_logfmt, "plain": _as_plain}


@dataclass(frozen=True, slots=True)
class _LogPlugin:
    """What the registry hands out."""

    make: Callable[..., _LogObserver]


PLUGIN: Final = _LogPlugin(_LogObserver)
