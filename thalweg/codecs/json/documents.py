"""The documents of a JSON Schema: its own text and what the registry lists as references; where each ``$ref`` leads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from thalweg.arrow.rows import bounded

if TYPE_CHECKING:
    from thalweg.ports.schemas import RegisteredSchema

_MAX_STEPS: Final = 100
"""References that may lead to one another before they reach a type."""
_MAX_NODES: Final = 200_000
_REFS: Final = ("$ref", "$dynamicRef", "$recursiveRef")


class JsonSchemaError(Exception):
    """A text that is no JSON Schema of objects."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A subschema and the document that its references start from."""

    value: Any
    base: str
    """URI of the document, empty for one that does not name itself."""


class Documents:
    """Every schema of a registered one, by each name that a ``$ref`` may use."""

    def __init__(self, registered: RegisteredSchema) -> None:
        """Read all texts. Raises JsonSchemaError."""
        self._places: dict[str, Spec] = {}
        self._names: dict[str, RegisteredSchema] = {}
        self._nodes = 0
        self._add_references(registered, {registered.text})
        self.root = self._add(registered.text, "")

    def followed(self, spec: Spec) -> Spec:
        """What a chain of references leads to; what stands beside a ``$ref`` is a restriction and says no type."""
        for _ in range(_MAX_STEPS):
            if not isinstance(spec.value, dict):
                return spec
            ref = next((spec.value[word] for word in _REFS if word in spec.value), None)
            if ref is None:
                return spec
            spec = self._target(ref, spec.base)
        raise JsonSchemaError("'$ref' leads in a circle")

    def _add_references(self, registered: RegisteredSchema, seen: set[str]) -> None:
        """The documents that a schema refers to, those of the deepest first."""
        for name, reference in registered.references:
            if reference.kind != "JSON":
                raise JsonSchemaError(f"reference '{bounded(name)}' is {reference.kind}, no JSON Schema")
            if reference.text not in seen:
                self._add_references(reference, seen | {reference.text})
            known = self._names.setdefault(name, reference)
            if known.text != reference.text:
                both = f"{known.id} and {reference.id}"
                raise JsonSchemaError(f"two different schemas are referred to as '{bounded(name)}': {both}")
            self._places[name] = self._add(reference.text, name)

    def _add(self, text: str, name: str) -> Spec:
        """A document by its own name and by every name inside."""
        try:
            value = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as e:
            what = f"reference '{bounded(name)}'" if name else "the schema"
            raise JsonSchemaError(f"{what} is no JSON: {e}") from None
        base = name
        if isinstance(value, dict):
            base = _joined(name, _text(value, "$id", "id") or name)
        root = Spec(value, base)
        self._places.setdefault(base, root)
        self._index(value, base)
        return root

    def _index(self, root: Any, base: str) -> None:  # noqa: ANN401 - any JSON
        """Subschemas that name themselves, by ``$id`` or ``$anchor``."""
        left = [(root, base)]
        while left:
            value, at = left.pop()
            self._nodes += 1
            if self._nodes > _MAX_NODES:
                raise JsonSchemaError(f"the schema has more than {_MAX_NODES} parts")
            if isinstance(value, list):
                left += [(v, at) for v in value]
            if not isinstance(value, dict):
                continue
            own = _text(value, "$id")
            if own and value is not root:
                if own.startswith("#"):
                    self._places.setdefault(at + own, Spec(value, at))
                else:
                    at = _joined(at, own)
                    self._places.setdefault(at, Spec(value, at))
            for word in ("$anchor", "$dynamicAnchor"):
                if _text(value, word):
                    self._places.setdefault(f"{at}#{value[word]}", Spec(value, at))
            left += [(v, at) for v in value.values()]

    def _target(self, ref: object, base: str) -> Spec:
        """Where a reference leads."""
        if not isinstance(ref, str):
            raise JsonSchemaError(f"'$ref' {bounded(str(ref))} is no text")
        name, _, fragment = ref.partition("#")
        names = [_joined(base, name), name] if name else [base]
        document = next((self._places[n] for n in names if n in self._places), None)
        if document is None:
            raise JsonSchemaError(f"'$ref' {bounded(ref)} is neither inside the document (#/...) nor one of its references")
        if fragment and not fragment.startswith("/"):
            found = self._places.get(f"{document.base}#{fragment}")
            if found is None:
                raise JsonSchemaError(f"'$ref' {bounded(ref)} leads nowhere")
            return found
        return self._walked(document, fragment, ref)

    @staticmethod
    def _walked(document: Spec, fragment: str, ref: str) -> Spec:
        """A place in a document by its pointer."""
        value, base = document.value, document.base
        for step in fragment.split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise JsonSchemaError(f"'$ref' {bounded(ref)} leads nowhere")
            own = _text(value, "$id") if isinstance(value, dict) else ""
            base = _joined(base, own) if own and not own.startswith("#") else base
        return Spec(value, base)


def _joined(base: str, name: str) -> str:
    """A URI, taken from where ``base`` is, without its fragment."""
    try:
        return urldefrag(urljoin(base, name))[0]
    except ValueError:
        raise JsonSchemaError(f"{bounded(name)} is no URI") from None


def _text(value: dict[str, Any], *names: str) -> str:
    """The first of these members that is text; empty where none is."""
    return next((v for v in map(value.get, names) if isinstance(v, str)), "")
