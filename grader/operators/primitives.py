# SPDX-License-Identifier: MIT
"""ATen operators that every task of lab 01 may use: moving, making and elementwise.

An operator's entry adds its own (conv2d may multiply matrices, matmul may not). Names
are the dispatcher's, without overloads; `@` is mm, bmm or matmul there.
"""

from __future__ import annotations

_VIEWS = """
alias as_strided chunk detach diagonal expand flatten movedim narrow permute reshape
select slice split split_with_sizes squeeze squeeze_ t transpose
transpose_ unbind unfold unsqueeze unsqueeze_ view view_as _unsafe_view _reshape_alias
lift_fresh broadcast_to
"""
_MAKING = """
arange clone contiguous copy_ copy empty empty_like empty_strided fill_ full full_like
new_empty new_empty_strided new_full new_ones new_zeros ones ones_like zero_ zeros
zeros_like _to_copy to scalar_tensor constant_pad_nd pad cat stack repeat roll flip
tril triu
index index_put index_put_ index_select index_add index_add_ gather scatter scatter_
scatter_add scatter_add_ masked_fill masked_fill_ where slice_scatter select_scatter
take put_ new_zeros meshgrid rot90 _local_scalar_dense item resize_
"""
_ELEMENTWISE = """
abs add add_ bitwise_and bitwise_or ceil clamp clamp_min div div_ eq exp expm1 floor
floor_divide ge gt le log logical_and logical_not logical_or lt maximum minimum mul mul_
ne neg neg_ pow reciprocal relu remainder rsub sign sqrt square sub sub_ sigmoid tanh
addcmul addcmul_ bitwise_not bitwise_xor __and__ __or__ __xor__ __lshift__ __rshift__
round trunc frexp ldexp
"""
_REDUCTIONS = "sum cumsum prod max min mean amax amin any all count_nonzero"

PLUMBING = frozenset(f"{_VIEWS} {_MAKING} {_ELEMENTWISE} {_REDUCTIONS}".split())
MATRIX_PRODUCTS = ("mm", "bmm", "matmul", "mv", "dot", "einsum", "baddbmm", "addbmm")
EVERY_CONVOLUTION = "*conv*"
EVERY_MATRIX_PRODUCT = (
    *MATRIX_PRODUCTS,
    "addmm",
    "addmv",
    "addr",
    "chain_matmul",
    "ger",
    "inner",
    "kron",
    "linear",
    "linalg_multi_dot",
    "outer",
    "tensordot",
    "vdot",
    "_addmm_activation",
    "_cdist_forward",
    "_euclidean_dist",
    "_trilinear",
    "bilinear",
    "cholesky_inverse",
    "linalg_householder_product",
    "linalg_inv_ex",
    "linalg_matrix_exp",
    "ormqr",
    "*scaled_dot_product*",
    "*mkldnn*",
    "*_mm*",
    "*solve*",
    "*embedding_bag*",
    EVERY_CONVOLUTION,
)
# in lab 05 every product and every window is a rung's
COMPUTED_BY_RUNGS = (*EVERY_MATRIX_PRODUCT, "im2col", "col2im", "unfold_backward")
