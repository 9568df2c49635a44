"""Puts the parts of the ``files`` sink together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.ports.sink import Capabilities, SinkPlugin
from thalweg.sinks.files import layout
from thalweg.sinks.files.check import check, fingerprint, guarantee
from thalweg.sinks.files.local import LocalPublisher
from thalweg.sinks.files.options import FileOptions
from thalweg.sinks.files.publish_log import Owner
from thalweg.sinks.files.remote import RemotePublisher
from thalweg.sinks.files.rewrite import rewrite, rewrite_plan
from thalweg.sinks.files.writer import FilesSink

if TYPE_CHECKING:
    from thalweg.ports.sink import Sink, SinkContext, Target


def make(target: Target, context: SinkContext) -> Sink:
    """The sink for a target; touches nothing yet."""
    publisher: LocalPublisher | RemotePublisher
    if layout.is_local(target.location):
        owner = Owner(context.pipeline, context.relation, context.metadata_prefix, fingerprint(context.schema), context.version)
        publisher = LocalPublisher(layout.local_path(target.location), owner, context.clock)
    else:
        publisher = RemotePublisher(target.location, context.relation)
    return FilesSink(target, context, publisher)


PLUGIN = SinkPlugin(
    kinds=("PARQUET",),
    schemes=("", "file", "s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs"),
    options=FileOptions,
    capabilities=Capabilities(
        records_spans=True,
        partitioned=True,
        coded=True,
        delivers="parallel by process, each with files of its own; exactly once on a local file system, at least once on an object store",
    ),
    guarantee=guarantee,
    check=check,
    make=make,
    rewrite=rewrite,
    rewrite_plan=rewrite_plan,
)
