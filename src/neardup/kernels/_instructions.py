"""The instructions that the functions of ``_bits`` are compiled to, as Numba's intrinsics.

The function of an intrinsic is called with the types of the arguments, and returns a signature and what writes the
instructions. Only the compiler needs this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

OWN = 0x9E3779B1
"""As in ``_bits``, which cannot be imported from here: it imports this."""
Typing = Callable[..., Any]


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
                v = builder.mul(builder.xor(v, builder.lshr(v, every(15))), every(OWN))
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


peek64 = intrinsic(_peek(64, types.uint64))
peek32 = intrinsic(_peek(32, types.uint32))
peek8 = intrinsic(_peek(8, types.uint8))
poke8 = intrinsic(_poke)
load64 = intrinsic(_load(64, types.uint64))
load32 = intrinsic(_load(32, types.uint32))
store64 = intrinsic(_store)
copy64 = intrinsic(_copy64)
windows64 = intrinsic(_windows64)
cttz64 = intrinsic(_cttz)
bits_equal = intrinsic(_bits_equal)
bits_between = intrinsic(_bits_between)
ones64 = intrinsic(_ctpop)
swapped64 = intrinsic(_bswap)
lower8 = intrinsic(_least(8))
lower16 = intrinsic(_least(16))
pread = types.ExternalFunction("pread", types.int64(types.int32, types.uintp, types.uintp, types.int64))
