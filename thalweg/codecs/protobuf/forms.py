"""What the wire says about a message: its fields by number, as the decoders, the encoders and the kernel's compiler need them.

A form is made once for each message type; forms refer to each other and may be cyclic. Columns are another matter, see ``shapes``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.descriptor import FieldDescriptor

from thalweg.codecs.protobuf.descriptors import DescriptorError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, EnumDescriptor

VARINT, FIXED64, DELIMITED, GROUP, END_GROUP, FIXED32 = range(6)
"""Wire types: the low three bits of a tag."""
MAX_LEVELS: Final = 100
"""Messages and groups inside one another that are read, the whole one not counted; what other runtimes take, too."""
WIRE_TYPES: Final[dict[int, int]] = {
    **dict.fromkeys(
        (
            FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64,
            FieldDescriptor.TYPE_SINT32, FieldDescriptor.TYPE_SINT64, FieldDescriptor.TYPE_BOOL, FieldDescriptor.TYPE_ENUM,
        ),
        VARINT,
    ),
    **dict.fromkeys((FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64), FIXED64),
    **dict.fromkeys((FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_FIXED32, FieldDescriptor.TYPE_SFIXED32), FIXED32),
    **dict.fromkeys((FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_MESSAGE), DELIMITED),
    FieldDescriptor.TYPE_GROUP: GROUP,
}
_PACKAGE: Final = "google.protobuf."
_SPECIAL: Final = {
    "Timestamp": "timestamp",
    "Duration": "duration",
    **dict.fromkeys(("Struct", "Value", "ListValue"), "json"),
    **dict.fromkeys((f"{kind}Value" for kind in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")), "wrapper"),
}
_TIME: Final = [(1, FieldDescriptor.TYPE_INT64), (2, FieldDescriptor.TYPE_INT32)]
_EXPECTED: Final = {
    "Timestamp": _TIME,
    "Duration": _TIME,
    "Struct": [(1, FieldDescriptor.TYPE_MESSAGE)],
    "ListValue": [(1, FieldDescriptor.TYPE_MESSAGE)],
    **{f"{kind}Value": [(1, getattr(FieldDescriptor, f"TYPE_{kind.upper()}"))]
       for kind in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")},
}  # fmt: skip
"""Numbers and types of the fields; a type of the same name that looks otherwise is a message like any other."""


@dataclass(slots=True, eq=False)
class Enum:
    """The numbers and names of an enum."""

    name: str
    names: dict[int, str]
    """The first name of each number, in the order of the schema."""
    closed: bool
    """Whether a number that it does not have is an unknown field."""
    numbers: dict[str, int]
    """Every name's number, aliases included."""


@dataclass(slots=True, eq=False)
class Part:
    """One field of a message."""

    index: int
    number: int
    name: str
    """As the column is called."""
    type: int
    """``FieldDescriptor.TYPE_*``; a field whose encoding is delimited by tags is a group."""
    repeated: bool
    is_map: bool
    presence: bool
    """Unset and default are different."""
    required: bool
    oneof: tuple[int, ...]
    """Indexes of all members of its oneof; empty for none."""
    default: Any
    """What an unset field holds: the declared default, else zero."""
    has_default: bool
    """Whether the schema declares the default."""
    packed: bool
    """How an encoder writes it; a decoder takes both ways."""
    in_entry: bool
    """Key or value of a map's entry."""
    form: Form | None = None
    """Of a message or a group; of a map its entry."""
    enum: Enum | None = None

    @property
    def wire_type(self) -> int:
        """How one value is written."""
        return WIRE_TYPES[self.type]

    @property
    def packable(self) -> bool:
        """Whether several values may lie in one delimited field."""
        return self.repeated and self.wire_type in {VARINT, FIXED64, FIXED32}


@dataclass(slots=True, eq=False)
class Form:
    """A message type."""

    name: str
    message: Descriptor
    special: str = ""
    """``timestamp``, ``duration``, ``wrapper`` or ``json`` for a well-known type that is no struct; else empty."""
    is_entry: bool = False
    parts: list[Part] = field(default_factory=list)
    by_number: dict[int, Part] = field(default_factory=dict)

    @property
    def required(self) -> list[Part]:
        """The fields that must be there."""
        return [p for p in self.parts if p.required]


class Forms:
    """Makes the forms of message types, each once."""

    def __init__(self) -> None:
        """Nothing made yet."""
        self._made: dict[str, Form] = {}
        self._enums: dict[str, Enum] = {}

    def of(self, message: Descriptor) -> Form:
        """The form of a message type. Raises DescriptorError for what no decoder reads."""
        known = self._made.get(message.full_name)
        if known is not None:
            return known
        options = message.GetOptions()
        if options.message_set_wire_format:
            raise DescriptorError(f"message {message.full_name} has the encoding of message sets, which is not read")
        short = message.full_name.removeprefix(_PACKAGE)
        special = _SPECIAL.get(short, "") if short != message.full_name else ""
        form = self._made[message.full_name] = Form(message.full_name, message, special, bool(options.map_entry))
        fields = [*message.fields, *sorted(message.file.pool.FindAllExtensions(message), key=lambda f: f.number)]
        names = column_names(fields)
        places = {f.full_name: i for i, f in enumerate(fields)}
        for index, (found, name) in enumerate(zip(fields, names, strict=True)):
            form.parts.append(self._part(found, index, name, places, in_entry=form.is_entry))
        form.by_number = {p.number: p for p in form.parts}
        if special and [(p.number, p.type) for p in form.parts] != _EXPECTED.get(short, [(p.number, p.type) for p in form.parts]):
            form.special = ""
        return form

    def _part(self, found: FieldDescriptor, index: int, name: str, places: dict[str, int], *, in_entry: bool) -> Part:
        """One field."""
        one = found.containing_oneof
        is_message = found.message_type is not None
        is_real = one is not None and not (len(one.fields) == 1 and one.name == f"_{found.name}")
        is_map = is_message and found.message_type.GetOptions().map_entry
        if is_map and not found.is_repeated:
            raise DescriptorError(f"field {found.full_name} is an entry of a map, but not repeated")
        part = Part(
            index=index, number=found.number, name=name, type=found.type, repeated=found.is_repeated,
            is_map=is_map,
            presence=found.has_presence and not found.is_repeated and not in_entry,
            required=found.is_required, oneof=tuple(places[f.full_name] for f in one.fields) if is_real else (),
            default=None if is_message or found.is_repeated else found.default_value,
            has_default=not is_message and found.has_default_value, packed=found.is_packed, in_entry=in_entry,
        )  # fmt: skip
        if is_message:
            part.form = self.of(found.message_type)
        elif found.enum_type is not None:
            part.enum = self._enum(found.enum_type)
        return part

    def _enum(self, found: EnumDescriptor) -> Enum:
        """An enum; of several names of one number the first one counts."""
        if found.full_name not in self._enums:
            names: dict[int, str] = {}
            for value in found.values:
                names.setdefault(value.number, value.name)
            self._enums[found.full_name] = Enum(found.full_name, names, found.is_closed, {v.name: v.number for v in found.values})
        return self._enums[found.full_name]


def column_names(fields: list[FieldDescriptor]) -> list[str]:
    """What the fields of a message are called: an extension by its own name where that is enough to tell it apart, else by its full name."""
    short = [f.name for f in fields]
    return [f.full_name if f.is_extension and short.count(f.name) > 1 else f.name for f in fields]
