// SPDX-License-Identifier: MIT
/* mma.h - nvcuda::wmma: a warp multiplies small matrices held in fragments
 *
 * CUDA does not document which elements a lane holds. So code may only treat all x[i]
 * in the same way. In cusim the elements have the order of memory. Lane l holds numbers
 * 2 l, 2 l + 1, 64 + 2 l, 64 + 2 l + 1 and so on. So a warp reads neighbouring words.
 * (On some GPUs a fragment of half has each element twice; in cusim, once.)
 *
 * Products of half, bfloat16 and TF32 numbers are exact in a float. cusim adds the
 * products to a float, in rising order of k. A half accumulator is rounded once, at the
 * end. If a TF32 operand was not rounded by __float_to_tf32, its low bits are cut off.
 */
#ifndef CUSIM_MMA_H
#define CUSIM_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cusim/tensor.h"

namespace nvcuda
{
namespace wmma
{

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
namespace precision
{
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };

}  // namespace wmma
}  // namespace nvcuda

namespace cusim
{

namespace wmma = nvcuda::wmma;

/* For an element type T: the stored type, the type of the sum, and how to read T. */
template <class T> struct Element {
    typedef T stored;
    typedef T sum;
    static CUSIM_INLINE sum value(stored x)
    {
        return x;
    }
};
template <> struct Element<__half> {
    typedef __half stored;
    typedef float sum;
    static CUSIM_INLINE float value(__half x)
    {
        return float(x);
    }
};
template <> struct Element<__nv_bfloat16> {
    typedef __nv_bfloat16 stored;
    typedef float sum;
    static CUSIM_INLINE float value(__nv_bfloat16 x)
    {
        return float(x);
    }
};
template <> struct Element<wmma::precision::tf32> {
    typedef float stored;
    typedef float sum;
    static CUSIM_INLINE float value(float x)
    {
        return cut_tf32(x);
    }
};

template <class A, class B> constexpr bool same_type = false;
template <class A> constexpr bool same_type<A, A> = true;

/* Returns whether wmma has fragments of this type and these sizes. */
template <class Use, class T> constexpr bool offered(int m, int n, int k)
{
    constexpr bool sums = same_type<Use, wmma::accumulator>;
    const bool wide =
        (m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32);
    if (same_type<T, __half>) return wide && k == 16;
    if (same_type<T, __nv_bfloat16>) return !sums && wide && k == 16;
    if (same_type<T, wmma::precision::tf32>)
        return !sums && m == 16 && n == 16 && k == 8;
    if (same_type<T, float>)
        return sums && ((wide && k == 16) || (m == 16 && n == 16 && k == 8));
    return same_type<T, double> && m == 8 && n == 8 && k == 4;
}

struct Cell {
    int row, column;
};

/* The rows, columns and order of a fragment, and the position of a lane's element i. */
template <int R, int C, bool by_rows> struct Grid {
    static constexpr int rows = R, columns = C, count = R * C / 32;

    static CUSIM_INLINE Cell cell(int lane, int i)
    {
        const int place = count == 1 ? lane : i / 2 * 64 + lane * 2 + i % 2;
        if (by_rows) return {place / C, place % C};
        return {place % R, place / R};
    }
};

template <class Use, int m, int n, int k, class Layout>
using GridOf =
    Grid<same_type<Use, wmma::matrix_b> ? k : m, same_type<Use, wmma::matrix_a> ? k : n,
         !same_type<Layout, wmma::col_major>>;

/* Checks the address of a matrix in memory and the distance of two rows (stride). */
template <class T>
CUSIM_INLINE void check_matrix(const T *matrix, unsigned stride, Where where)
{
    if (uintptr_t(matrix) % 32 != 0)
        trap(
            "wmma: a matrix must start at a multiple of 32 bytes. Align the array with "
            "__align__(32) and pad its rows to multiples of 16 bytes",
            where);
    if (stride * sizeof(T) % 16 != 0)
        trap("wmma: the leading dimension must be a multiple of 16 bytes (8 halves, 4 "
             "floats or 2 doubles)",
             where);
    need_whole_warp("wmma needs all 32 lanes of a warp: launch blocks of a multiple of "
                    "32 threads",
                    where);
}

/* Copies to[0] and to[1] in one access, as half2, float2 or double2. */
template <class T> CUSIM_INLINE void copy_pair(T *to, const T *from)
{
    typedef typename WordOf<2 * sizeof(T)>::type W;
    *(W *)to = *(const W *)from;
}

}  // namespace cusim

