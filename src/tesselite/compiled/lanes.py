"""A number type for compiled code: LANES floats side by side, one robot each, with the operators of a single float.

Numba does not vectorise the loops that matter here; with this type they are spelled out for LLVM, which maps them to
the processor's instructions. Plain IEEE operations on every lane, never fused or reordered,
so that a lane's result is that of the scalar formula, to the last bit. The computations are in the modules that use it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, models, register_model

from tesselite.compiled.vectors import LANES as LANES  # whoever uses lanes needs it
from tesselite.compiled.vectors import call_for_each, cgutils, data_pointer, lowest_bit, splat, vector_operation

_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)


class _Lanes(types.Type):
    """LANES floats."""

    def __init__(self) -> None:
        super().__init__(name=f"lanes{LANES}")


class _Mask(types.Type):
    """LANES truth values, what comparisons of lanes give."""

    def __init__(self) -> None:
        super().__init__(name=f"mask{LANES}")


lanes = _Lanes()
mask = _Mask()


@register_model(_Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _VECTOR)


@register_model(_Mask)
class _MaskModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BITS)


def _spread(builder: Any, value: Any) -> Any:
    """A value as a vector: a single float goes to every lane."""
    if value.type == _VECTOR:
        return value
    if isinstance(value, ir.Constant):
        return ir.Constant(_VECTOR, [value.constant] * LANES)
    return splat(builder, value, _VECTOR)


def _define(function: Any, result: Any, operands: Any, generate: Callable[[Any, Any, Any], Any]) -> None:
    """Define a binary operator on two vectors; if they are lanes, also on one and a float."""
    pairs = [(operands, operands)]
    if operands is lanes:
        pairs += [(lanes, types.float64), (types.float64, lanes)]

    @infer_global(function)
    class Template(ConcreteTemplate):  # type: ignore[misc]
        cases = tuple(signature(result, *pair) for pair in pairs)

    for pair in pairs:

        @lower_builtin(function, *pair)
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            if operands is lanes:
                args = [_spread(builder, arg) for arg in args]
            return generate(builder, *args)


for _add in (operator.add, operator.iadd):
    _define(_add, lanes, lanes, lambda builder, a, b: builder.fadd(a, b))
for _subtract in (operator.sub, operator.isub):
    _define(_subtract, lanes, lanes, lambda builder, a, b: builder.fsub(a, b))
for _multiply in (operator.mul, operator.imul):
    _define(_multiply, lanes, lanes, lambda builder, a, b: builder.fmul(a, b))
_define(operator.truediv, lanes, lanes, lambda builder, a, b: builder.fdiv(a, b))
_define(operator.lt, mask, lanes, lambda builder, a, b: builder.fcmp_ordered("<", a, b))
_define(operator.le, mask, lanes, lambda builder, a, b: builder.fcmp_ordered("<=", a, b))
_define(operator.gt, mask, lanes, lambda builder, a, b: builder.fcmp_ordered(">", a, b))
_define(operator.ge, mask, lanes, lambda builder, a, b: builder.fcmp_ordered(">=", a, b))
_define(operator.eq, mask, lanes, lambda builder, a, b: builder.fcmp_ordered("==", a, b))
_define(operator.ne, mask, lanes, lambda builder, a, b: builder.fcmp_unordered("!=", a, b))
_define(operator.and_, mask, mask, lambda builder, a, b: builder.and_(a, b))
_define(operator.or_, mask, mask, lambda builder, a, b: builder.or_(a, b))


@infer_global(operator.neg)
class _Negative(ConcreteTemplate):  # type: ignore[misc]
    cases = (signature(lanes, lanes),)


@lower_builtin(operator.neg, lanes)
def _negative(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fneg(args[0])


def _place(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    data = data_pointer(context, builder, sig.args[0], args[0])
    return builder.bitcast(builder.gep(data, [args[1]]), _VECTOR.as_pointer())


@vector_operation
def load(typing: Any, array: Any, at: Any) -> Any:
    """The lanes array[at:at + LANES]."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, sig, args), align=8)

    return lanes(array, types.int64), generate


