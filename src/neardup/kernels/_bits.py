"""Machine words that numba does not offer: unaligned little-endian loads and stores, loads by address, bit counts.

Each function is the definition in Python, which ``NUMBA_DISABLE_JIT=1`` runs, under a decorator with the instruction
that kernels are compiled to. Bounds are the caller's business: ``Documents`` carries SLACK bytes after its last text
for these loads. Loads are marked as aligned to one byte; LLVM may not assume more of a view into an Arrow buffer.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

OWN = np.uint32(0x9E3779B1)
"""By which ``lower8`` multiplies what it has mixed."""
Typing = Callable[..., Any]
"""What numba calls with the types of the arguments: it gives the signature and what writes the instructions."""


def _compiled_as(typing: Typing) -> Callable[[Callable[..., Any]], Any]:
    """Let kernels be compiled with ``typing`` in place of a function of Python."""

    def chosen(function: Callable[..., Any]) -> Any:
        return function if config.DISABLE_JIT else intrinsic(typing)

    return chosen


def _element(context: Any, builder: Any, array_type: Any, array: Any, index: Any, bits: int) -> Any:
    view = context.make_array(array_type)(context, builder, array)
    return builder.bitcast(builder.gep(view.data, [index]), ir.IntType(bits).as_pointer())


def _load(bits: int, result: Any) -> Typing:
    def typing(typingctx: Any, array: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(_element(context, builder, signature.args[0], args[0], args[1], bits))
            value.align = 1
            return value

        return result(array, types.int64), codegen

    return typing


def _store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _element(context, builder, signature.args[0], args[0], args[1], 64)).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), codegen


def _copy64(typingctx: Any, array: Any, index: Any, out: Any, to: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 64).as_pointer()
        view = context.make_array(signature.args[0])(context, builder, args[0])
        found = builder.load(builder.bitcast(builder.gep(view.data, [args[1]]), vector))
        found.align = 1
        written = context.make_array(signature.args[2])(context, builder, args[2])
        builder.store(found, builder.bitcast(builder.gep(written.data, [args[3]]), vector)).align = 1
        return context.get_dummy_value()

    return types.void(array, types.int64, out, types.int64), codegen


def _windows64(typingctx: Any, array: Any, index: Any, out: Any, to: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, args[0])
        sixteen = ir.VectorType(ir.IntType(8), 16)
        found = builder.load(builder.bitcast(builder.gep(view.data, [args[1]]), sixteen.as_pointer()))
        found.align = 1
        places = ir.Constant(ir.VectorType(ir.IntType(32), 64), [j + b for j in range(8) for b in range(8)])
        every = builder.shuffle_vector(found, ir.Constant(sixteen, ir.Undefined), places)
        written = context.make_array(signature.args[2])(context, builder, args[2])
        builder.store(every, builder.bitcast(builder.gep(written.data, [args[3]]), every.type.as_pointer())).align = 8
        return context.get_dummy_value()

    return types.void(array, types.int64, out, types.int64), codegen


def _peek(bits: int, result: Any) -> Typing:
    def typing(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()))
            value.align = 1
            return value

        return result(types.int64), codegen

    return typing


def _poke(typingctx: Any, address: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[1], builder.inttoptr(args[0], ir.IntType(8).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.uint8), codegen


def _cttz(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], cgutils.false_bit)

    return types.int64(types.uint64), codegen


def _bits_equal(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = ir.VectorType(ir.IntType(32), 64)
        view = context.make_array(signature.args[0])(context, builder, args[0])
        found = builder.load(builder.bitcast(builder.gep(view.data, [args[1]]), vector.as_pointer()))
        found.align = 4
        nothing = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(nothing, args[2], ir.IntType(32)(0))
        every = builder.shuffle_vector(one, nothing, ir.Constant(vector, [0] * 64))
        return builder.bitcast(builder.icmp_unsigned("==", found, every), ir.IntType(64))

    return types.uint64(array, types.int64, types.uint32), codegen


def _bits_between(typingctx: Any, array: Any, index: Any, low: Any, high: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8)
        vector = ir.VectorType(byte, 64)
        view = context.make_array(signature.args[0])(context, builder, args[0])
        found = builder.load(builder.bitcast(builder.gep(view.data, [args[1]]), vector.as_pointer()))
        found.align = 1
        least = ir.Constant(vector, [low.literal_value] * 64)
        span = ir.Constant(vector, [high.literal_value - low.literal_value] * 64)
        return builder.bitcast(builder.icmp_unsigned("<=", builder.sub(found, least), span), ir.IntType(64))

    if isinstance(low, types.IntegerLiteral) and isinstance(high, types.IntegerLiteral):
        return types.uint64(array, types.int64, low, high), codegen
    return None


def _least(lanes: int) -> Typing:
    def typing(typingctx: Any, low: Any, count: Any, factor: Any, mask: Any, least: Any, at: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            vector = ir.VectorType(ir.IntType(32), lanes)

            def every(number: int) -> Any:
                return ir.Constant(vector, [number] * lanes)

            def place(array: int) -> Any:
                view = context.make_array(signature.args[array])(context, builder, args[array])
                return builder.bitcast(builder.gep(view.data, [args[5]]), vector.as_pointer())

            def loaded(array: int) -> Any:
                found = builder.load(place(array))
                found.align = 4
                return found

            hashes = context.make_array(signature.args[0])(context, builder, args[0]).data
            by, masked = loaded(2), loaded(3)
            smallest = cgutils.alloca_once_value(builder, loaded(4))
            nothing = ir.Constant(vector, ir.Undefined)
            with cgutils.for_range(builder, args[1]) as loop:
                one = builder.insert_element(
                    nothing, builder.load(builder.gep(hashes, [loop.index])), ir.IntType(32)(0)
                )
                v = builder.shuffle_vector(one, nothing, every(0))
                v = builder.mul(builder.xor(v, masked), by)
                v = builder.mul(builder.xor(v, builder.lshr(v, every(15))), every(int(OWN)))
                v = builder.xor(v, builder.lshr(v, every(16)))
                known = builder.load(smallest)
                builder.store(builder.select(builder.icmp_unsigned("<", v, known), v, known), smallest)
            builder.store(builder.load(smallest), place(4)).align = 4
            return context.get_dummy_value()

        return types.void(low, types.int64, factor, mask, least, types.int64), codegen

    return typing


def _ctpop(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


def _bswap(typingctx: Any, value: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bswap(args[0])

    return types.uint64(types.uint64), codegen


def _at(address: Any, size: int) -> int:
    return int.from_bytes(ctypes.string_at(int(address), size), "little")


@_compiled_as(_peek(64, types.uint64))
def peek64(address: Any) -> Any:
    """uint64 at an address; the caller keeps what lies there alive."""
    return np.uint64(_at(address, 8))


@_compiled_as(_peek(32, types.uint32))
def peek32(address: Any) -> Any:
    """uint32 at an address."""
    return np.uint32(_at(address, 4))


@_compiled_as(_peek(8, types.uint8))
def peek8(address: Any) -> Any:
    """uint8 at an address."""
    return np.uint8(_at(address, 1))


@_compiled_as(_poke)
def poke8(address: Any, value: Any) -> None:
    """Write a uint8 at an address."""
    ctypes.memset(int(address), int(value), 1)


@_compiled_as(_load(64, types.uint64))
def load64(array: Any, index: Any) -> Any:
    """uint64 from eight bytes of a uint8 array, little-endian, any alignment."""
    return np.uint64(_at(array.ctypes.data + index, 8))


@_compiled_as(_load(32, types.uint32))
def load32(array: Any, index: Any) -> Any:
    """uint32 from four bytes of a uint8 array, little-endian, any alignment."""
    return np.uint32(_at(array.ctypes.data + index, 4))


@_compiled_as(_store)
def store64(array: Any, index: Any, value: Any) -> None:
    """Write a uint64 into eight bytes of a uint8 array, little-endian, any alignment."""
    ctypes.memmove(array.ctypes.data + int(index), int(value).to_bytes(8, "little"), 8)


@_compiled_as(_copy64)
def copy64(array: Any, index: Any, out: Any, to: Any) -> None:
    """Copy 64 bytes from ``index`` of a uint8 array to ``to`` in another one, where they do not overlap."""
    out[to : to + 64] = array[index : index + 64]


@_compiled_as(_windows64)
def windows64(array: Any, index: Any, out: Any, to: Any) -> None:
    """Write the eight words of eight bytes that begin at ``index`` and the seven bytes behind it to ``out[to:to + 8]``.

    One or two shuffles of 16 bytes, the last of which it loads and does not use.
    """
    for j in range(8):
        out[to + j] = np.uint64(_at(array.ctypes.data + index + j, 8))


@_compiled_as(_cttz)
def cttz64(value: Any) -> Any:
    """Number of zero bits below the lowest set bit of a uint64; 64 for zero."""
    bits = int(value)
    return (bits & -bits).bit_length() - 1 if bits else 64


@_compiled_as(_bits_equal)
def bits_equal(array: Any, index: Any, value: Any) -> Any:
    """Bit j of 64: whether ``array[index + j]`` of a uint32 array is ``value``. All 64 must lie in the array."""
    return np.packbits(array[index : index + 64] == value, bitorder="little").view(np.uint64)[0]


@_compiled_as(_bits_between)
def bits_between(array: Any, index: Any, low: Any, high: Any) -> Any:
    """Bit j of 64: whether ``low <= array[index + j] <= high`` of a uint8 array; both are written as numbers.

    One or two instructions a vector, where eight bytes in a word take a dozen.
    """
    found = array[index : index + 64]
    return np.packbits((low <= found) & (found <= high), bitorder="little").view(np.uint64)[0]


@_compiled_as(_ctpop)
def ones64(value: Any) -> Any:
    """Number of bits that are set in a uint64."""
    return int(value).bit_count()


@_compiled_as(_bswap)
def swapped64(value: Any) -> Any:
    """A uint64 with its bytes in the opposite order."""
    return np.uint64(int.from_bytes(int(value).to_bytes(8, "little"), "big"))


def _lower(low: Any, count: Any, factor: Any, mask: Any, least: Any, lanes: slice) -> None:
    for h in low[:count]:
        v = (h ^ mask[lanes]) * factor[lanes]
        v = (v ^ (v >> 15)) * OWN
        least[lanes] = np.minimum(least[lanes], v ^ (v >> 16))


@_compiled_as(_least(8))
def lower8(low: Any, count: Any, factor: Any, mask: Any, least: Any, at: Any) -> None:
    """Lower ``least[at : at + 8]`` to the least value of eight hash functions over ``low[:count]``; all are uint32.

    A function is an odd multiple of what it is given, XORed with a number of its own, and mixed. Its numbers and its
    least value stay in registers for all of ``low``, which LLVM does not do with a loop of numba's over two arrays.
    """
    _lower(low, count, factor, mask, least, slice(at, at + 8))


@_compiled_as(_least(16))
def lower16(low: Any, count: Any, factor: Any, mask: Any, least: Any, at: Any) -> None:
    """The same of sixteen functions: 0.11 ns each and hash where a processor has vectors of 512 bits, else 0.15."""
    _lower(low, count, factor, mask, least, slice(at, at + 16))
