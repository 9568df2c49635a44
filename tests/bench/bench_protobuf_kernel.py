"""The Protobuf kernel, ptars and Google's runtime on one core, in one run: ``python tests/bench/bench_protobuf_kernel.py [rows]``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import ptars
import pyarrow as pa
from figures import best_seconds, head, show
from google.protobuf import message_factory

from thalweg.codecs.protobuf.descriptors import messages_of_set
from thalweg.codecs.protobuf.kernel_decoder import compile_decoder
from thalweg.codecs.protobuf.options import ProtobufOptions
from thalweg.codecs.protobuf.table import table_of_message
from thalweg.model import options
from thalweg.native.protoc import compile_protos
from thalweg.ports.codec import DecodeRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

ORDER = """
syntax = "proto3"; package t;
import "google/protobuf/timestamp.proto";
enum Status { NEW = 0; PAID = 1; SHIPPED = 2; }
message Line { string sku = 1; int32 qty = 2; double price = 3; }
message Order {
  int64 order_id = 1; string customer = 2; optional string country = 3; double amount = 4; int32 qty = 5; bool paid = 6;
  google.protobuf.Timestamp ts = 7; Status status = 8; repeated Line lines = 9; map<string, string> tags = 10;
  oneof pay { string card = 11; string iban = 12; }
}
"""
WIDE_TYPES = ("int32", "int64", "double", "string", "bool", "sint64", "fixed32", "float")
WIDE = 'syntax = "proto3"; package t; message Wide {' + "".join(f"{WIDE_TYPES[i % 8]} f{i} = {i + 1};" for i in range(128)) + "}"


def order(make: Callable[..., Any], n: int) -> Message:
    """95 bytes."""
    out = make(order_id=n, customer=f"cust{n % 10000:05d}", amount=n % 9973 / 7, qty=n % 7, paid=n % 2 == 1, status=n % 3, card="x")
    if n % 2:
        out.country = "NO"
    out.ts.seconds = 1_700_000_000 + n
    for j in range(3):
        out.lines.add(sku=f"sku{j}", qty=j, price=1.5 * j)
    out.tags["a"] = "b"
    return out


def wide(make: Callable[..., Any], n: int) -> Message:
    """128 columns."""
    out = make()
    for i in range(128):
        setattr(out, f"f{i}", (n % 1000 + 1, n * 1000 + 1, n * 0.5 + 1, f"value{n % 100}", True, -n - 1, n + 1, 1.5)[i % 8])
    return out


def touch_order(out: Any) -> tuple[Any, ...]:  # noqa: ANN401 - the library has no types
    """Every field, as the columns have them."""
    country = out.country if out.HasField("country") else None
    lines = [(line.sku, line.qty, line.price) for line in out.lines]
    pay = out.WhichOneof("pay")
    return (
        out.order_id, out.customer, country, out.amount, out.qty, out.paid, (out.ts.seconds, out.ts.nanos), out.status, lines, dict(out.tags),
        out.card if pay == "card" else None, out.iban if pay == "iban" else None,
    )  # fmt: skip


def touch_wide(out: Any) -> list[Any]:  # noqa: ANN401 - the library has no types
    """All fields."""
    return [getattr(out, f"f{i}") for i in range(128)]


def bench(title: str, text: str, fill: Callable[..., Message], touch: Callable[[Any], Any], rows: int) -> None:
    """One shape: microseconds a record of each, and how many times the kernel's."""
    message = messages_of_set(compile_protos({"x.proto": text}, ["x.proto"]), "x.proto").roots[-1]
    make = message_factory.GetMessageClass(message)
    data = [fill(make, n).SerializeToString() for n in range(rows)]
    payloads = pa.array(data, pa.binary())
    values, _ = options.read(ProtobufOptions, {})
    decoder = compile_decoder(table_of_message(DecodeRequest("protobuf", None, values, "t", "_twg_"), message))
    assert not decoder.decode(payloads).codes.any()
    known = ptars.HandlerPool([message.file]).get_for_message(message)
    few = data[: rows // 5]
    figures = {
        "kernel decode": best_seconds(lambda: decoder.decode(payloads), repeat=15) / rows,
        "ptars": best_seconds(lambda: known.list_to_record_batch(data), repeat=5) / rows,
        "upb, parse and touch": best_seconds(lambda: [touch(make.FromString(d)) for d in few], repeat=3) / len(few),
    }
    head(f"{title}, {payloads.nbytes // rows - 4} bytes a record")
    for name, seconds in figures.items():
        show(name, seconds * 1e6, "us/record")
    show("times ptars", figures["ptars"] / figures["kernel decode"], "x")
    show("times upb", figures["upb, parse and touch"] / figures["kernel decode"], "x")


def main() -> None:
    """Both shapes."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    bench("Order of 17 columns", ORDER, order, touch_order, rows)
    bench("Message of 128 fields", WIDE, wide, touch_wide, max(rows // 5, 1000))


if __name__ == "__main__":
    main()
