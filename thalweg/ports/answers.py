"""Answers remembered: each question is asked once however many threads ask, and "there is none" is believed for a while."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Generic, TypeVar

from thalweg.errors import SchemaUnknown

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from thalweg.model.clock import Clock

T = TypeVar("T")


class AnswerCache(Generic[T]):
    """Thread-safe. Good answers stay; SchemaUnknown stays for ``negative_ns``; any other error is forgotten at once."""

    def __init__(self, clock: Clock, negative_ns: int) -> None:
        """Begin empty."""
        self._clock = clock
        self._negative_ns = negative_ns
        self._lock = threading.Lock()
        self._answers: dict[Hashable, Future[T]] = {}
        self._expires: dict[Hashable, int] = {}

    def get(self, key: Hashable, ask: Callable[[], T]) -> T:
        """The answer for ``key``; the first caller asks, the others wait for its answer."""
        with self._lock:
            self._forget_expired(key)
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
                if isinstance(e, SchemaUnknown):
                    self._expires[key] = self._clock.monotonic_ns() + self._negative_ns
                else:
                    del self._answers[key]
            answer.set_exception(e)

    def _forget_expired(self, key: Hashable) -> None:
        """Drop a negative answer whose time is up."""
        expires = self._expires.get(key)
        if expires is not None and self._clock.monotonic_ns() >= expires:
            del self._expires[key], self._answers[key]
