"""What the registry finds: the Kafka source's options, capabilities and factory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.errors import UserError
from thalweg.ports.source import Capabilities, SourcePlugin
from thalweg.sources.kafka.client import complaints
from thalweg.sources.kafka.options import KafkaOptions, place, up_to_now
from thalweg.sources.kafka.source import KafkaSource

if TYPE_CHECKING:
    from collections.abc import Iterable

    from thalweg.ports.source import Source


def check(location: str, options: KafkaOptions) -> list[str]:
    """What is wrong with location and options together."""
    out = complaints(options)
    try:
        where = place(location, options)
    except UserError as e:
        return [str(e), *out]
    for name, mode, wants, given in (
        ("startup", options.startup_mode, "timestamp", options.startup_timestamp_ms is not None),
        ("startup", options.startup_mode, "specific-offsets", options.startup_offsets is not None),
        ("bounded", options.bounded_mode, "timestamp", options.bounded_timestamp_ms is not None),
        ("bounded", options.bounded_mode, "specific-offsets", options.bounded_offsets is not None),
    ):
        key = f"scan.{name}.{'timestamp-millis' if wants == 'timestamp' else wants}"
        if mode == wants and not given:
            out.append(f"'scan.{name}.mode' = '{mode}' needs '{key}'")
        if mode != wants and given:
            out.append(f"'{key}' is given, but 'scan.{name}.mode' is '{mode}'")
    if options.embedded_data is not None and not where.embedded:
        out.append("'embedded.data' fills kafka://embedded only")
    if options.embedded_data is not None and len(where.topics) != 1:
        out.append("'embedded.data' fills one topic, named in LOCATION or 'topic'")
    return out


def describe_start(_location: str, options: KafkaOptions) -> str:
    """Where a partition starts, in one line."""
    detail = {
        "timestamp": f" {options.startup_timestamp_ms}",
        "specific-offsets": " " + ";".join(f"partition:{p},offset:{o}" for p, o in (options.startup_offsets or {}).items()),
    }.get(options.startup_mode, "")
    end = "" if options.bounded_mode == "unbounded" else f"; ends at {options.bounded_mode}"
    return f"sinks' record, else the group's committed offset, else {options.startup_mode}{detail}{end}"


def topics(location: str, options: KafkaOptions) -> tuple[str, ...]:
    """The topics that are named; none for a pattern."""
    return place(location, options).topics


def files(_location: str, options: KafkaOptions) -> dict[str, str]:
    """The file of ``embedded.data``."""
    return {} if options.embedded_data is None else {"embedded.data": options.embedded_data}


def query_file(_location: str, options: KafkaOptions) -> str | None:
    """The ``.sql`` file of ``embedded.data``."""
    return options.embedded_data if options.embedded_data is not None and options.embedded_data.endswith(".sql") else None


def fill(source: Source, records: Iterable[bytes]) -> int:
    """Put records into the embedded topic of a source."""
    assert isinstance(source, KafkaSource)
    return source.fill(records)


PLUGIN = SourcePlugin(
    options=KafkaOptions,
    capabilities=Capabilities(
        seekable=True, groups=True, bounded=True,
        delivers="Parallel by partition, over the processes of one group. Delivers every record at least once, in order within a partition.",
    ),
    make=KafkaSource,
    check=check,
    describe_start=describe_start,
    topics=topics,
    files=files,
    query_file=query_file,
    up_to_now=up_to_now,
    warm_up="thalweg.sources.kafka.loading:compile_all",
    fill=fill,
)
