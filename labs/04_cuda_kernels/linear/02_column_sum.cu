/* 02 column sum
 *
 *   idea    blocks sum up parts of the rows for grad_bias, then threads add the parts
 *   expect  the bytes of 00_matmul (counted, small), but 8 to 512 threads for a column
 *   limit   both products; column_sum reads grad_output again for grad_bias
 *   run     make grade T=04_cuda_kernels/linear/02
 *
 * This file has only backward. It uses no atomics, so each run adds in the same order.
 * Workspace: up to PARTS sums for each column, and copies as in 00_matmul.
 */
#include "launch.h"

extern "C" matmul_forward_fn gemm_forward;

enum { WIDTH = 32, HEIGHT = 8, THREADS = WIDTH * HEIGHT };  // of a block
enum { PARTS = 64, LEAST = 4 * HEIGHT };  // at most PARTS parts, of at least LEAST rows

/* Returns t as a matrix (R, D): joins all axes but the last. If the rows of t are not
 * equally spaced, copies t. If there is no memory for the copy, data is NULL. */
static tensor_t rows_of(ctx_t *ctx, const tensor_t *t)
{
    // BEGIN SOLUTION
    const int32_t last = t->ndim - 1;
    tensor_t rows = *t;
    rows.ndim = 2;
    rows.size[0] = tensor_count(t, last), rows.size[1] = t->size[last];
    rows.stride[0] = 0, rows.stride[1] = t->stride[last];
    if (tensor_numel(t) == 0) return rows;
    int64_t next = -1;  // the stride that axis d needs so that rows are equally spaced
    for (int32_t d = last - 1; d >= 0; d--) {
        if (t->size[d] == 1) continue;
        if (next >= 0 && t->stride[d] != next) {
            rows.data = (void *)tensor_contiguous(ctx, t);
            rows.stride[0] = t->size[last], rows.stride[1] = 1;
            return rows;
        }
        if (next < 0) rows.stride[0] = t->stride[d];
        next = t->stride[d] * t->size[d];
    }
    return rows;
    // END SOLUTION
    // STARTER return *t;  // your code, as in 00_matmul (the reference takes 18 lines)
}

/* Returns whether rows_of found no memory: rows has elements, but its data is NULL. */
static bool lacks(const tensor_t *rows)
{
    return !rows->data && tensor_numel(rows) > 0;
}

/* A part is ROWS rows of grad (R, OC). Each row of sums (parts, OC) gets the sum of the
 * rows of one part. A block owns 32 columns of one part. Thread (ty, tx) sums up every
 * 8th row of column tx. Then the thread with ty = 0 adds up the 8 sums of its column.
 * blockIdx.x numbers the blocks: all columns of the first part, then of the second.
 * Shared memory: a block needs 8 x 32 sums, 1024 bytes in f32. */
static __global__ void __launch_bounds__(THREADS)
    part_kernel(const __grid_constant__ tensor_t grad, int64_t ROWS,
                accum *__restrict__ sums)
{
    const int64_t R = grad.size[0], OC = grad.size[1], COLUMNS = ceil_div(OC, WIDTH);
    const int tx = threadIdx.x % WIDTH, ty = threadIdx.x / WIDTH;
    const int64_t oc = blockIdx.x % COLUMNS * WIDTH + tx, part = blockIdx.x / COLUMNS;
    const int64_t end = (part + 1) * ROWS < R ? (part + 1) * ROWS : R;
    // BEGIN SOLUTION
    __shared__ accum partial[HEIGHT][WIDTH];
    accum sum = 0;
    if (oc < OC) {
        for (int64_t r = part * ROWS + ty; r < end; r += HEIGHT)
            sum += accum_from(*at2(&grad, r, oc));
    }
    partial[ty][tx] = sum;
    __syncthreads();  // all 8 sums of a column are written before one thread reads them
    if (ty > 0 || oc >= OC) return;
    for (int y = 1; y < HEIGHT; y++) sum += partial[y][tx];
    sums[part * OC + oc] = sum;
    // END SOLUTION
    // STARTER // your code: rows part*ROWS + ty, + 8, ... before `end`, then the 8 sums
    // STARTER // of a column (the reference takes 11 lines)
    // STARTER (void)ty, (void)oc, (void)end;
}

