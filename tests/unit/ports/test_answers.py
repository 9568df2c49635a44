"""Answers remembered."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from thalweg.errors import SchemaUnavailable, SchemaUnknown
from thalweg.ports import answers
from thalweg.ports.answers import AnswerCache
from thalweg.testing.fakes import FakeClock


def test_many_threads_ask_once() -> None:
    """However many ask at the same time, there is one question, and all get its answer (REG-06)."""
    asked = []
    gate = threading.Event()

    def ask() -> str:
        asked.append(1)
        gate.wait(5)
        return "answer"

    cache: AnswerCache[str] = AnswerCache(FakeClock(), 1)
    with ThreadPoolExecutor(16) as pool:
        answers = [pool.submit(cache.get, "k", ask) for _ in range(16)]
        time.sleep(0.1)
        gate.set()
        assert {a.result() for a in answers} == {"answer"}
    assert len(asked) == 1


def test_unknown_is_believed_for_a_while() -> None:
    """The negative answer expires; the error is a new one each time it is raised (RG-05)."""
    clock, asked = FakeClock(), []

    def ask() -> str:
        asked.append(1)
        raise SchemaUnknown("none", where="here", hint="look")

    cache: AnswerCache[str] = AnswerCache(clock, 100)
    seen = []
    for _ in range(3):
        with pytest.raises(SchemaUnknown) as caught:
            cache.get("k", ask)
        seen.append(caught.value)
    assert len(asked) == 1
    assert len({id(e) for e in seen}) == 3
    assert (seen[2].message, seen[2].where, seen[2].hint) == ("none", "here", "look")
    clock.advance(100)

    assert cache.get("k", lambda: "now") == "now"
    clock.advance(10**12)
    assert cache.get("k", ask) == "now"


@pytest.mark.parametrize("error", [SchemaUnavailable("down"), KeyboardInterrupt(), ValueError("x")])
def test_other_errors_are_forgotten(error: BaseException) -> None:
    """No answer is no answer: the next caller asks again, and nobody waits for ever."""
    cache: AnswerCache[str] = AnswerCache(FakeClock(), 100)

    def ask() -> str:
        raise error

    with pytest.raises(type(error)):
        cache.get("k", ask)
    assert cache.get("k", lambda: "now") == "now"


def test_what_is_unknown_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Payloads that are no framed ones name any number of ids: the oldest answers are given up, expired ones first, and good ones never (RG-05)."""
    monkeypatch.setattr(answers, "MOST_UNKNOWN", 100)
    clock = FakeClock()
    cache: AnswerCache[str] = AnswerCache(clock, 1_000)
    asked: list[int] = []

    def none(key: int) -> str:
        asked.append(key)
        raise SchemaUnknown("none")

    def look(keys: range) -> list[int]:
        asked.clear()
        for key in keys:
            with pytest.raises(SchemaUnknown):
                cache.get(key, lambda key=key: none(key))  # type: ignore[misc]
        return asked

    assert cache.get("good", lambda: "yes") == "yes"
    assert len(look(range(500))) == 500
    assert look(range(400, 500)) == []
    assert look(range(300, 310)) == list(range(300, 310))
    assert len(cache._unknown) <= 101
    clock.advance(1_000)
    assert len(look(range(490, 500))) == 10
    assert len(cache._unknown) == 10
    assert cache.get("good", lambda: "no") == "yes"
