// SPDX-License-Identifier: MIT
/* tensor_cores.cu - wmma, mma.sync, ldmatrix and cp.async against plain loops
 *
 * Most numbers are small integers: every product and sum of them is exact in any order,
 * so the loop's result is the only right one. Sums of fractions are compared within the
 * rounding of their terms.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <math.h>
#include <mma.h>

#include "../../../common/ptx.h"
#include "tally.h"

namespace wmma = nvcuda::wmma;

/* ---- wmma ------------------------------------------------------------------------ */

template <class T> struct Stored {
    typedef T type;
};
template <> struct Stored<wmma::precision::tf32> {
    typedef float type;
};

__device__ int small(int i, int seed)  // -4 to 4
{
    return (i * 7 + i / 5 * 3 + seed) % 9 - 4;
}

template <class LA, class LB, class T, class Sum, int M, int N, int K>
__device__ void multiply(Tally *tally, wmma::layout_t order)
{
    typedef typename Stored<T>::type S;
    __shared__ __align__(32) S a[M * K];
    __shared__ __align__(32) S b[K * N];
    __shared__ __align__(32) Sum c[M * N];
    const bool rows_a = sizeof(LA) == 1, rows_b = sizeof(LB) == 1;
    const bool rows = order == wmma::mem_row_major;
    const int lane = int(threadIdx.x);
    __syncthreads();
    for (int i = lane; i < M * K; i += 32)
        a[rows_a ? i : i % K * M + i / K] = S(float(small(i, 1)));
    for (int i = lane; i < K * N; i += 32)
        b[rows_b ? i : i % N * K + i / N] = S(float(small(i, 2)));
    for (int i = lane; i < M * N; i += 32)
        c[rows ? i : i % N * M + i / N] = Sum(float(small(i, 3)));
    __syncthreads();

    wmma::fragment<wmma::matrix_a, M, N, K, T, typename LA::type> left;
    wmma::fragment<wmma::matrix_b, M, N, K, T, typename LB::type> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::load_matrix_sync(left, a, rows_a ? K : M);
    wmma::load_matrix_sync(right, b, rows_b ? N : K);
    wmma::load_matrix_sync(sum, c, rows ? N : M, order);
    wmma::mma_sync(sum, left, right, sum);
    for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] * Sum(2.0f);
    __syncthreads();
    wmma::store_matrix_sync(c, sum, rows ? N : M, order);
    __syncthreads();

    for (int i = lane; i < M * N; i += 32) {
        int want = small(i, 3);
        for (int k = 0; k < K; k++)
            want += small(i / N * K + k, 1) * small(k * N + i % N, 2);
        CHECK(float(c[rows ? i : i % N * M + i / N]) == 2.0f * float(want));
    }
    wmma::fill_fragment(sum, Sum(1.5f));
    for (int i = 0; i < sum.num_elements; i++) CHECK(float(sum.x[i]) == 1.5f);
}

struct Rows {
    typedef wmma::row_major type;
    char one;
};
struct Columns {
    typedef wmma::col_major type;
    short two;
};

template <class T, class Sum, int M, int N, int K> __global__ void shape(Tally *tally)
{
    multiply<Rows, Rows, T, Sum, M, N, K>(tally, wmma::mem_row_major);
    multiply<Rows, Columns, T, Sum, M, N, K>(tally, wmma::mem_col_major);
    multiply<Columns, Rows, T, Sum, M, N, K>(tally, wmma::mem_row_major);
    multiply<Columns, Columns, T, Sum, M, N, K>(tally, wmma::mem_col_major);
}

/* ---- mma.sync -------------------------------------------------------------------- */

__device__ unsigned packed(__half low, __half high)
{
    return unsigned(__half_as_ushort(low)) | unsigned(__half_as_ushort(high)) << 16;
}

__device__ unsigned packed(__nv_bfloat16 low, __nv_bfloat16 high)
{
    return unsigned(__bfloat16_as_ushort(low)) | unsigned(__bfloat16_as_ushort(high))
                                                     << 16;
}

__device__ float fraction(int i, int seed)
{
    return float((i * 37 + seed * 11) % 101 - 50) / 64.0f + float(i % 13) / 512.0f;
}

template <class T> __device__ float rounded(int i, int seed)
{
    return float(T(fraction(i, seed)));
}