namespace nvcuda
{
namespace wmma
{

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
    static_assert(
        cusim::offered<Use, T>(m, n, k),
        "wmma has no such fragment. There are 16x16x16, 32x8x16 and 8x32x16 of "
        "half or __nv_bfloat16 (accumulators: float or half). There are 16x16x8 of "
        "precision::tf32 (float) and 8x8x4 of double");
    static_assert(
        cusim::same_type<Use, accumulator> == cusim::same_type<Layout, void>,
        "fragments of a and b need row_major or col_major, accumulators none");
    typedef cusim::GridOf<Use, m, n, k, Layout> Grid;
    typedef typename cusim::Element<T>::stored element_type;
    typedef element_type storage_element_type;
    enum { num_elements = Grid::count, num_storage_elements = Grid::count };
    element_type x[Grid::count];
};

inline float __float_to_tf32(float x)
{
    return cusim::to_tf32(x);
}

template <class F, class V> inline void fill_fragment(F &to, const V &value)
{
    for (int i = 0; i < F::num_elements; i++) to.x[i] = typename F::element_type(value);
}

}  // namespace wmma
}  // namespace nvcuda

namespace cusim
{

/* Returns the distance of an element from the first element of the matrix in memory. */
CUSIM_INLINE size_t distance(Cell cell, unsigned stride, bool by_rows)
{
    return by_rows ? size_t(cell.row) * stride + cell.column
                   : size_t(cell.column) * stride + cell.row;
}

/* Loads a fragment. Elements 2 i and 2 i + 1 are neighbours in memory on one condition.
 * Fragment and memory must be both by rows, or both by columns. */
template <bool by_rows, class F, class T>
CUSIM_INLINE void load_fragment(F &to, const T *matrix, unsigned stride,
                                bool memory_rows)
{
    const int lane = lane_number();
    if (F::num_elements > 1 && memory_rows == by_rows) {
        for (int i = 0; i + 1 < F::num_elements; i += 2)
            copy_pair(to.x + i,
                      matrix + distance(F::Grid::cell(lane, i), stride, memory_rows));
        return;
    }
    for (int i = 0; i < F::num_elements; i++)
        to.x[i] = matrix[distance(F::Grid::cell(lane, i), stride, memory_rows)];
}

template <class F, class T>
CUSIM_INLINE void store_fragment(const F &from, T *matrix, unsigned stride,
                                 bool memory_rows)
{
    const int lane = lane_number();
    if (memory_rows) {
        for (int i = 0; i + 1 < F::num_elements; i += 2)
            copy_pair(matrix + distance(F::Grid::cell(lane, i), stride, true),
                      from.x + i);
        return;
    }
    for (int i = 0; i < F::num_elements; i++)
        matrix[distance(F::Grid::cell(lane, i), stride, false)] = from.x[i];
}

template <class A, class B, class C, class D> struct Mma {
    const A *a;
    const B *b;
    const C *c;
    D *d;
    bool finite;
};

/* Returns x for satf: infinity becomes the largest number, and NaN becomes 0. */
template <class T> CUSIM_INLINE T finite(T x)
{
    const T most = sizeof(T) == 8 ? T(0x1.fffffffffffffp1023) : T(0x1.fffffep127f);
    if (x != x) return 0;
    return x > most ? most : x < -most ? -most : x;
}

template <class EA, class EB, class A, class B, class C, class D>
CUSIM_QUIET void finish_wmma(void *const lane[32], unsigned)
{
    typedef typename EA::sum Sum;
    typedef Mma<A, B, C, D> Mine;
    Sum a[A::Grid::rows][A::Grid::columns], b[B::Grid::rows][B::Grid::columns];
    Sum d[D::Grid::rows][D::Grid::columns];
    for (int l = 0; l < 32; l++) {
        const Mine &mine = *(const Mine *)lane[l];
        for (int i = 0; i < A::num_elements; i++) {
            const Cell at = A::Grid::cell(l, i);
            a[at.row][at.column] = EA::value(mine.a->x[i]);
        }
        for (int i = 0; i < B::num_elements; i++) {
            const Cell at = B::Grid::cell(l, i);
            b[at.row][at.column] = EB::value(mine.b->x[i]);
        }
        for (int i = 0; i < C::num_elements; i++) {
            const Cell at = C::Grid::cell(l, i);
            d[at.row][at.column] = Sum(mine.c->x[i]);
        }
    }
    multiply(a, b, d);
    for (int l = 0; l < 32; l++) {
        const Mine &mine = *(const Mine *)lane[l];
        for (int i = 0; i < D::num_elements; i++) {
            const Cell at = D::Grid::cell(l, i);
            const Sum sum = d[at.row][at.column];
            mine.d->x[i] = typename D::element_type(mine.finite ? finite(sum) : sum);
        }
    }
}

}  // namespace cusim

