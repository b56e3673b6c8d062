/* 05 tf32
 *
 *   idea    tensor cores multiply floats that are rounded to TF32, 11 bits of their 24
 *   expect  published: 8x the multiply-adds a second of float units; time not measured
 *   limit   the gather: a thread loads 24 numbers for 32 mma of its warp
 *   run     make grade T=04_cuda_kernels/conv2d/05
 *
 * For f32 and f16, whose 11 bits stay as they are, and where 32 bits count the windows,
 * their terms and rows; all else is the fallback's. input is read as it lies, no other
 * layout is made of it. Workspace: a copy of weight where it has gaps.
 */
#include "launch.h"
#include "ptx.h"

extern "C" conv2d_forward_fn fallback_forward;

enum { BM = 64, BN = 128, BK = 16, THREADS = BN };       // of a block
enum { WARP = 32, WN = 32, MT = BM / 16, NT = WN / 8 };  // MT x NT mma of a warp
enum { CHUNK = 256, STEP = THREADS / BK, LEFT = BM / STEP, RIGHT = BK };

/* Where numbers 4q to 4q + 3 of row x of a tile lie, 16 bytes. A row of 16 is half
 * of the banks; 8 lanes that store in rows x to x + 7, or that read two whole rows,
 * meet in no bank, because every second row has another order (^). */
static __device__ uint4 *quad(uint4 *tile, int x, int q)
{
    return tile + x * (BK / 4) + (q ^ x / 2 % 4);
}

/* Four numbers, each rounded to TF32. */
static __device__ uint4 rounded(const float *x)
{
    return make_uint4(ptx::to_tf32(x[0]), ptx::to_tf32(x[1]), ptx::to_tf32(x[2]),
                      ptx::to_tf32(x[3]));
}

/* sum += left (BM, BK) @ right (WN, BK)^T, by one warp. Lane 4g + p reads numbers 4p to
 * 4p + 3 of rows g. mma wants k = p and p + 4, but any two will do that are the same
 * left and right: first 4p and 4p + 1, then the others. */
static __device__ void multiply(uint4 *left, uint4 *right, int n0,
                                float (&sum)[MT][NT][4])
{
    // BEGIN SOLUTION
    const int g = threadIdx.x % WARP / 4, p = threadIdx.x % 4;
    uint4 b[NT];
    for (int j = 0; j < NT; j++) b[j] = *quad(right, n0 + 8 * j + g, p);
    for (int i = 0; i < MT; i++) {
        const uint4 a = *quad(left, 16 * i + g, p), c = *quad(left, 16 * i + 8 + g, p);
        for (int j = 0; j < NT; j++) {
            ptx::mma_tf32(sum[i][j], {a.x, c.x, a.y, c.y}, {b[j].x, b[j].y}, sum[i][j]);
            ptx::mma_tf32(sum[i][j], {a.z, c.z, a.w, c.w}, {b[j].z, b[j].w}, sum[i][j]);
        }
    }
    // END SOLUTION
    // STARTER // your code: the numbers of b once, those of a and c for each i, then
    // STARTER // two mma each (the reference takes 10 lines)
    // STARTER (void)quad;
}

/* output (GM, GN) = weight (GM, GK) @ windows (GK, GN) of a group; GM = OC/G,
 * GN = N*OH*OW, GK = IC/G*KH*KW
 * A block owns 64 filters x 128 windows, a warp all of the filters x 32 windows; a
 * thread what mma_tf32 gives it of each 16 x 8 (common/ptx.h). The grid counts tiles
 * along x, in the order (g, n0, m0). Shared memory: where 256 terms lie in a window,
 * two tiles of each matrix, 28672 bytes: one is multiplied, the next is fetched. */
