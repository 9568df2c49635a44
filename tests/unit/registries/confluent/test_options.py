"""Options of a schema registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from thalweg.errors import OptionError, UserError
from thalweg.registries.confluent.options import read_options

if TYPE_CHECKING:
    from pathlib import Path


def test_defaults_and_errors() -> None:
    """Ten seconds, the system's own trust; keys of the format are left alone; a wrong value is named."""
    found = read_options({"url": "http://h", "subject": "s"})

    assert (found.timeout_ns, found.tls()) == (10_000_000_000, True)
    with pytest.raises(OptionError, match="option 'timeout'"):
        read_options({"timeout": "soon"})


def test_tls_files(tmp_path: Path) -> None:
    """A file that is missing or no PEM is refused before anything is asked."""
    wrong = tmp_path / "ca.pem"
    wrong.write_text("nothing")
    for options in ({"ssl.ca.location": str(tmp_path / "none.pem")}, {"ssl.ca.location": str(wrong)}, {"ssl.certificate.location": str(wrong)}):
        with pytest.raises(UserError, match=r"TLS files cannot be read"):
            read_options(options).tls()