@vector_operation
def store(typing: Any, array: Any, at: Any, value: Any) -> Any:
    """array[at:at + LANES] = lanes, or a float for all of them."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(_spread(builder, args[2]), _place(context, builder, sig, args), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), generate


@vector_operation
def read(typing: Any, array: Any, at: Any) -> Any:
    """array[at], for an `at` that is known not to be negative: Numba's own look-up would count from the end."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(builder.gep(data_pointer(context, builder, sig.args[0], args[0]), [args[1]]))

    return array.dtype(array, types.int64), generate


@vector_operation
def write(typing: Any, array: Any, at: Any, value: Any) -> Any:
    """array[at] = value, for an `at` that is known not to be negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_pointer(context, builder, sig.args[0], args[0])
        builder.store(args[2], builder.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64, array.dtype), generate


def _collected(context: Any, builder: Any, array: Any, value: Any, indices: Any) -> Any:
    """The lanes array[index], for an index of each lane."""
    data = data_pointer(context, builder, array, value)
    vector = ir.Constant(_VECTOR, ir.Undefined)
    for lane, index in enumerate(indices):
        one = builder.load(builder.gep(data, [index]))
        vector = builder.insert_element(vector, one, ir.Constant(ir.IntType(32), lane))
    return vector


@vector_operation
def look_up(typing: Any, table: Any, places: Any, at: Any, shifts: Any) -> Any:
    """The lanes table[places[at + k] + shifts[k]], for indices that are known not to be negative.

    Lane by lane into one register: a row of memory that was written lane by lane could only be read much later.
    """

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        begins, offsets = (data_pointer(context, builder, sig.args[i], args[i]) for i in (1, 3))
        begins = builder.gep(begins, [args[2]])
        indices = []
        for k in range(LANES):
            lane = ir.Constant(ir.IntType(64), k)
            place, shift = (builder.load(builder.gep(one, [lane])) for one in (begins, offsets))
            indices.append(builder.add(place, shift))
        return _collected(context, builder, sig.args[0], args[0], indices)

    return lanes(table, places, types.int64, shifts), generate


@vector_operation
def add(typing: Any, array: Any, at: Any, value: Any) -> Any:
    """array[at:at + LANES] += lanes."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place = _place(context, builder, sig, args)
        builder.store(builder.fadd(builder.load(place, align=8), args[2]), place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, lanes), generate


@vector_operation
def choose(typing: Any, where: Any, a: Any, b: Any) -> Any:
    """a in the lanes where the mask is true, b elsewhere."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(args[0], _spread(builder, args[1]), _spread(builder, args[2]))

    return lanes(mask, a, b), generate


@vector_operation
def spread(typing: Any, value: Any) -> Any:
    """A float in every lane."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _spread(builder, args[0])

    return lanes(types.float64), generate


@vector_operation
def fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a * b + c with one rounding, where each is lanes or a float."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return call_for_each(builder, "fma", *(_spread(builder, arg) for arg in args))

    return lanes(a, b, c), generate


@vector_operation
def magnitude(typing: Any, value: Any) -> Any:
    """Lanes without their signs."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return call_for_each(builder, "fabs", args[0])

    return lanes(lanes), generate


@vector_operation
def rounded(typing: Any, value: Any) -> Any:
    """Lanes rounded to whole numbers, halves to even ones."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return call_for_each(builder, "rint", args[0])

    return lanes(lanes), generate


@vector_operation
def floored(typing: Any, value: Any) -> Any:
    """Lanes rounded down to whole numbers."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return call_for_each(builder, "floor", args[0])

    return lanes(lanes), generate


@vector_operation
def gathered(typing: Any, array: Any, indices: Any, at: Any) -> Any:
    """The lanes array[indices[at:at + LANES]], for indices of int64 that are not negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = builder.gep(data_pointer(context, builder, sig.args[1], args[1]), [args[2]])
        places = (builder.gep(first, [ir.Constant(ir.IntType(64), lane)]) for lane in range(LANES))
        return _collected(context, builder, sig.args[0], args[0], (builder.load(place) for place in places))

    return lanes(array, indices, types.int64), generate


