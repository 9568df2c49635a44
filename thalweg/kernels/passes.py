# mypy: disallow-untyped-calls=False
# Numba has hardly any types.
"""How Numba compiles kernels: without the passes that have nothing to do here, and with what it would do again and again done once.

Its own way compiles each function as if Python called it: it assembles a function together with everything below it, then again as a part
of each caller. It also asks for the type of every ``+`` anew. Both are more than half of the time that a kernel takes.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir as llvm
from numba.core import ir, types
from numba.core.analysis import compute_cfg_from_blocks
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.inline_closurecall import InlineWorker
from numba.core.ir_utils import guard, simplify_CFG
from numba.core.lowering import Lower
from numba.core.postproc import PostProcessor
from numba.core.typed_passes import IRLegalization, NativeLowering, NoPythonBackend, NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import FixupArgs, InlineInlinables, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.np.arrayobj import populate_array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PLAIN = (types.Number, types.Boolean, types.Array, types.NumberClass)
_WORD: Final = llvm.IntType(64)
_CODE: Final = llvm.IntType(32)


class Whole(CompilerBase):
    """Compiles a function that Python calls, down to machine code."""

    def define_pipelines(self) -> list[PassManager]:
        """The passes."""
        return [_passes(self.state, _WholeLowering)]


class Part(CompilerBase):
    """Compiles a function that only kernels call, up to LLVM's language: assembled in the kernel."""

    def define_pipelines(self) -> list[PassManager]:
        """The passes."""
        return [_passes(self.state, _PartLowering)]


def _passes(state: Any, lowering: type[NativeLowering]) -> PassManager:  # noqa: ANN401 - Numba's dictionary of one compilation
    """From bytecode to LLVM. What is left out looks for closures, literals, ``with``, array expressions: kernels have none."""
    steps: list[type] = [TranslateByteCode, FixupArgs, IRProcessing, _Merging, ReconstructSSA, _Typing, PreLowerStripPhis]
    if state.flags.nrt:
        steps.append(IRLegalization)  # it says where variables die, which matters only where references are counted
    return _manager("kernel", [*steps, lowering, NoPythonBackend])


def _manager(name: str, steps: Sequence[type]) -> PassManager:
    """The steps, one after the other."""
    manager = PassManager(name)
    for step in steps:
        manager.add_pass(step, step.__name__)
    manager.finalize()
    return manager


class _PartLibrary(JITCodeLibrary):
    """LLVM code that is only ever linked into another library."""

    def finalize(self) -> None:
        """Put the code of called functions beside it, and optimise: what is put into a loop as it comes makes the loop slower by a tenth."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)  # noqa: SLF001 - as its base class does
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)  # noqa: SLF001 - as its base class does
        optimise, builder = self._codegen._module_pass_manager()  # noqa: SLF001 - as its base class does
        optimise.run(self._final_module, builder)
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:  # noqa: ANN401 - LLVM's module
        """Nothing yet: all of it follows in :meth:`finalize`."""
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001 - as its base class does

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002 - the base class's signature
        """There is no machine code: 0, as for a name that is not defined."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> type[_NoEnvironment]:
        """Stands for the engine that would be given the function's environment."""
        return _NoEnvironment


class _NoEnvironment:
    """Takes the Python environment of a function that has no address to keep it at: kernels use none."""

    @staticmethod
    def set_env(name: str, environment: object) -> None:
        """Nothing to do."""


class _Lower(Lower):
    """Numba's translation to LLVM, which asks three times for an operator over constants before it takes what type inference has found."""

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:  # noqa: ANN401 - Numba's types and LLVM's values
        """A binary operator; only one with a constant operand goes the long way."""
        if not (expr.static_lhs is ir.UNDEFINED and expr.static_rhs is ir.UNDEFINED):
            return super().lower_binop(resty, expr, op)
        return self._operation(op, (expr.lhs.name, expr.rhs.name), self.fndesc.calltypes[expr], resty)

    def lower_getitem(self, resty: Any, _expr: Any, value: Any, index: Any, signature: Any) -> Any:  # noqa: ANN401 - the base class's signature
        """What lies in an array."""
        return self._operation(operator.getitem, (value.name, index.name), signature, resty)

    def _operation(self, op: Any, names: tuple[str, str], found: Any, wanted: Any) -> Any:  # noqa: ANN401 - Numba's types and LLVM's values
        """The code of an operator, converted to the type that is wanted."""
        context, builder = self.context, self.builder
        function = context.typing_context.resolve_value_type(op)
        signature = _remembering(context.typing_context).resolve_function_type(function, found.args, {})
        operands = zip(names, found.args, strict=True)
        values = tuple(context.cast(builder, self.loadvar(name), self.typeof(name), kind) for name, kind in operands)
        result = context.get_function(function, signature)(builder, values)
        return context.cast(builder, result, found.return_type, wanted)


