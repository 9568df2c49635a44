"""Answers remembered: each question is asked once however many threads ask, and "there is none" is believed for a while."""

from __future__ import annotations

import threading
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from thalweg.errors import SchemaUnknown

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from thalweg.model.clock import Clock

T = TypeVar("T")
MOST_UNKNOWN: Final = 100_000
"""Answers of "there is none" that are kept: more than a batch has records, so that a batch that is tried again gets further each time."""


@dataclass(frozen=True, slots=True)
class _None:
    """What was said of something that there is not, without the frames that an exception holds."""

    expires_ns: int
    message: str
    where: str | None
    hint: str | None


class AnswerCache(Generic[T]):
    """Thread-safe. Good answers stay; SchemaUnknown stays for ``negative_ns``; any other error is forgotten at once."""

    def __init__(self, clock: Clock, negative_ns: int) -> None:
        """Begin empty."""
        self._clock = clock
        self._negative_ns = negative_ns
        self._lock = threading.Lock()
        self._answers: dict[Hashable, Future[T]] = {}
        self._unknown: OrderedDict[Hashable, _None] = OrderedDict()

    def get(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The answer for ``key``; the first caller asks, the others wait for its answer."""
        with self._lock:
            self._forget()
            none = self._unknown.get(key)
            if none is not None:
                raise SchemaUnknown(none.message, where=none.where, hint=none.hint)
            answer = self._answers.get(key)
            mine = answer is None
            if answer is None:
                answer = self._answers[key] = Future()
        if mine:
            self._ask(key, answer, ask)
        error = answer.exception()
        if isinstance(error, SchemaUnknown):
            raise SchemaUnknown(error.message, where=error.where, hint=error.hint) from error
        return answer.result()

    def _ask(self, key: Hashable, answer: Future[T], ask: Callable[[], T]) -> None:
        """Fill the answer, with the error where there is one."""
        try:
            answer.set_result(ask())
        except BaseException as e:  # noqa: BLE001 - the error belongs to everybody who waits, result() raises it
            with self._lock:
                del self._answers[key]
                if isinstance(e, SchemaUnknown):
                    self._unknown[key] = _None(self._clock.monotonic_ns() + self._negative_ns, e.message, e.where, e.hint)
            answer.set_exception(e)

    def _forget(self) -> None:
        """Drop the negative answers whose time is up, and the oldest beyond the bound; they lie in the order of their times."""
        now = self._clock.monotonic_ns()
        while self._unknown:
            oldest = next(iter(self._unknown))
            if len(self._unknown) <= MOST_UNKNOWN and now < self._unknown[oldest].expires_ns:
                break
            del self._unknown[oldest]