@vector_operation
def entries(typing: Any, table: Any, at: Any) -> Any:
    """The lanes table[at], for lanes `at` that hold whole numbers and none that is negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        whole = builder.fptosi(args[1], ir.VectorType(ir.IntType(64), LANES))
        indices = (builder.extract_element(whole, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES))
        return _collected(context, builder, sig.args[0], args[0], indices)

    return lanes(table, lanes), generate


@vector_operation
def cells(typing: Any, table: Any, at: Any) -> Any:
    """The lanes table[at] of a table of bytes, for lanes `at` that hold whole numbers and none that is negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_pointer(context, builder, sig.args[0], args[0])
        whole = builder.fptosi(args[1], ir.VectorType(ir.IntType(64), LANES))
        vector = ir.Constant(ir.VectorType(ir.IntType(8), LANES), ir.Undefined)
        for lane in (ir.Constant(ir.IntType(32), lane) for lane in range(LANES)):
            one = builder.load(builder.gep(data, [builder.extract_element(whole, lane)]))
            vector = builder.insert_element(vector, one, lane)
        return builder.uitofp(vector, _VECTOR)

    return lanes(table, lanes), generate


@vector_operation
def scatter(typing: Any, array: Any, at: Any, value: Any) -> Any:
    """array[at] = value in each lane, for lanes `at` that hold whole numbers and none that is negative."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_pointer(context, builder, sig.args[0], args[0])
        whole = builder.fptosi(args[1], ir.VectorType(ir.IntType(64), LANES))
        for lane in (ir.Constant(ir.IntType(32), lane) for lane in range(LANES)):
            place = builder.gep(data, [builder.extract_element(whole, lane)])
            builder.store(builder.extract_element(args[2], lane), place)
        return context.get_dummy_value()

    return types.void(array, lanes, lanes), generate


@vector_operation
def packed(typing: Any, where: Any, value: Any) -> Any:
    """The lanes where the mask is true, moved up to the first places; what follows them is undefined."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        function = ir.FunctionType(_VECTOR, [_VECTOR, _BITS, _VECTOR])
        name = f"llvm.experimental.vector.compress.v{LANES}f64"
        target = cgutils.get_or_insert_function(builder.module, function, name)
        return builder.call(target, [args[1], args[0], ir.Constant(_VECTOR, ir.Undefined)])

    return lanes(mask, lanes), generate


@vector_operation
def bits(typing: Any, where: Any) -> Any:
    """A mask as a whole number: bit k is lane k."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.zext(builder.bitcast(args[0], ir.IntType(LANES)), ir.IntType(64))

    return types.int64(mask), generate


@vector_operation
def where(typing: Any, which: Any) -> Any:
    """The mask of the lanes whose bit is set in a whole number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.bitcast(builder.trunc(args[0], ir.IntType(LANES)), _BITS)

    return mask(types.int64), generate


@vector_operation
def in_each_byte(typing: Any, which: Any) -> Any:
    """The bits of a mask of eight lanes, in each byte of a whole number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.mul(args[0], ir.Constant(ir.IntType(64), 0x0101010101010101))  # Numba's own must not overflow

    return types.int64(types.int64), generate


@vector_operation
def count(typing: Any, which: Any) -> Any:
    """How many bits are set in a whole number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.int64), generate


lowest = lowest_bit  # of a mask's bits


def aligned_zeros(*shape: int) -> npt.NDArray[np.float64]:
    """Zeros at an address from which the widest vector instructions read at full speed."""
    size = math.prod(shape)
    memory = np.zeros(size + LANES)
    skip = -(memory.ctypes.data // memory.itemsize) % LANES
    return memory[skip : skip + size].reshape(shape)
