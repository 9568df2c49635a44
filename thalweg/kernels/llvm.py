"""LLVM, as kernels use it: this machine as a target, and what is written in LLVM's language as an object file."""

from __future__ import annotations

import functools
from typing import Final

from llvmlite import binding

_LEVEL: Final = 2
"""Of optimization; the third takes longer and gains nothing in straight code."""


@functools.cache
def target() -> binding.Target:
    """This machine."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple()


def object_code(text: str) -> bytes:
    """Machine code for this processor, from a module in LLVM's language. Gives the GIL away for most of its time."""
    features = binding.get_host_cpu_features().flatten()
    machine = target().create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=_LEVEL, reloc="pic", codemodel="jitdefault", jit=True)
    module = binding.parse_assembly(text)
    module.verify()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=_LEVEL))
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


def gathers() -> bool:
    """Whether this processor gathers bits quickly; AMD's first two generations take as many steps as there are bits."""
    return bool(binding.get_host_cpu_features().get("bmi2", False)) and binding.get_host_cpu_name() not in {"znver1", "znver2"}
