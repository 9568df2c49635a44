"""Entries of maps that a registered text writes out, ``option map_entry = true``: AWS's serialiser does so, and the compiler refuses it."""

from __future__ import annotations

import re
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet

_OPTION: Final = re.compile(r"\boption\s+map_entry\s*=\s*true\s*;")
_MARK: Final = "_twg_map_entry_"


def marked(text: str) -> str:
    """The text with a mark, which compiles, in place of each such option."""
    return _OPTION.sub(f'reserved "{_MARK}";', text)


def restored(data: bytes) -> bytes:
    """A serialised descriptor set of such texts, with the option in place of each mark."""
    if _MARK.encode() not in data:
        return data
    found = FileDescriptorSet.FromString(data)
    pending = [message for file in found.file for message in file.message_type]
    for message in pending:
        pending += message.nested_type
        if _MARK in message.reserved_name:
            del message.reserved_name[:]
            message.options.map_entry = True
    return bytes(found.SerializeToString())
