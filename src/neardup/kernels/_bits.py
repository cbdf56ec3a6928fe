"""Machine words that numba does not offer: unaligned little-endian loads and stores, loads by address, bit counts.

Bounds are the caller's business: ``Documents`` carries SLACK bytes after its last text for these loads.
Loads are marked as aligned to one byte; LLVM may not assume more of a view into an Arrow buffer.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["cttz64", "load32", "load64", "peek8", "peek32", "peek64", "poke8", "store64"]


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, index: Any, bits: int) -> Any:
    view = context.make_array(array_type)(context, builder, array)
    byte = builder.gep(view.data, [index])
    return builder.bitcast(byte, ir.IntType(bits).as_pointer())


def _load(bits: int, result: Any) -> Any:
    def load(typingctx: Any, array: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer = _pointer(context, builder, signature.args[0], args[0], args[1], bits)
            value = builder.load(pointer)
            value.align = 1
            return value

        return result(array, types.int64), codegen

    return load


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def load64(typingctx: Any, array: Any, index: Any) -> Any:
    """uint64 from eight bytes of a uint8 array, little-endian, any alignment."""
    return _load(64, types.uint64)(typingctx, array, index)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def load32(typingctx: Any, array: Any, index: Any) -> Any:
    """uint32 from four bytes of a uint8 array, little-endian, any alignment."""
    return _load(32, types.uint32)(typingctx, array, index)


def _peek(bits: int, result: Any) -> Any:
    def peek(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()))
            value.align = 1
            return value

        return result(types.int64), codegen

    return peek


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def peek64(typingctx: Any, address: Any) -> Any:
    """uint64 at an address; the caller keeps what lies there alive."""
    return _peek(64, types.uint64)(typingctx, address)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def peek32(typingctx: Any, address: Any) -> Any:
    """uint32 at an address."""
    return _peek(32, types.uint32)(typingctx, address)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def peek8(typingctx: Any, address: Any) -> Any:
    """uint8 at an address."""
    return _peek(8, types.uint8)(typingctx, address)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def poke8(typingctx: Any, address: Any, value: Any) -> Any:
    """Write a uint8 at an address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(8).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.uint8), codegen


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def store64(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Write a uint64 into eight bytes of a uint8 array, little-endian, any alignment."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1], 64)
        builder.store(args[2], pointer).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), codegen


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def cttz64(typingctx: Any, value: Any) -> Any:
    """Number of zero bits below the lowest set bit of a uint64; 64 for zero."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.false_bit)

    return types.int64(types.uint64), codegen