static __global__ void __launch_bounds__(THREADS)
    conv2d_forward_kernel(const __grid_constant__ tensor_t input,
                          const __grid_constant__ tensor_t weight,
                          const real *__restrict__ filters,
                          const __grid_constant__ tensor_t bias, conv2d_params_t p,
                          const __grid_constant__ tensor_t output)
{
    [[maybe_unused]] __shared__ int64_t offset[CHUNK];  // of a term from the window's
    [[maybe_unused]] __shared__ int2 away[CHUNK];  // first pixel; its columns and rows
    __shared__ uint4 left_tile[2][BM * BK / 4], right_tile[2][BN * BK / 4];
    const int t = threadIdx.x, warp = t / WARP, lane = t % WARP;
    const int G = (int)p.groups, GM = (int)output.size[1] / G;
    const int IC = (int)weight.size[1], KH = (int)weight.size[2];
    const int KW = (int)weight.size[3], GK = IC * KH * KW;
    const int AREA = (int)(output.size[2] * output.size[3]), OW = (int)output.size[3];
    const int GN = (int)output.size[0] * AREA;
    const unsigned IH = (unsigned)input.size[2], IW = (unsigned)input.size[3];
    const int ROWS = (GM + BM - 1) / BM, COLUMNS = (GN + BN - 1) / BN;  // of tiles
    const int tile = (int)blockIdx.x, g = tile / ROWS / COLUMNS;
    const int m0 = tile % ROWS * BM, n0 = tile / ROWS % COLUMNS * BN;

    const int n = n0 + t, m = m0 + t / BK;  // it fetches window n, each STEPth filter
    const real *const filter = filters + ((int64_t)g * GM + m) * GK + t % BK;
    const int row = n % AREA / OW * (int)p.stride_h - (int)p.padding_h;
    const int ih = n < GN ? row : INT32_MIN;  // there is no such row of input
    const int iw = n % OW * (int)p.stride_w - (int)p.padding_w;
    const real *pixel = at4(&input, n / AREA, g * IC, row, iw);
    float left[LEFT], right[RIGHT];
    float sum[MT][NT][4] = {};
    for (int k0 = 0, now = 0; k0 < GK + BK; k0 += BK, now ^= 1) {
        if (k0 % CHUNK == 0) {
            // BEGIN SOLUTION
            for (int i = t; i < CHUNK; i += THREADS) {
                const int k = k0 + i, ic = k / (KH * KW);
                const int64_t h = k / KW % KH * p.dilation_h, w = k % KW * p.dilation_w;
                offset[i] =
                    ic * input.stride[1] + h * input.stride[2] + w * input.stride[3];
                away[i] = make_int2((int)w, (int)h);
            }
            // END SOLUTION
            // STARTER // your code: offset and away of terms k0 to k0 + CHUNK - 1,
            // STARTER // k = (ic, kh, kw) (the reference takes 7 lines)
            __syncthreads();  // they are there; all have read the last
        }
        // BEGIN SOLUTION
        for (int i = 0; i < LEFT; i++) {
            const bool inside = m + STEP * i < GM && k0 + t % BK < GK;
            left[i] = inside ? accum_from(filter[(int64_t)STEP * i * GK + k0]) : 0;
        }
        for (int i = 0; i < RIGHT; i++) {
            const unsigned w = iw + away[k0 % CHUNK + i].x;  // -1 is a large number
            const unsigned h = ih + away[k0 % CHUNK + i].y;
            const bool inside = h < IH && w < IW && k0 + i < GK;
            right[i] = inside ? accum_from(pixel[offset[k0 % CHUNK + i]]) : 0;
        }
        // END SOLUTION
        // STARTER // your code: into left term t % BK of each filter, into right all
        // STARTER // terms of the window; else 0 (the reference takes 10 lines)
        // STARTER (void)filter, (void)pixel, (void)ih, (void)iw, (void)m, (void)IH;
        // STARTER (void)IW;
        if (k0 > 0) multiply(left_tile[now ^ 1], right_tile[now ^ 1], warp * WN, sum);
        // BEGIN SOLUTION
        for (int i = 0; i < LEFT; i++) {
            uint4 *to = quad(left_tile[now], t / BK + STEP * i, t % BK / 4);
            ((unsigned *)to)[t % 4] = ptx::to_tf32(left[i]);
        }
        for (int i = 0; i < RIGHT; i += 4)
            *quad(right_tile[now], t, i / 4) = rounded(right + i);
        // END SOLUTION
        // STARTER // your code: left and right, rounded, where quad says
        // STARTER // (the reference takes 6 lines)
        // STARTER (void)left, (void)right, (void)rounded;
        __syncthreads();  // these tiles are written, and all have read the other two
    }
    // BEGIN SOLUTION
#pragma unroll  // sums that a variable counts would not lie in registers
    for (int j = 0; j < NT; j++) {
        for (int i = 0; i < MT; i++) {
            for (int r = 0; r < 4; r++) {
                const int m = m0 + 16 * i + r / 2 * 8 + lane / 4;
                const int n = n0 + warp * WN + 8 * j + lane % 4 * 2 + r % 2;
                if (m >= GM || n >= GN) continue;
                const accum start = bias.data ? accum_from(*at1(&bias, g * GM + m)) : 0;
                real *to = at4(&output, n / AREA, g * GM + m, 0, 0) + n % AREA;
                *to = real_from(start + sum[i][j][r]);
            }
        }
    }
    // END SOLUTION
    // STARTER // your code: store. ptx.h says where the four sums of an mma lie
    // STARTER // (the reference takes 12 lines)
    // STARTER (void)lane, (void)n;
}

/* output[n,oc] = bias[oc] + sum over k of weight[oc,k] * term k of the window */
extern "C" status_t conv2d_forward(ctx_t *ctx, const tensor_t *input,
                                   const tensor_t *weight, const tensor_t *bias,
                                   conv2d_params_t p, tensor_t *output)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete it when the kernel is written
    if (tensor_numel(output) == 0) return STATUS_OK;  // a grid of 0 blocks is an error
    const int64_t *in = input->size, GM = weight->size[0] / p.groups;
    const int64_t GN = tensor_numel(output) / weight->size[0];
    const int64_t GK = tensor_numel(weight) / weight->size[0];
    const int64_t MOST = INT32_MAX - BN * BK;
    const bool fits = GN <= MOST && GK <= MOST && in[2] + 2 * p.padding_h <= MOST &&
                      in[3] + 2 * p.padding_w <= MOST;
    if (REAL_DTYPE == DTYPE_F64 || !fits) {
        return fallback_forward(ctx, input, weight, bias, p, output);
    }
    const real *filters = tensor_contiguous(ctx, weight);
    if (!filters) return STATUS_NO_MEMORY;
    const unsigned blocks = grid_of(p.groups * ceil_div(GM, BM) * ceil_div(GN, BN));
    conv2d_forward_kernel<<<blocks, THREADS, 0, ctx->stream>>>(
        *input, *weight, filters, bias ? *bias : tensor_t{}, p, *output);
    CUDA_TRY(ctx, cudaGetLastError());
    return STATUS_OK;
}
