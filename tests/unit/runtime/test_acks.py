"""The ledger: contiguous prefixes, generations, tokens."""

from __future__ import annotations

import random

import pytest

from thalweg.model.position import Partition, Span
from thalweg.runtime.acks import Delivered, DerivedCoverage, Ledger, NoCommit, RawAnchor

P = Partition("orders", "orders", 0)
Q = Partition("orders", "orders", 1)
A, B = RawAnchor("a"), RawAnchor("b")


def test_position_is_the_contiguous_confirmed_prefix() -> None:
    """A later span that is confirmed first does not move the position past the gap (ACK-18)."""
    ledger = Ledger()
    ledger.start({P: 10})
    ledger.register(0, 1, [Span(P, 10, 20)], [A])
    ledger.register(0, 2, [Span(P, 20, 30)], [A])
    ledger.confirm(0, A, [2])

    assert ledger.positions("orders") == {P: Delivered(10)}

    ledger.confirm(0, A, [1])

    assert ledger.positions("orders") == {P: Delivered(30)}


def test_every_anchor_must_confirm() -> None:
    """An epoch counts when the slowest gating lane has it."""
    ledger = Ledger()
    ledger.start({P: 0})
    ledger.register(0, 1, [Span(P, 0, 5)], [A, B])
    ledger.confirm(0, A, [1])

    assert ledger.positions("orders") == {P: Delivered(0)}
    assert ledger.pending("orders") == 1

    ledger.confirm(0, B, [1])

    assert ledger.positions("orders") == {P: Delivered(5)}
    assert ledger.pending("orders") == 0


def test_an_epoch_without_anchors_is_confirmed_at_once() -> None:
    """Records that every gating sink has already are handled (replay)."""
    ledger = Ledger()
    ledger.start({P: 0})

    assert ledger.register(0, 1, [Span(P, 0, 7)], [])
    assert ledger.positions("orders") == {P: Delivered(7)}


def test_rewind_forgets_what_is_not_confirmed_and_refuses_the_old_generation() -> None:
    """After a reset neither a late registration nor a late confirmation moves anything."""
    ledger = Ledger()
    ledger.start({P: 0})
    ledger.register(0, 1, [Span(P, 0, 5)], [A])
    ledger.confirm(0, A, [1])
    ledger.register(0, 2, [Span(P, 5, 9)], [A])
    generation = ledger.reset()
    ledger.confirm(0, A, [2])

    assert not ledger.register(0, 3, [Span(P, 9, 12)], [A])
    assert ledger.positions("orders") == {P: Delivered(5)}
    assert generation == 1


def test_a_dropped_partition_ignores_late_confirmations() -> None:
    """A confirmation that arrives after a partition went changes neither it nor the others."""
    ledger = Ledger()
    ledger.start({P: 0, Q: 0})
    ledger.register(0, 1, [Span(P, 0, 5), Span(Q, 0, 3)], [A])
    ledger.drop([P])
    ledger.confirm(0, A, [1])

    assert ledger.positions("orders") == {Q: Delivered(3)}


@pytest.mark.parametrize("token", [DerivedCoverage("x"), NoCommit("x")])
def test_only_a_raw_anchor_moves_a_source(token: object) -> None:
    """Any other token is refused at run time too (ACK-10)."""
    ledger = Ledger()
    ledger.start({P: 0})

    with pytest.raises(TypeError, match="only a RawAnchor"):
        ledger.confirm(0, token, [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="only a RawAnchor"):
        ledger.register(0, 1, [Span(P, 0, 5)], [token])  # type: ignore[list-item]


@pytest.mark.parametrize("seed", range(30))
def test_position_never_leads(seed: int) -> None:
    """Whatever the order of confirmations, the position never passes an offset that some anchor has not confirmed (COV-17)."""
    rng = random.Random(seed)
    ledger = Ledger()
    ledger.start({P: 0})
    at, spans = 0, {}
    for number in range(1, 40):
        end = at + rng.randint(0, 9)
        spans[number] = Span(P, at, end)
        ledger.register(0, number, [spans[number]], [A, B])
        at = end
    waiting = [(number, token) for number in spans for token in (A, B)]
    rng.shuffle(waiting)
    confirmed: dict[int, set[RawAnchor]] = {number: set() for number in spans}
    for number, token in waiting:
        ledger.confirm(0, token, [number])
        confirmed[number].add(token)
        position = ledger.positions("orders")[P].offset
        assert all(confirmed[n] == {A, B} for n, span in spans.items() if span.start < min(position, span.end))

    assert ledger.positions("orders")[P].offset == at
