"""Every error that Thalweg raises on purpose.

ThalwegError                     what happened, where, what to do
├── UserError                    a bad file, option or argument (exit code 2)
│   ├── ScriptError              one error at a place in a ``.sql`` file
│   ├── ScriptErrors             all errors of one file
│   ├── OptionError              one option of one statement
│   ├── QueryRefused             a query that does not plan
│   └── MissingExtra             an optional package is not installed
└── PipelineError                a run that failed (exit code 1)
    ├── DecodeFailed             a bad record under ``'bad_data' 'fail'``
    ├── QueryFailed              a query failed while it ran
    ├── SchemaUnknown            a schema id or subject that does not exist (permanent)
    ├── SchemaUnavailable        a registry that does not answer now (transient)
    ├── SourceFailed             the transport failed for good
    ├── SinkFailed               a target failed for good
    │   ├── SpanTaken            another process has published this span
    │   └── PipeClosed           the reader of the output went away: a clean end
    ├── SinkBusy                 a target failed for now (transient; retried on the same stream)
    ├── PositionRefused          a position that cannot be trusted (a hole, a foreign group)
    └── DrainExpired             the drain deadline passed
"""

from __future__ import annotations

from dataclasses import dataclass


class ThalwegError(Exception):
    """What happened, where it happened, and what to do about it."""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        """Keep the parts apart so that a terminal and a log line can each show them their way."""
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        """``where: message (hint)`` on one line."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} ({self.hint})" if self.hint else text


class UserError(ThalwegError):
    """The user gave something that cannot be right; nothing was run."""

    unanswered: bool = False
    """Whether nothing is known to be wrong: a schema registry cannot be asked now, which is a failure like any other (exit code 1)."""


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file: 1-based line and column, counted in code points."""

    file: str
    line: int
    column: int
    text: str
    """The whole line, without its newline."""
    width: int = 1
    """Code points that the caret underlines."""

    def __str__(self) -> str:
        """``file:line:column``."""
        return f"{self.file}:{self.line}:{self.column}"


class ScriptError(UserError):
    """One error at a place in a ``.sql`` file."""

    def __init__(self, message: str, location: Location, *, hint: str | None = None) -> None:
        """Remember the place, so that the line can be shown with a caret."""
        super().__init__(message, where=str(location), hint=hint)
        self.location = location


class ScriptErrors(UserError):
    """All errors of one file, in the order of their places."""

    def __init__(self, errors: list[ScriptError]) -> None:
        """Sort by place and drop exact repeats."""
        unique = {(e.location.line, e.location.column, e.message): e for e in errors}
        self.errors = [unique[key] for key in sorted(unique)]
        self.unanswered = bool(errors) and all(e.unanswered for e in errors)
        super().__init__("\n".join(str(e) for e in self.errors))


class OptionError(UserError):
    """One option whose key is unknown or whose value does not fit its type."""

    def __init__(self, key: str, message: str, *, hint: str | None = None) -> None:
        """Name the key; the value is shown only where it is not a secret."""
        super().__init__(message, hint=hint)
        self.key = key


class QueryRefused(UserError):
    """A query that the engine cannot plan; the message is the engine's, made readable."""


class MissingExtra(UserError):
    """An optional package is missing; the message is the exact line that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        """Say ``pip install 'thalweg[extra]'``."""
        super().__init__(f"{package} is not installed: pip install 'thalweg[{extra}]'")
        self.extra = extra


class PipelineError(ThalwegError):
    """The pipeline cannot go on; what was confirmed stays confirmed."""


class DecodeFailed(PipelineError):
    """A record that cannot be decoded, under ``'bad_data' 'fail'``; ``where`` is topic/partition/offset."""


class QueryFailed(PipelineError):
    """A query failed while it ran and the row could not be set aside."""


class SchemaUnknown(PipelineError):
    """A schema id, GUID or subject that the registry does not know."""


class SchemaUnavailable(PipelineError):
    """The registry gave no answer; the same call may work later and no record is bad because of it."""


class SourceFailed(PipelineError):
    """The transport gave an error that retrying does not mend."""


class SinkFailed(PipelineError):
    """The target gave an error that retrying does not mend."""


class SpanTaken(SinkFailed):
    """Another process has published this span first: give up what is open and resume from the record."""


class PipeClosed(SinkFailed):
    """The reader of the output went away (``twg ... | head``): the run ends, and what was not printed is not confirmed."""


class SinkBusy(PipelineError):
    """The target gave an error that may pass; the lane retries on the same stream."""


class PositionRefused(PipelineError):
    """A committed position that would lose or repeat records if it were believed."""


class DrainExpired(PipelineError):
    """Work that was under way did not become durable before the drain deadline; it is not committed."""