class _WholeLower(_Lower):
    """Puts an entry in front of the function, which needs nothing of Numba when it is called."""

    def create_cfunc_wrapper(self) -> None:
        """Instead of Numba's: ``int32 entry(int64* words, int64* result)``, see ``kernels/calling.py``."""
        module = self.context.create_module("entry")
        kind = self.context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        whole = llvm.Function(module, kind, self.fndesc.llvm_func_name)
        pointer = _WORD.as_pointer()
        entry = llvm.Function(module, llvm.FunctionType(_CODE, [pointer, pointer]), self.fndesc.llvm_cfunc_wrapper_name)
        builder = llvm.IRBuilder(entry.append_basic_block("entry"))
        words, result = entry.args
        arguments, at = [], 0
        for wanted in self.fndesc.argtypes:
            count = 1 + wanted.ndim if isinstance(wanted, types.Array) else 1
            found = [builder.load(builder.gep(words, [_WORD(i)])) for i in range(at, at + count)]
            arguments.append(self._array(builder, wanted, found) if isinstance(wanted, types.Array) else found[0])
            at += count
        status, given = self.context.call_conv.call_function(
            builder, whole, self.fndesc.restype, self.fndesc.argtypes, arguments, attrs=("noinline",)
        )
        if self.fndesc.restype == types.int64:
            builder.store(given, result)
        builder.ret(builder.zext(status.is_error, _CODE))
        self.library.add_ir_module(module)

    def _array(self, builder: Any, kind: types.Array, words: Sequence[Any]) -> Any:  # noqa: ANN401 - Numba's types and LLVM's values
        """An array, of its address and its lengths."""
        data, *shape = words
        size = self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        strides = [_WORD(size)]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        array = self.context.make_array(kind)(self.context, builder)
        populate_array(array, builder.inttoptr(data, array.data.type), shape, strides, size, None)
        return array._getvalue()  # noqa: SLF001 - as Numba's own code does


@register_pass(mutates_CFG=True, analysis_only=False)
class _WholeLowering(NativeLowering):
    """Lowers into a library that becomes machine code."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What does it."""
        return _WholeLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lowers into a library that is no machine code."""

    _name = "kernel_part_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        """What does it."""
        return _Lower

    def run_pass(self, state: Any) -> bool:  # noqa: ANN401 - as `_passes`
        """As the base class."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _Typing(NopythonTypeInference):
    """Type inference with a memory."""

    _name = "kernel_typing"

    def run_pass(self, state: Any) -> bool:  # noqa: ANN401 - as `_passes`
        """As the base class."""
        context = state.typingctx
        state.typingctx = _remembering(context)
        try:
            return bool(super().run_pass(state))
        finally:
            state.typingctx = context


class _Remembering:
    """A typing context that knows what it was asked before, of operators and conversions over numbers and arrays."""

    def __init__(self, context: Any) -> None:  # noqa: ANN401 - Numba's, of which this has everything else
        """Nothing is known yet."""
        self._context, self._known = context, dict[tuple[Any, ...], Any]()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the context has
        """All other questions."""
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:  # noqa: ANN401 - Numba's types
        """The signature of a call."""
        if named or isinstance(function, types.Dispatcher) or not all(isinstance(a, _PLAIN) for a in arguments):
            return self._context.resolve_function_type(function, arguments, named)
        key = (function, *arguments)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._context.resolve_function_type(function, arguments, named)
        return found


_remembering: Callable[[Any], _Remembering] = functools.cache(_Remembering)


@register_pass(mutates_CFG=True, analysis_only=False)
class _Merging(InlineInlinables):
    """Puts ``merged`` functions into their caller."""

    _name = "kernel_merging"

    def run_pass(self, state: Any) -> bool:  # noqa: ANN401 - as `_passes`
        """As the base class, which has every function copied twice."""
        worker = _Worker(state.typingctx, state.targetctx, state.locals, state.pipeline, state.flags)
        blocks, left, changed = state.func_ir.blocks, list(state.func_ir.blocks.items()), False
        while left:
            _, block = left.pop()
            changed |= any(guard(self._do_work, state, left, block, i, call, worker) for i, call in _calls(block))
        if changed:
            for dead in compute_cfg_from_blocks(blocks).dead_nodes():
                del blocks[dead]
            PostProcessor(state.func_ir).run()
            state.func_ir.blocks = simplify_CFG(blocks)
        return changed


def _calls(block: ir.Block) -> list[tuple[int, ir.Expr]]:
    """The calls in a block, with their places. After one is merged the rest is a block of its own: no more of these may be."""
    found = [(i, s.value) for i, s in enumerate(block.body) if isinstance(s, ir.Assign)]
    return [(i, value) for i, value in found if isinstance(value, ir.Expr) and value.op == "call"]


class _Worker(InlineWorker):
    """Reads a function anew for each place that it is put into, so that nothing need be copied."""

    def __init__(self, *state: Any) -> None:  # noqa: ANN401 - of the caller's compilation
        """What is merged goes through the other passes as a part of its caller."""
        super().__init__(*state)
        self._compiler_pipeline = _merged_passes

    def run_untyped_passes(self, func: Any, enable_ssa: Any = False) -> Any:  # noqa: ANN401, FBT002 - the base class's signature
        """The function's blocks."""
        found = super().run_untyped_passes(func, enable_ssa)
        for label, block in found.blocks.items():
            found.blocks[label] = _OwnBlock(block.scope, block.loc)
            found.blocks[label].body = block.body
        return found


def _merged_passes(_state: object, name: str = "merged") -> PassManager:
    """Of a function that is merged."""
    return _manager(name, [TranslateByteCode, FixupArgs, IRProcessing])


class _OwnBlock(ir.Block):
    """A block that nobody else has."""

    def __deepcopy__(self, memo: object) -> _OwnBlock:
        """Itself."""
        return self