/* Adds up the rows of sums (COUNT, OC), in their order, to grad_bias (OC). A block owns
 * 256 columns of sums, a thread owns one column. The kernel uses no shared memory. */
static __global__ void bias_kernel(const accum *__restrict__ sums, int64_t COUNT,
                                   real *__restrict__ grad_bias, int64_t OC)
{
    const int64_t oc = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (oc >= OC) return;  // the last block may be partly empty
    // BEGIN SOLUTION
    accum sum = 0;
    for (int64_t part = 0; part < COUNT; part++) sum += sums[part * OC + oc];
    grad_bias[oc] = real_from(sum);
    // END SOLUTION
    // STARTER // your code (the reference takes 3 lines)
}

/* Launches part_kernel and bias_kernel: grad_bias (OC) is the sum of the rows of grad
 * (R, OC). If R is 0, there are no parts, and bias_kernel alone writes zeros. */
static status_t column_sum(ctx_t *ctx, const tensor_t *grad, tensor_t *grad_bias)
{
    const int64_t R = grad->size[0], OC = grad->size[1];
    if (OC == 0) return STATUS_OK;
    const int64_t share = ceil_div(R, PARTS);
    const int64_t ROWS = share < LEAST ? (int64_t)LEAST : share;
    const int64_t COUNT = ceil_div(R, ROWS);  // the number of parts, 0 if R is 0
    const size_t bytes = (size_t)(COUNT + 1) * OC * sizeof(accum);
    accum *const sums = (accum *)ctx_scratch(ctx, bytes);
    if (!sums) return STATUS_NO_MEMORY;
    // BEGIN SOLUTION
    if (COUNT > 0) {
        const unsigned blocks = grid_of(ceil_div(OC, WIDTH) * COUNT);
        part_kernel<<<blocks, THREADS, 0, ctx->stream>>>(*grad, ROWS, sums);
        CUDA_TRY(ctx, cudaGetLastError());
    }
    const unsigned blocks = grid_of(ceil_div(OC, THREADS));
    bias_kernel<<<blocks, THREADS, 0, ctx->stream>>>(sums, COUNT, real_data(grad_bias),
                                                     OC);
    CUDA_TRY(ctx, cudaGetLastError());
    // END SOLUTION
    // STARTER // your code: two launches (the reference takes 9 lines)
    // STARTER (void)part_kernel, (void)bias_kernel, (void)grad_bias;
    return STATUS_OK;
}

/* Computes grad_input = grad_output @ weight, grad_weight = grad_output^T @ input, and
 * grad_bias, the sum of the rows of grad_output. A gradient may be NULL. */
extern "C" status_t linear_backward(ctx_t *ctx, const tensor_t *grad_output,
                                    const tensor_t *input, const tensor_t *weight,
                                    tensor_t *grad_input, tensor_t *grad_weight,
                                    tensor_t *grad_bias)
{
    // BEGIN SOLUTION
    const tensor_t grad = rows_of(ctx, grad_output), rows = rows_of(ctx, input);
    if (lacks(&grad) || lacks(&rows)) return STATUS_NO_MEMORY;
    status_t status = STATUS_OK;
    if (grad_input) {
        tensor_t sums = rows_of(ctx, grad_input);  // (R, IC)
        status = gemm_forward(ctx, &grad, weight, &sums);
    }
    if (grad_weight && status == STATUS_OK) {
        const tensor_t columns = tensor_transposed(&grad);  // (OC, R)
        status = gemm_forward(ctx, &columns, &rows, grad_weight);
    }
    if (status != STATUS_OK || !grad_bias) return status;
    return column_sum(ctx, &grad, grad_bias);
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
    // STARTER (void)rows_of, (void)lacks, (void)column_sum;  // delete on use
    // STARTER return STATUS_NOT_IMPLEMENTED;
}
