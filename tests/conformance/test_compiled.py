"""The compiled decoder of each format that has one, against the suite of ``thalweg.testing.codecs``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.test_codecs import BENCHES, FORMATS
from thalweg import registry
from thalweg.plan import formats
from thalweg.testing.codecs import CodecBench, CodecSuite

if TYPE_CHECKING:
    from pathlib import Path

    from thalweg.ports.codec import Decoder


class Compiled(CodecBench):
    """A bench whose decoder is the compiled one."""

    def decoder(self) -> Decoder:
        """What takes the reference decoder's place in a run."""
        assert self.plugin.fast is not None
        made: Decoder | None = registry.attribute(self.plugin.fast)(self.request, self.registry, super().decoder())
        assert made is not None
        return made


class TestCompiled(CodecSuite):
    """The suite, over each of them."""

    @pytest.fixture(params=[f for f in FORMATS if formats.codec(f).fast])
    def bench(self, request: pytest.FixtureRequest, tmp_path: Path) -> CodecBench:
        """One format."""
        plain = BENCHES[request.param](tmp_path)
        kind: type[CodecBench] = Compiled if type(plain) is CodecBench else type("CompiledInside", (type(plain), Compiled), {})
        return kind(**vars(plain))
