/* 00 rulebook
 *
 *   idea    sort the points once, then find each neighbour by binary search
 *   expect  no factor: no other file of this ladder has forward
 *   limit   each point needs log2(P) scattered reads per kernel position
 *   run     make grade T=02_naive_c/subm_conv3d/00
 */
#include "points.h"

/* An example: five points, rows 0 to 4, all at y = 0. The kernel is 3 x 1 x 3, so
 * k = kd*3 + kw. Some pairs (read, write) of the rulebook:
 *
 *     z = 0   . 0 1 . .        k = 1   reads z - 1   (0,3)
 *     z = 1   2 3 . . 4        k = 3   reads x - 1   (0,1) (2,3)
 *             x = 0 ... 4      k = 4   reads itself  (0,0) (1,1) (2,2) (3,3) (4,4)
 *                              k = 5   reads x + 1   (1,0) (3,2)
 *                              k = 7   reads z + 1   (3,0)    */

/* Returns whether point lhs is before rhs: compares n first, then z, then y, then x. */
static int is_before(point_t lhs, point_t rhs)
{
    if (lhs.n != rhs.n) return lhs.n < rhs.n;
    if (lhs.z != rhs.z) return lhs.z < rhs.z;
    if (lhs.y != rhs.y) return lhs.y < rhs.y;
    return lhs.x < rhs.x;
}

/* Writes the row numbers 0 to P - 1 to `order`, sorted by the points of these rows.
 * Shell sort is an insertion sort over smaller and smaller gaps. */
static void sort_rows(const tensor_t *coordinates, int32_t *order, int64_t P)
{
    for (int64_t i = 0; i < P; i++) order[i] = (int32_t)i;
    // BEGIN SOLUTION
    for (int64_t gap = P; gap > 1;) {
        gap = gap / 3 + 1;
        for (int64_t i = gap; i < P; i++) {
            const int32_t row = order[i];
            const point_t point = point_at(coordinates, row);
            int64_t hole = i;
            for (; hole >= gap; hole -= gap) {
                if (!is_before(point, point_at(coordinates, order[hole - gap]))) break;
                order[hole] = order[hole - gap];
            }
            order[hole] = row;
        }
    }
    // END SOLUTION
    // STARTER // your code, with point_at and is_before (the reference takes 13 lines)
    // STARTER (void)is_before;  // delete this line when you call it
}

/* Returns the row of `point`, or -1. Each step halves the search range [low, high). */
static int64_t find_row(const tensor_t *coordinates, const int32_t *order, int64_t P,
                        point_t point)
{
    // BEGIN SOLUTION
    int64_t low = 0, high = P;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const point_t found = point_at(coordinates, order[middle]);
        if (is_before(found, point)) {
            low = middle + 1;
        } else if (is_before(point, found)) {
            high = middle;
        } else {
            return order[middle];
        }
    }
    return -1;
    // END SOLUTION
    // STARTER // your code (the reference takes 13 lines)
    // STARTER return -1;
}

/* Adds matrix (OC, IC) @ features[read] to output[write]. */
static void pair_forward(const tensor_t *features, tensor_t matrix, int64_t read,
                         int64_t write, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t OC = matrix.size[0], IC = matrix.size[1];
    for (int64_t oc = 0; oc < OC; oc++) {
        accum sum = 0;
        for (int64_t ic = 0; ic < IC; ic++) {
            sum += *at2(&matrix, oc, ic) * *at2(features, read, ic);
        }
        *at2(output, write, oc) += (real)sum;
    }
    // END SOLUTION
    // STARTER // your code (the reference takes 8 lines)
}

/* Finds the pairs of one kernel position: row `write` reads the point at distance
 * `shift`, if it exists. Adds the product of each pair to output. If `pairs` (P, 2) is
 * not NULL, stores the pairs in rising order of write. Returns the number of pairs. */
static int64_t place_forward(const tensor_t *features, const tensor_t *coordinates,
                             const int32_t *order, point_t shift, tensor_t matrix,
                             int32_t *pairs, tensor_t *output)
{
    // BEGIN SOLUTION
    const int64_t P = features->size[0];
    int64_t count = 0;
    for (int64_t write = 0; write < P; write++) {
        point_t point = point_at(coordinates, write);
        point.z += shift.z, point.y += shift.y, point.x += shift.x;
        const int64_t read = find_row(coordinates, order, P, point);
        if (read < 0) continue;  // no point there
        pair_forward(features, matrix, read, write, output);
        if (pairs) {
            pairs[2 * count] = (int32_t)read;
            pairs[2 * count + 1] = (int32_t)write;
        }
        count++;
    }
    return count;
    // END SOLUTION
    // STARTER // your code (the reference takes 15 lines)
    // STARTER (void)find_row, (void)pair_forward;  // delete when you call them
    // STARTER return 0;
}

/* Computes output[write] = bias + sum of weight @ features[read] over all pairs. */
status_t subm_conv3d_forward(ctx_t *ctx, const tensor_t *features,
                             const tensor_t *coordinates, const tensor_t *weight,
                             const tensor_t *bias, subm_conv3d_params_t p,
                             tensor_t *output, tensor_t *rulebook, tensor_t *count)
{
    // STARTER return STATUS_NOT_IMPLEMENTED;  // delete this line when you begin
    const int64_t P = features->size[0], OC = weight->size[0];
    const int64_t KD = weight->size[2], KH = weight->size[3], KW = weight->size[4];
    int32_t *order = ctx_scratch(ctx, (size_t)P * sizeof(int32_t));
    if (!order && P > 0) return STATUS_NO_MEMORY;
    sort_rows(coordinates, order, P);
    for (int64_t row = 0; row < P; row++) {
        for (int64_t oc = 0; oc < OC; oc++) {
            *at2(output, row, oc) = bias ? *at1(bias, oc) : 0;
        }
    }
    int64_t k = 0;  // (kd*KH + kh)*KW + kw
    for (int64_t kd = 0; kd < KD; kd++) {
        for (int64_t kh = 0; kh < KH; kh++) {
            for (int64_t kw = 0; kw < KW; kw++, k++) {
                const point_t shift = {.z = (kd - KD / 2) * p.dilation_d,
                                       .y = (kh - KH / 2) * p.dilation_h,
                                       .x = (kw - KW / 2) * p.dilation_w};
                int32_t *pairs =
                    rulebook ? (int32_t *)rulebook->data + k * P * 2 : NULL;
                const int64_t found =
                    place_forward(features, coordinates, order, shift,
                                  matrix_at(weight, kd, kh, kw), pairs, output);
                if (count) ((int64_t *)count->data)[k] = found;
            }
        }
    }
    return STATUS_OK;
}
