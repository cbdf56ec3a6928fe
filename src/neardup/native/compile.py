"""Compiles kernels with Numba into an object file.

Numba compiles each function into a *library* that its *codegen* creates, and normally loads the machine code into the
process. The two classes below never load it, and they compile for a given processor. They override parts of Numba that
are not documented, so ``hatch_build.py`` pins Numba's version.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from numba.core import callconv, codegen
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.types.functions import BaseFunction
from numba.extending import overload
from numba.np import arrayobj

from neardup.native import declare, jit
from neardup.native.wrappers import Compiled


class _Library(codegen.JITCodeLibrary):  # type: ignore[misc]
    """A compiled function in LLVM's intermediate representation, which is never loaded into the process.

    Numba optimises each part, and then each kernel together with its parts. Here all kernels of an object file are
    optimised once, together. That saves a sixth of the build, and the code is smaller and no slower.
    """

    def _optimize_final_module(self) -> None:
        return

    def _finalize_specific(self) -> None:
        return

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0


class _Codegen(codegen.JITCPUCodegen):  # type: ignore[misc]
    """A code generator for one processor and for position-independent code."""

    _library_class = _Library
    processor = ""

    def _get_host_cpu_name(self) -> str:
        return self.processor

    def _get_host_cpu_features(self) -> str:
        return ""

    def _customize_tm_options(self, options: dict[str, Any]) -> None:
        super()._customize_tm_options(options)
        options.update(reloc="pic", codemodel="default", jit=False)

    def _add_module(self, module: Any) -> None:
        return

    def set_env(self, env_name: str, env: Any) -> None:
        return


def compile_into(target: Path, names: list[str], processor: str) -> list[Compiled]:
    """Compile these kernels into an object file for a processor, and return the facts that ``wrappers`` needs."""
    _Codegen.processor = processor
    context = cpu_target.target_context
    context._internal_codegen = _Codegen("neardup")
    _prepare()
    whole = context.codegen().create_library("kernels")
    made = []
    for name in names:
        dispatcher, ways = declare.DECLARED[name]
        for i, written in enumerate(ways):
            arguments = jit.parsed(written)
            dispatcher.compile(arguments)
            result = dispatcher.overloads[arguments]
            module = result.library._final_module.clone()
            function = module.get_function(result.fndesc.llvm_func_name)
            function.name = f"neardup_{name.replace('.', '_')}_{i}"
            passed = [str(each.type) for each in function.arguments]
            made.append(Compiled(name, function.name, arguments, result.signature.return_type, passed))
            whole._final_module.link_in(module)
    _hide(whole._final_module, {each.symbol for each in made})
    codegen.CPUCodeLibrary._optimize_final_module(whole)
    target.write_bytes(context.codegen()._tm.emit_object(whole._final_module))
    return made


def _hide(module: Any, shown: set[str]) -> None:
    """Hide all other names from the linker, so that LLVM can drop functions that nothing calls."""
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name not in shown:
            each.linkage = "internal"
        elif each.name.startswith(("neardup_", "NRT_")):
            each.visibility = "hidden"


def _prepare() -> None:
    """Change Numba's behaviour in this process in three ways.

    Exceptions no longer contain the path and line of the source. Assigning a slice of the wrong size raises a
    ValueError without the two sizes, because Numba would compile its string formatting for them. The types of an
    operation are resolved once for the same arguments, which saves a fifth of the build.
    """

    def mismatch(source: Any, target: Any) -> None:
        raise NotImplementedError

    @overload(mismatch)  # type: ignore[untyped-decorator]
    def raising(source: Any, target: Any) -> Any:
        def impl(source: Any, target: Any) -> None:
            raise ValueError("cannot assign slice from input of different size")

        return impl

    arrayobj.raise_with_shape_context = mismatch
    callconv.CPUCallConv.build_excinfo_struct = lambda self, kind, args, loc, name: (kind, args, None)
    asked = BaseFunction.get_call_type
    known: dict[Any, Any] = {}

    @functools.wraps(asked)
    def get_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
        flags = ConfigStack.top_or_none()
        key = self, tuple(args), tuple(kws.items()), flags is not None and flags.nrt  # the only flag that differs
        if key not in known:
            known[key] = asked(self, context, args, kws)
        return known[key]

    BaseFunction.get_call_type = get_call_type  # type: ignore[method-assign]