namespace nvcuda
{
namespace wmma
{

/* Loads a fragment of matrix a or b. Memory has the layout of the fragment. */
template <class Use, int m, int n, int k, class T, class Layout>
CUSIM_INLINE void load_matrix_sync(fragment<Use, m, n, k, T, Layout> &to,
                                   const typename cusim::Element<T>::stored *matrix,
                                   unsigned stride, CUSIM_WHERE)
{
    constexpr bool by_rows = cusim::same_type<Layout, row_major>;
    static_assert(!cusim::same_type<Layout, void>,
                  "an accumulator is loaded with its layout: mem_row_major or "
                  "mem_col_major as a fourth argument");
    cusim::check_matrix(matrix, stride, where);
    cusim::load_fragment<by_rows>(to, matrix, stride, by_rows);
}

template <int m, int n, int k, class T>
CUSIM_INLINE void load_matrix_sync(fragment<accumulator, m, n, k, T> &to,
                                   const T *matrix, unsigned stride, layout_t layout,
                                   CUSIM_WHERE)
{
    cusim::check_matrix(matrix, stride, where);
    cusim::load_fragment<true>(to, matrix, stride, layout == mem_row_major);
}

template <int m, int n, int k, class T>
CUSIM_INLINE void store_matrix_sync(T *matrix,
                                    const fragment<accumulator, m, n, k, T> &from,
                                    unsigned stride, layout_t layout, CUSIM_WHERE)
{
    cusim::check_matrix(matrix, stride, where);
    cusim::store_fragment(from, matrix, stride, layout == mem_row_major);
}

/* Computes d = a b + c for one warp; d may be the same fragment as c. */
template <int m, int n, int k, class T, class LA, class LB, class TC, class TD>
inline void mma_sync(fragment<accumulator, m, n, k, TD> &d,
                     const fragment<matrix_a, m, n, k, T, LA> &a,
                     const fragment<matrix_b, m, n, k, T, LB> &b,
                     const fragment<accumulator, m, n, k, TC> &c, bool satf = false,
                     CUSIM_WHERE)
{
    typedef fragment<matrix_a, m, n, k, T, LA> A;
    typedef fragment<matrix_b, m, n, k, T, LB> B;
    typedef fragment<accumulator, m, n, k, TC> C;
    typedef fragment<accumulator, m, n, k, TD> D;
    typedef cusim::Element<T> E;
    static_assert(cusim::same_type<T, __half> ||
                      (!cusim::same_type<TC, __half> && !cusim::same_type<TD, __half>),
                  "a half accumulator goes with fragments of half only");
    cusim::need_whole_warp("mma_sync needs all 32 lanes of a warp: launch blocks of a "
                           "multiple of 32 threads",
                           where);
    cusim::Mma<A, B, C, D> mine = {&a, &b, &c, &d, satf};
    cusim::together(0xffffffffu, &mine, cusim::finish_wmma<E, E, A, B, C, D>,
                    "mma_sync", where);
}

}  // namespace wmma
}  // namespace nvcuda

#endif
