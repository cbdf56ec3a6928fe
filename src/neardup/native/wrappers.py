"""Generates the wrappers of kernels: C functions that Python calls.

The types of a kernel determine its wrapper. It checks the arguments and splits them into the values that Numba's
calling convention passes one by one: an array becomes seven or more values, and a tuple becomes those of its items. It
then calls the machine code without the GIL and converts the result to Python objects. ``runtime.c`` has the functions
that all wrappers share.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import types

RUNTIME = Path(__file__).with_name("runtime.c")
IN_C = {types.int64: "word", types.uint64: "word", types.float64: "double", types.boolean: "unsigned char"}
IN_LLVM = {"word": "i64", "double": "double", "unsigned char": "i8"}
"""LLVM's names for the C types that wrappers pass to machine code. All other types are pointers."""


class Compiled(NamedTuple):
    """A kernel that was compiled for arguments of some types."""

    name: str
    """The name in Python: ``module.function``."""
    symbol: str
    """The name of its machine code for the linker."""
    arguments: tuple[Any, ...]
    result: Any
    """The Numba type of the result; ``arguments`` has those of the arguments."""
    passed: list[str]
    """The LLVM types of all values that are passed to the machine code."""


class Passed(NamedTuple):
    """A value that is passed to machine code: its type and an expression, both in C."""

    type: str
    value: str


def module(kernels: list[Compiled], name: str, sources: str) -> str:
    """Return the source of the extension module ``name``, with a function for each name among the kernels.

    If several kernels have the same name, the first one whose types match is called. ``sources`` becomes the constant
    SOURCES of the module. Raises NotImplementedError for types that wrappers do not support.
    """
    parts = [RUNTIME.read_text("utf-8")]
    methods: dict[str, str] = {}
    for each in reversed(kernels):
        parts.append(_wrapper(each, methods.get(each.name)))
        methods[each.name] = f"call_{each.symbol}"
    rows = "".join(f'    {{"{name}", {function}, FASTCALL, 0}},\n' for name, function in sorted(methods.items()))
    parts.append(f"static Method methods[] = {{\n{rows}    {{0}},\n}};")
    parts.append(f'static Module definition = {{.name = "{name}", .size = -1, .methods = methods}};')
    parts.append(f'VISIBLE PyObject *PyInit_{name}(void)\n{{\n    return start(&definition, "{sources}");\n}}\n')
    return "\n\n".join(parts)


def _wrapper(kernel: Compiled, otherwise: str | None) -> str:
    """Return the C function that Python calls. It calls ``otherwise``, if given, for arguments of other types."""
    lines: list[str] = []
    passed = [Passed("void *", "&made"), Passed("Raised **", "&raised")]
    for i, kind in enumerate(kernel.arguments):
        wrong = f"{otherwise}(self, given, count)" if otherwise else f'refused("{kernel.name}", {i}, "{kind}")'
        passed += _taken(kind, f"given[{i}]", f"v{i}", wrong, lines)
    written = [IN_LLVM.get(each.type, "ptr") for each in passed]
    if written != kernel.passed:
        raise NotImplementedError(f"{kernel.name}: Numba passes {kernel.passed}, and the wrapper {written}")
    body = "\n    ".join(lines)
    form, values = _given(kernel.result, "made")
    return f"""int {kernel.symbol}({", ".join(each.type for each in passed)});

static PyObject *call_{kernel.symbol}(PyObject *self, PyObject **given, word count)
{{
    if (count != {len(kernel.arguments)})
        return PyErr_Format(PyExc_TypeError, "{kernel.name} takes {len(kernel.arguments)} arguments");
    {body}
    {_in_c(kernel.result)} made;
    Raised *raised = 0;
    void *thread = PyEval_SaveThread();
    int status = {kernel.symbol}({", ".join(each.value for each in passed)});
    PyEval_RestoreThread(thread);
    if (status != OK && status != OK_NONE)
        return raise(raised);
    return Py_BuildValue({", ".join([f'"{form}"', *values])});
}}"""


def _taken(kind: Any, given: str, name: str, wrong: str, lines: list[str]) -> list[Passed]:
    """Append the lines that check and split an argument, and return the values that are passed for it.

    ``given`` is a C expression for the Python object, ``name`` is the prefix of all variables, and ``wrong`` is the C
    expression to return if the object has another type.
    """
    if isinstance(kind, types.Array):
        if kind.layout != "C" or not kind.aligned:
            raise NotImplementedError(f"an argument of the type {kind}")
        flags = "CONTIGUOUS | ALIGNED | WRITABLE" if kind.mutable else "CONTIGUOUS | ALIGNED"
        lines += [f"Array *{name} = array_of({given}, {kind.ndim}, {_number(kind)}, {flags});"]
        lines += [f"if (!{name})", f"    return {wrong};"]
        sizes = [Passed("word", f"{name}->{each}[{i}]") for each in ("shape", "strides") for i in range(kind.ndim)]
        count = Passed("word", " * ".join(f"{name}->shape[{i}]" for i in range(kind.ndim)))
        size = Passed("word", str(np.dtype(str(kind.dtype)).itemsize))
        return [Passed("void *", "0"), Passed("void *", "0"), count, size, Passed("void *", f"{name}->data"), *sizes]
    if isinstance(kind, types.BaseTuple):
        lines += [f"if (!is_tuple({given}, {len(kind)}))", f"    return {wrong};"]
        passed = []
        for i, each in enumerate(kind):
            passed += _taken(each, f"PyTuple_GetItem({given}, {i})", f"{name}_{i}", wrong, lines)
        return passed
    if kind in IN_C:
        lines.append(f"{IN_C[kind]} {name};")
        if kind == types.boolean:
            lines += [f"if (!truth_of({given}, &{name}))", f"    return {wrong};"]
        elif kind == types.float64:
            lines += [f"if (!real_of({given}, &{name}))", "    return 0;"]
        else:
            lines += [f"if (!whole_of({given}, &{name}, {int(kind.signed)}))", "    return 0;"]
        return [Passed(IN_C[kind], name)]
    raise NotImplementedError(f"an argument of the type {kind}")


def _in_c(kind: Any) -> str:
    """Return the C type of the variable to which machine code writes its result."""
    if isinstance(kind, types.Array):
        return f"MADE({kind.ndim})"
    if isinstance(kind, types.BaseTuple):
        return "struct { " + " ".join(f"{_in_c(each)} f{i};" for i, each in enumerate(kind)) + " }"
    return "void *" if isinstance(kind, types.NoneType) else IN_C[kind]


def _given(kind: Any, made: str) -> tuple[str, list[str]]:
    """Return the arguments of ``Py_BuildValue`` that convert a result: the format and the values."""
    if isinstance(kind, types.Array):
        if kind.layout != "C":
            raise NotImplementedError(f"a result of the type {kind}")
        return "N", [f"array_from({made}.memory, {made}.data, {kind.ndim}, {made}.shape, {_number(kind)})"]
    if isinstance(kind, types.BaseTuple):
        items = [_given(each, f"{made}.f{i}") for i, each in enumerate(kind)]
        return f"({''.join(form for form, _ in items)})", [value for _, values in items for value in values]
    if isinstance(kind, types.NoneType):
        return "", []
    if kind == types.boolean:
        return "N", [f"PyBool_FromLong({made})"]
    if kind in IN_C:
        return {types.int64: "L", types.uint64: "K", types.float64: "d"}[kind], [made]
    raise NotImplementedError(f"a result of the type {kind}")


def _number(kind: Any) -> int:
    """Return NumPy's type number of the items of an array."""
    return np.dtype(str(kind.dtype)).num
