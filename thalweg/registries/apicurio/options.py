"""How an Apicurio Registry is reached, and which of its numbers payloads carry."""

from __future__ import annotations

from dataclasses import dataclass

from thalweg.model.options import one_of, option
from thalweg.ports.http_options import HttpOptions

GLOBAL, CONTENT = "globalid", "contentid"


@dataclass(frozen=True, slots=True)
class ApicurioOptions(HttpOptions):
    """Which number, which group."""

    id: str = option("id", one_of(CONTENT, GLOBAL), default=CONTENT, doc="which number payloads carry")
    group: str = option("group", default="default", doc="group of the artifact that gives the columns")
