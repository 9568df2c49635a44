"""What the registry finds: the Avro file source's options, capabilities and factory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from thalweg.ports.source import Capabilities, SourcePlugin
from thalweg.sources.avro.options import AvroFileOptions
from thalweg.sources.avro.source import AvroFiles

if TYPE_CHECKING:
    from typing import Any


def check(location: str, _options: Any) -> list[str]:  # noqa: ANN401 - the port's signature
    """What is wrong with the location."""
    if "://" in location and not location.startswith("file://"):
        return [f"Avro files are read from local folders, found {location.split('://', 1)[0]}://"]
    return []


PLUGIN = SourcePlugin(
    options=AvroFileOptions,
    capabilities=Capabilities(
        seekable=True, groups=False, bounded=True,
        delivers="One file after the other, in the order of their names; ends by itself. A target that keeps a record gets every row exactly once.",
    ),
    make=AvroFiles,
    check=check,
    describe_start=lambda _location, _options: "sinks' record of each file, else its first record; ends behind the last file",
    topics=lambda location, _options: (location,),
    format="avro-container",
)
