"""``OPTIONS (...)`` of a statement to the options dataclasses of everyone who reads some of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thalweg.model import options
from thalweg.model.options import boolean, one_of, option

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from thalweg.dialect.tree import Option
    from thalweg.errors import OptionError
    from thalweg.plan.draft import Draft


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options that every streaming table has."""

    format: str | None = option("format", default=None, doc="how payloads become columns: `raw`, `json`, `avro`, `protobuf`, and those of registries, such as `avro-confluent`, `json-glue` or `protobuf-apicurio`")
    value_format: str | None = option("value.format", default=None, doc="the same as format, beside key.format")
    key_format: str | None = option("key.format", default=None, doc="how record keys become columns")
    key_fields: str | None = option("key.fields", default=None, doc="declared columns that are read from the key, separated by ;")
    bad_data: str = option("bad_data", one_of("fail", "drop", "dlq"), default="fail", doc="what happens to a record that cannot be handled")
    tombstones: str = option(
        "tombstones", one_of("drop", "null_row", "dlq", "fail"), default="drop", doc="what happens to a record without a payload"
    )
    cluster_alias: str | None = option("cluster.alias", default=None, doc="shown as source_cluster in place of the cluster's id")
    contract: str | None = option("contract", default=None, doc="a data contract; not in this build")


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """Options that every COPY has."""

    metadata: str | None = option(
        "metadata", one_of("none", "locator", "all"), default=None, doc="metadata columns of this target; default: metadata.policy"
    )
    role: str = option("role", one_of("primary_raw", "secondary"), default="secondary", doc="primary_raw: the target others recover from")
    on_failure: str = option("on_failure", one_of("block", "isolate"), default="block", doc="what a failing target does to the others")
    durable: bool = option("durable", boolean, default=True, doc="false: offsets do not wait for this target")


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody who reads options: a dataclass, and the prefixes under which its keys may stand."""

    cls: type
    prefixes: tuple[str, ...] = ("",)

    def values(self, given: Sequence[Option]) -> dict[str, str]:
        """The options by the reader's own keys; a longer prefix wins."""
        out: dict[str, str] = {}
        for before in sorted(self.prefixes, key=len):
            out.update({o.key[len(before) :]: o.value for o in given if o.key.startswith(before)})
        return out

    def place(self, given: Sequence[Option], key: str) -> Option | None:
        """The option that gave ``key``."""
        found = [o for before in self.prefixes for o in given if o.key == before + key]
        return found[-1] if found else None

    def known(self) -> list[options.OptionDoc]:
        """Every key, with each prefix."""
        return [dataclasses.replace(doc, key=before + doc.key) for before in self.prefixes for doc in options.docs(self.cls)]


def read(
    draft: Draft, given: Sequence[Option], reader: Reader, at: tuple[int, int], settings: Mapping[str, str] | None = None
) -> Any:  # noqa: ANN401 - the reader's own class
    """Fill one dataclass; errors are noted at the option, or at ``at`` (offset, width) where one is missing. None when there were any.

    ``settings`` are checked values for options that are not given.
    """
    out, errors = options.read(reader.cls, {**(settings or {}), **reader.values(given)})
    for error in errors:
        _note(draft, error, reader.place(given, error.key), at)
    return out


def complain(draft: Draft, given: Sequence[Option], messages: Sequence[str], at: tuple[int, int]) -> bool:
    """Note a plug-in's messages, each at the last option that it names in quotes, else at ``at``. True when there were none."""
    for message in messages:
        named = [o for o in given if f"'{o.key}'" in message]
        place = (named[-1].start, len(named[-1].key) + 2) if named else at
        draft.fail(message, *place)
    return not messages


def refuse_unknown(draft: Draft, given: Sequence[Option], readers: Sequence[Reader], *, also: Sequence[str] = ()) -> bool:
    """Note every option that nobody reads; ``also`` names prefixes whose keys are judged elsewhere. True when there were any."""
    known = [doc for reader in readers for doc in reader.known()]
    strays = [o for o in given if not options.is_known(o.key, known) and not o.key.startswith(tuple(also))]
    for stray in strays:
        error = options.unknown(stray.key, known)
        draft.fail(error.message, stray.start, len(stray.key) + 2, error.hint)
    return bool(strays)


def _note(draft: Draft, error: OptionError, place: Option | None, at: tuple[int, int]) -> None:
    """One error at its option's value."""
    if place is None:
        draft.fail(error.message, at[0], at[1], error.hint)
    else:
        draft.fail(error.message, place.value_start, len(place.value) + 2, error.hint)
