"""Writes the reference pages that are made from the code: ``python docs/generate.py``; a test checks that they are current."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import config, registry
from thalweg.arrow import metadata
from thalweg.model import options
from thalweg.plan.binding import CopyOptions, TableOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

REFERENCE = Path(__file__).parent / "reference"
NOTE = "<!-- Made by docs/generate.py from the code; change the code, then run it again. -->\n"


@dataclass(frozen=True, slots=True)
class Section:
    """One heading and the options below it."""

    title: str
    text: str
    cls: type


def pages() -> dict[str, str]:
    """File name to text of every generated page."""
    return {"options.md": options_page(), "settings.md": settings_page(), "metadata.md": metadata_page()}


def options_page() -> str:
    """Options of tables, sources, formats and targets, plug-in by plug-in."""
    sections = [
        Section("Every streaming table", "Read from `OPTIONS (...)` of a streaming table, whatever it is stored as.", TableOptions),
        *_plugins("sources", "Tables"),
        *_formats(),
        Section("Every COPY", "Read from `OPTIONS (...)` of a COPY, whatever it is stored as.", CopyOptions),
        *_plugins("sinks", "Targets"),
    ]
    parts = [
        "# Options\n", NOTE,
        "Keys are written as `'key' 'value'`. Durations read `'250 ms'`, `'60 s'`, `'7 d'`; sizes read `'64 MiB'` or a number of bytes.",
        "An unknown key is an error that names the nearest known one.\n",
    ]
    parts += [f"## {section.title}\n\n{section.text}\n\n{table(section.cls)}" for section in sections]
    return "\n".join(parts)


def settings_page() -> str:
    """Settings: their keys, and where each may be given."""
    parts = [
        "# Settings\n", NOTE,
        "Strongest first: command line (`--set key=value`), environment (`TWG_` and the key in capitals with `_` for dots: `TWG_BUDGET_ROWS`),",
        "`SET 'key' = 'value'` in the file, `thalweg.toml` beside the file or in the working folder, default.\n",
        table(config.Settings),
    ]
    return "\n".join(parts)


def metadata_page() -> str:
    """Metadata columns, their types, what METADATA FROM may ask for, and the columns of a dead letter."""
    prefix = metadata.DEFAULT_PREFIX
    asked = {column: key for key, column in metadata.METADATA_KEYS.items()}
    rows = [
        (f"`{prefix}{field.name}`", f"`{field.type}`", f"`'{asked[field.name]}'`" if field.name in asked else "", said)
        for field, said in metadata.FIELDS
    ]
    errors = [(f"`{prefix}{field.name}`", f"`{field.type}`") for field in metadata.ERROR_FIELDS]
    locator = ", ".join(f"`{prefix}{name}`" for name in metadata.LOCATOR)
    return "\n".join([
        "# Metadata columns\n", NOTE,
        f"`{prefix}source_*` is what the broker said, other `{prefix}*` columns are what Thalweg says. The prefix can be changed with",
        "`SET 'metadata.prefix'`; it is part of a target's schema, so it stays once the target exists. The schema is the same for all",
        "transports, NULL where a transport has no such thing; NULL and empty are different everywhere.\n",
        f"`'metadata' 'locator'` (default) gives a target {locator}; `all` gives every column; `none` gives none.",
        "The raw and dead-letter lanes always carry all but those that only a sink knows.\n",
        markdown(("column", "Arrow type", "METADATA FROM", "what it is"), rows),
        "## Columns of a dead letter\n",
        f"`{metadata.PAYLOAD}` (`binary`), the columns above, and:\n",
        markdown(("column", "Arrow type"), errors),
    ])


def _plugins(kind: str, word: str) -> list[Section]:
    """One section a plug-in of ``sources`` or ``sinks``."""
    found = []
    for name in registry.names(kind):
        plugin = registry.load(kind, name)
        kinds = " or ".join(f"`STORED AS {k}`" for k in getattr(plugin, "kinds", (name.upper(),)))
        found.append(Section(f"{word}: {name}", f"{kinds}. {plugin.capabilities.delivers}", plugin.options))
    return found


def _formats() -> list[Section]:
    """One section a codec."""
    found = []
    for name in registry.names("codecs"):
        plugin = registry.load("codecs", name)
        said = ", ".join(f"`{f}`" for f in plugin.formats)
        text = f"`'format'` is {said}. For the key's format put `key.` before a key; `value.` may stand before the others."
        if not options.docs(plugin.options):
            text = f"`'format'` is {said}. It takes no options."
        found.append(Section(f"Format: {name}", text, plugin.options))
    return found


def table(cls: type) -> str:
    """The options of one dataclass; empty where it has none."""
    rows = []
    for doc in options.docs(cls):
        takes, show = _takes(doc.takes)
        default = doc.default if doc.default in {"", "required"} else f"`{show(doc.default)}`"
        rows.append((f"`{doc.key}{'*' if doc.prefix else ''}`", takes, default, _begun(doc.doc).rstrip(".")))
    return markdown(("key", "takes", "default", "what it does"), rows) if rows else ""


def _begun(said: str) -> str:
    """A text that begins small, unless it begins with an abbreviation."""
    return said if said[1:2].isupper() else said[:1].lower() + said[1:]


def _takes(said: str) -> tuple[str, Callable[[str], str]]:
    """What an option takes, in a word or a few, and how its default is written: durations and sizes in units."""
    kind, show = said.replace("``", "`"), str
    if "in nanoseconds" in said:
        kind, show = "duration", lambda text: config.show_duration(int(text))
    elif "in bytes" in said:
        kind, show = "size", lambda text: config.show_size(int(text))
    least = re.search(r"at least (\d+)$", said)
    if least is not None and kind in {"duration", "size"} and int(least[1]) > 1:
        kind = f"{kind}, at least {show(least[1])}"
    kind = "text" if kind == "Any text" else kind[:1].lower() + kind[1:]
    return kind, lambda text: show(text) if text.isdigit() else text


def markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for file, page in pages().items():
        (REFERENCE / file).write_text(page, encoding="utf-8")