template <class T> __global__ void mma_16(Tally *tally)
{
    const int lane = int(threadIdx.x) % 32, g = lane / 4, p = lane % 4;
    unsigned a[4], b[2];
    float c[4] = {1, 2, 3, 4}, d[4];
    for (int i = 0; i < 4; i++) {
        const int at = (g + i % 2 * 8) * 16 + 2 * p + i / 2 * 8;
        a[i] = packed(T(fraction(at, 1)), T(fraction(at + 1, 1)));
    }
    for (int i = 0; i < 2; i++) {
        const int k = 2 * p + 8 * i;
        b[i] = packed(T(fraction(k * 8 + g, 2)), T(fraction((k + 1) * 8 + g, 2)));
    }
    if (sizeof(float (*)(T)) && T(1.00390625f) == T(1.0f))  // bfloat16 has not that bit
        ptx::mma_bf16(d, a, b, c);
    else
        ptx::mma_f16(d, a, b, c);
    for (int i = 0; i < 4; i++) {
        const int row = g + i / 2 * 8, column = 2 * p + i % 2;
        float want = c[i], size = 4;
        for (int k = 0; k < 16; k++) {
            const float term =
                rounded<T>(row * 16 + k, 1) * rounded<T>(k * 8 + column, 2);
            want += term;
            size += fabsf(term);
        }
        CHECK(fabsf(d[i] - want) <= 16 * 0x1p-23f * size);
    }
}

__global__ void mma_8(Tally *tally)
{
    const int lane = int(threadIdx.x) % 32, g = lane / 4, p = lane % 4;
    unsigned a[4], b[2];
    float c[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++)
        a[i] = ptx::to_tf32(float(small((g + i % 2 * 8) * 8 + p + i / 2 * 4, 1)) +
                            0x1p-12f);
    for (int i = 0; i < 2; i++)
        b[i] = ptx::to_tf32(float(small((p + i * 4) * 8 + g, 2)));
    ptx::mma_tf32(c, a, b, c);
    for (int i = 0; i < 4; i++) {
        const int row = g + i / 2 * 8, column = 2 * p + i % 2;
        float want = 0;
        for (int k = 0; k < 8; k++) {
            const float left = float(small(row * 8 + k, 1));
            // the fraction stays beside 0; of others it is half of the last bit or less
            want += (left == 0 ? 0x1p-12f : left) * float(small(k * 8 + column, 2));
        }
        CHECK(c[i] == want);
    }
}

__global__ void tf32_rounding(Tally *tally)
{
    const float bit = 0x1p-10f;                            // the last one
    CHECK(wmma::__float_to_tf32(1 + bit / 2) == 1 + bit);  // ties away from zero
    CHECK(wmma::__float_to_tf32(-1 - bit / 2) == -1 - bit);
    CHECK(wmma::__float_to_tf32(1 + bit / 2 - 0x1p-23f) == 1);
    CHECK(wmma::__float_to_tf32(1 + 3 * bit / 2) == 1 + 2 * bit);
    CHECK(__uint_as_float(ptx::to_tf32(1 + bit / 2)) == 1 + bit);
    CHECK(wmma::__float_to_tf32(2 - 0x1p-23f) == 2);
    CHECK(isinf(wmma::__float_to_tf32(-__int_as_float(0x7f800000))));
    CHECK(isnan(wmma::__float_to_tf32(__int_as_float(0x7fffffff))));
#ifdef __CUSIM__
    // an operand that was not rounded: the card does not look at the low bits
    unsigned a[4], b[2];
    float d[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++) a[i] = __float_as_uint(1 + bit - 0x1p-23f);
    for (int i = 0; i < 2; i++) b[i] = __float_as_uint(1.0f);
    ptx::mma_tf32(d, a, b, d);
    CHECK(d[0] == 8 && d[3] == 8);
#endif
}

/* ---- ldmatrix -------------------------------------------------------------------- */

__global__ void matrices(Tally *tally)
{
    __shared__ __align__(16) unsigned short tile[32][8 + 8];  // padded rows
    const int lane = int(threadIdx.x), g = lane / 4, p = lane % 4;
    for (int i = 0; i < 8; i++) tile[lane][i] = (unsigned short)(lane * 8 + i);
    __syncwarp();
    unsigned x1[1], x2[2], x4[4], t1[1], t2[2], t4[4];
    ptx::ldmatrix(x1, tile[lane % 8]);
    ptx::ldmatrix(x2, tile[lane % 16]);
    ptx::ldmatrix(x4, tile[lane]);
    ptx::ldmatrix_trans(t1, tile[lane % 8]);
    ptx::ldmatrix_trans(t2, tile[lane % 16]);
    ptx::ldmatrix_trans(t4, tile[lane]);
    for (int m = 0; m < 4; m++) {
        const unsigned plain = unsigned((8 * m + g) * 8 + 2 * p);
        const unsigned crossed = unsigned((8 * m + 2 * p) * 8 + g);
        CHECK(x4[m] == (plain | (plain + 1) << 16));
        CHECK(t4[m] == (crossed | (crossed + 8) << 16));
        if (m < 2) CHECK(x2[m] == x4[m] && t2[m] == t4[m]);
        if (m < 1) CHECK(x1[m] == x4[m] && t1[m] == t4[m]);
    }
}

