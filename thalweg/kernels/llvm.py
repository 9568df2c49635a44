"""LLVM, as kernels use it: this machine as a target, and what is written in LLVM's language as an object file."""

from __future__ import annotations

import functools
from typing import Final

from llvmlite import binding

_LEVEL: Final = 2
"""With which instructions are chosen."""


@functools.cache
def target() -> binding.Target:
    """This machine."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple()


def object_code(text: str) -> bytes:
    """Machine code for this processor, from a module in LLVM's language.

    Variables become registers, and blocks are joined; all else that LLVM does at its usual level takes ten times as long, and code that was written
    op by op gets a tenth slower by it.
    """
    features = binding.get_host_cpu_features().flatten()
    machine = target().create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=_LEVEL, reloc="pic", codemodel="jitdefault", jit=True)
    module = binding.parse_assembly(text)
    module.verify()
    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, binding.create_pass_builder(machine, binding.create_pipeline_tuning_options()))
    code: bytes = machine.emit_object(module)
    return code


def gathers() -> bool:
    """Whether this processor gathers bits quickly; AMD's first two generations take as many steps as there are bits."""
    return bool(binding.get_host_cpu_features().get("bmi2", False)) and binding.get_host_cpu_name() not in {"znver1", "znver2"}
