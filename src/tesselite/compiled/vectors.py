"""Vectors spelled out for LLVM, which maps them to the processor's instructions: what all such operations share.

Numba does not vectorise short loops. What is computed with vectors is in the modules that use them; the type in `lanes`
lets compiled functions use a vector like a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils as _cgutils
from numba.core import types
from numba.extending import intrinsic

LANES = 8
cgutils: Any = _cgutils  # it is not typed


def vector_operation(function: Callable[..., Any]) -> Any:
    """Numba's intrinsic, for the type checker: what is called has neither the decorated arguments nor their types."""
    return intrinsic(function)


def element(dtype: Any) -> Any:
    """The LLVM type of a Numba float type."""
    return ir.FloatType() if dtype == types.float32 else ir.DoubleType()


def data_pointer(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """The address of an array's first element."""
    return context.make_array(kind)(context, builder, array).data


def load_lanes(builder: Any, pointer: Any, offset: Any, vector: Any) -> Any:
    """The vector at pointer[offset:], of any alignment."""
    at = builder.bitcast(builder.gep(pointer, [offset]), vector.as_pointer())
    return builder.load(at, align=4 if isinstance(vector.element, ir.FloatType) else 8)


def store_lanes(builder: Any, value: Any, pointer: Any, offset: Any) -> None:
    """pointer[offset:] = a vector."""
    at = builder.bitcast(builder.gep(pointer, [offset]), value.type.as_pointer())
    builder.store(value, at, align=4 if isinstance(value.type.element, ir.FloatType) else 8)


def splat(builder: Any, scalar: Any, vector: Any) -> Any:
    """A vector of equal elements."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(
        one, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None)
    )


def call_for_each(builder: Any, name: str, *vectors: Any) -> Any:
    """LLVM's function of this name, such as "fabs", of each element of its operands, which are vectors of one type."""
    kind = vectors[0].type
    width = "f32" if isinstance(kind.element, ir.FloatType) else "f64"
    function = ir.FunctionType(kind, [kind] * len(vectors))
    target = cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.v{kind.count}{width}")
    return builder.call(target, vectors)


@vector_operation
def lowest_bit(typing: Any, mask: Any) -> Any:
    """The number of the lowest bit set in an int64 that is not 0."""
    signature = types.int64(types.int64)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return signature, generate
