"""Encodings chosen from a sample."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from thalweg.sinks.files import encodings

ROWS = 4000
RNG = random.Random(1)
TABLE = pa.table({
    "offset": pa.array(range(ROWS)),
    "noise": pa.array([RNG.getrandbits(63) for _ in range(ROWS)]),
    "country": pa.array([f"c{i % 7}" for i in range(ROWS)]),
    "uuid": pa.array([f"{RNG.getrandbits(128):032x}" for _ in range(ROWS)]),
    "at": pa.array([dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(seconds=i) for i in range(ROWS)]),
    "price": pa.array([RNG.random() for _ in range(ROWS)]),
    "flag": pa.array([i % 2 == 0 for i in range(ROWS)]),
    "lines": pa.array([[{"sku": f"s{i % 9}", "n": i}] for i in range(ROWS)]),
    "tags": pa.array([[("k", f"v{i}")] for i in range(ROWS)], pa.map_(pa.string(), pa.string())),
    "status": pa.array([f"s{i % 3}" for i in range(ROWS)]).dictionary_encode(),
    "id": pa.array([f"{RNG.getrandbits(128):032x}".encode()[:16] for _ in range(ROWS)], pa.binary(16)),
})


def test_dictionary_only_where_values_repeat() -> None:
    """Repeating columns get a dictionary, close numbers deltas, everything else is plain; nested leaves count one by one."""
    choice = encodings.choose(TABLE, "auto", "auto")

    assert choice.dictionary == ("country", "lines.list.element.sku", "tags.key_value.key", "status")
    assert dict(choice.encoding) == dict.fromkeys(["offset", "at", "lines.list.element.n"], "DELTA_BINARY_PACKED")
    assert choice.plain == ("noise", "uuid", "price", "flag", "tags.key_value.value", "id")
    assert str(choice).startswith("dictionary: country, ")


@pytest.mark.parametrize(("dictionary", "encoding"), [("auto", "auto"), ("all", "auto"), ("none", "plain"), ("uuid", "price=BYTE_STREAM_SPLIT")])
def test_every_choice_can_be_written_and_read(dictionary: str, encoding: str) -> None:
    """Whatever is chosen, the file holds the same rows."""
    choice = encodings.choose(TABLE, dictionary, encoding)
    sink = pa.BufferOutputStream()
    pq.write_table(TABLE, sink, use_dictionary=list(choice.dictionary), column_encoding=dict(choice.encoding) or None)

    assert pq.read_table(pa.BufferReader(sink.getvalue())).equals(TABLE)


def test_options_win() -> None:
    """A column named in an option gets what the option says, with everything below it."""
    choice = encodings.choose(TABLE, "uuid, tags", "country=DELTA_BYTE_ARRAY, lines=PLAIN")

    assert choice.dictionary == ("uuid", "tags.key_value.key", "tags.key_value.value")
    assert ("country", "DELTA_BYTE_ARRAY") in choice.encoding
    assert ("lines.list.element.sku", "PLAIN") in choice.encoding


def test_sample_is_small() -> None:
    """A choice costs milliseconds whatever the first batch's size; it looks at the first rows only."""
    long = pa.table({"a": pa.array(["x"] * encodings.SAMPLE_ROWS + [str(i) for i in range(100_000)])})

    assert encodings.choose(long, "auto", "auto").dictionary == ("a",)


def test_empty_and_null_columns() -> None:
    """No values say nothing: a dictionary costs nothing then."""
    table = pa.table({"a": pa.nulls(10, pa.int64()), "b": pa.nulls(10, pa.list_(pa.string())), "c": pa.array([None, 5] + [None] * 8)})

    assert encodings.choose(table, "auto", "auto").dictionary == ("a", "b.list.element", "c")
    assert encodings.choose(table.slice(0, 0), "auto", "auto").dictionary == ("a", "b.list.element", "c")


@pytest.mark.parametrize("option", ["id", "id=", "=PLAIN", "id=RLE", "a=PLAIN,,"])
def test_unreadable_option(option: str) -> None:
    """The message says what is expected."""
    with pytest.raises(ValueError, match="expected auto, plain or pairs"):
        encodings.named_encodings(option)


def test_deltas_beat_a_dictionary_that_would_grow() -> None:
    """Offsets of unnested records repeat a little and go on for ever: deltas, while a handful of values stays a dictionary."""
    offsets = pa.array([i // 3 for i in range(ROWS)])
    few = pa.array([RNG.randrange(5) for _ in range(ROWS)], pa.int32())

    assert not encodings.repeats(offsets)
    assert encodings.is_close(offsets)
    assert encodings.repeats(few)
    assert encodings.repeats(pa.array([7] * ROWS))


def test_extremes_do_not_overflow() -> None:
    """Large numbers are close when their differences are small, and far apart when those need all bits."""
    assert not encodings.is_close(pa.array([(i % 2) * 2**62 for i in range(300)]))
    assert encodings.is_close(pa.array(range(2**63 - 300, 2**63)))
    assert encodings.is_close(pa.array(range(2**64 - 300, 2**64), pa.uint64()))


def test_a_key_that_a_few_rows_share_gets_no_dictionary() -> None:
    """Three lines of each order repeat its key, but new keys come for ever; a thousand articles come to an end."""
    keys = pa.array([f"order-{i // 3:08d}" for i in range(encodings.SAMPLE_ROWS)])
    articles = pa.array([f"article {i * 7919 % 5_000}" for i in range(encodings.SAMPLE_ROWS)])

    assert not encodings.repeats(keys)
    assert encodings.repeats(articles)


def test_many_values_that_come_to_an_end() -> None:
    """Twenty thousand articles fill no sample, but each comes again in a file of some size; in a small one they do not, and large ones fill a dictionary."""
    rng = random.Random(2)
    articles = pa.array([f"SKU-{rng.randrange(20_000):06d}" for _ in range(4 * encodings.SAMPLE_ROWS)])
    amounts = pa.array([rng.randrange(50_000) / 100 for _ in range(4 * encodings.SAMPLE_ROWS)])
    long = pa.array([f"{rng.randrange(20_000):0100d}" for _ in range(4 * encodings.SAMPLE_ROWS)])
    table = pa.table({"article": articles, "amount": amounts, "long": long})

    assert encodings.choose(table, "auto", "auto").dictionary == ("article", "amount")
    assert encodings.choose(table.slice(0, encodings.SAMPLE_ROWS), "auto", "auto").dictionary == ()


@pytest.mark.parametrize("seed", range(5))
def test_values_that_go_on_for_ever_get_no_dictionary(seed: int) -> None:
    """Random numbers, keys that two rows share, and customers of whom few come often and new ones come always."""
    rng = random.Random(seed)
    rows = encodings.SAMPLE_ROWS
    table = pa.table({
        "random": pa.array([rng.random() for _ in range(4 * rows)]),
        "pairs": pa.array([f"order-{i // 2}" for i in range(4 * rows)]),
        "customers": pa.array([f"customer-{int(rng.paretovariate(0.2)) % 10**12}" for _ in range(4 * rows)]),
    })

    assert encodings.choose(table, "auto", "auto").dictionary == ()


def test_numbers_of_forty_bits_are_close() -> None:
    """Their differences take 41 bits of 64; those of 48 bits are written as they are, which is quicker."""
    rng = random.Random(3)

    assert encodings.is_close(pa.array([rng.getrandbits(40) for _ in range(ROWS)]))
    assert not encodings.is_close(pa.array([rng.getrandbits(48) for _ in range(ROWS)]))