/* ---- cp.async -------------------------------------------------------------------- */

/* Stages of 32 x 16 bytes, two under way while one is read. */
__global__ void stages(Tally *tally, const float4 *input, int count)
{
    __shared__ float4 stage[3][32];
    const int lane = int(threadIdx.x), other = (lane + 5) % 32;
    for (int s = 0; s < 2; s++) {
        ptx::cp_async<16>(&stage[s][lane], input + s * 32 + lane);
        ptx::cp_async_commit();
    }
    for (int s = 0; s < count; s++) {
        ptx::cp_async_wait<1>();
        __syncthreads();
        const float4 got = stage[s % 3][other];
        CHECK(got.x == float(s * 32 + other) && got.w == -got.x);
        if (s + 2 < count)
            ptx::cp_async<16>(&stage[(s + 2) % 3][lane], input + (s + 2) * 32 + lane);
        ptx::cp_async_commit();
    }
}

__global__ void small_copies(Tally *tally, const float4 *input)
{
    __shared__ float4 words[32];
    const int lane = int(threadIdx.x);
    const float *from = (const float *)(input + lane);
    float *to = (float *)(words + lane);
    ptx::cp_async<4>(to, from);
    ptx::cp_async_zfill<4>(to + 1, from, 0);
    ptx::cp_async_zfill<8>(to + 2, from + 2, 4);
    ptx::cp_async_wait_all();
    __syncthreads();
    CHECK(words[31 - lane].x == float(31 - lane) && words[31 - lane].y == 0);
    CHECK(to[2] == from[2] && to[3] == 0);
    __syncthreads();
    ptx::cp_async_zfill<16>(to, from, lane % 2 ? 16 : 0);
    ptx::cp_async_commit();
#ifdef __CUSIM__
    CHECK(isnan(to[0]) && isnan(to[3]));  // not waited for yet
    ptx::cp_async_wait<1>();              // one group may be under way: it is
    CHECK(isnan(to[0]));
#endif
    ptx::cp_async_wait<0>();
    CHECK(to[0] == (lane % 2 ? from[0] : 0) && to[3] == (lane % 2 ? from[3] : 0));

    __pipeline_memcpy_async(to, from, 16);
    __pipeline_commit();
    __pipeline_memcpy_async(to, from, 16, 8);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    CHECK(to[0] == from[0] && to[2] == 0);
}

int main()
{
    Tally *tally = tally_new();
    shape<__half, float, 16, 16, 16><<<1, 32>>>(tally);
    check_launch();
    shape<__half, float, 32, 8, 16><<<1, 32>>>(tally);
    check_launch();
    shape<__half, __half, 8, 32, 16><<<1, 32>>>(tally);
    check_launch();
    shape<__nv_bfloat16, float, 16, 16, 16><<<1, 32>>>(tally);
    check_launch();
    shape<wmma::precision::tf32, float, 16, 16, 8><<<1, 32>>>(tally);
    check_launch();
    shape<double, double, 8, 8, 4><<<1, 32>>>(tally);
    check_launch();
    mma_16<__half><<<2, 64>>>(tally);
    check_launch();
    mma_16<__nv_bfloat16><<<2, 64>>>(tally);
    check_launch();
    mma_8<<<2, 64>>>(tally);
    check_launch();
    tf32_rounding<<<1, 32>>>(tally);
    check_launch();
    matrices<<<1, 32>>>(tally);
    check_launch();

    static float4 values[8 * 32];
    for (int i = 0; i < 8 * 32; i++)
        values[i] = make_float4(float(i), 2.0f * float(i), 7, -float(i));
    float4 *input;
    cudaMalloc(&input, sizeof values);
    cudaMemcpy(input, values, sizeof values, cudaMemcpyHostToDevice);
    stages<<<2, 32>>>(tally, input, 8);
    check_launch();
    small_copies<<<2, 32>>>(tally, input);
    check_launch();
    cudaFree(input);
    return tally_told(tally);
}
