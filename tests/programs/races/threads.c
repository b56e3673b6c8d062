// SPDX-License-Identifier: MIT
/* threads - what three threads do to the same memory, a function for each way
 *
 * The test calls gelu_forward with COUNT elements for function number COUNT. A comment
 * `race` marks the lines that the first finding names; where there is none nothing may
 * be found. A function returns whether its result is right.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "operators.h"

enum { N = 60, TEAM = 16 };
typedef int way_fn(ctx_t *ctx, int T);

void GOMP_critical_start(void), GOMP_critical_end(void), GOMP_barrier(void);

static int all_are(const int *numbers, int count, int wanted)
{
    for (int i = 0; i < count; i++) {
        if (numbers[i] != wanted) return 0;
    }
    return 1;
}

/* ---- races ----------------------------------------------------------------------- */

static int shared_accumulator(ctx_t *ctx, int T)
{
    int sum = 0;
#pragma omp parallel for num_threads(T)
    for (int i = 0; i < N; i++) {
        sum += i;  // race
    }
    return sum > 0;
}

static int forgotten_private(ctx_t *ctx, int T)
{
    int twice, out[N];
#pragma omp parallel for num_threads(T)
    for (int i = 0; i < N; i++) {
        twice = 2 * i;  // race
        out[i] = twice;
    }
    return out[0] == 0;
}

static int nowait_before_a_read(ctx_t *ctx, int T)
{
    int a[N], b[N];
#pragma omp parallel num_threads(T)
    {
#pragma omp for nowait
        for (int i = 0; i < N; i++) a[i] = i;  // race
#pragma omp for
        for (int i = 0; i < N; i++) b[i] = a[N - 1 - i];  // race
    }
    return b[0] >= 0;
}

static int filters_of_all_threads(ctx_t *ctx, int T)
{
    int filter[4] = {0};
#pragma omp parallel for num_threads(T)
    for (int i = 0; i < N; i++) filter[i % 4] += 1;  // race
    return filter[0] > 0;
}

static int the_same_value(ctx_t *ctx, int T)
{
    int found = 0;
#pragma omp parallel for num_threads(T)
    for (int i = 0; i < N; i++) {
        if (i % 7 == 0) found = 1;  // race
    }
    return found;
}

static int master_without_barrier(ctx_t *ctx, int T)
{
    int size = 0, out[TEAM];
#pragma omp parallel num_threads(T)
    {
#pragma omp master
        size = 5;                          // race
        out[omp_get_thread_num()] = size;  // race
    }
    return out[0] == 5;
}

static int plain_beside_atomic(ctx_t *ctx, int T)
{
    int sum = 0, seen[TEAM];
#pragma omp parallel num_threads(T)
    {
#pragma omp atomic
        sum += 1;                          // race
        seen[omp_get_thread_num()] = sum;  // race
    }
    return seen[0] >= 0;
}

static int plain_behind_atomic(ctx_t *ctx, int T)
{
    int sum = 0;
#pragma omp parallel num_threads(T)
    {
#pragma omp atomic
        sum += 1;                                  // race
        if (omp_get_thread_num() == 0) sum = 100;  // race
    }
    return sum > 0;
}

static int two_locks_for_one_variable(ctx_t *ctx, int T)
{
    int sum = 0;
#pragma omp parallel num_threads(T)
    if (omp_get_thread_num() == 0) {
#pragma omp critical(first)
        sum += 1;  // race
    } else {
#pragma omp critical(second)
        sum += 2;  // race
    }
    return sum > 0;
}

static int before_the_critical_section(ctx_t *ctx, int T)
{
    int data = 0, turns = 0;
#pragma omp parallel num_threads(T)
    {
        if (omp_get_thread_num() == 0) data = 1;  // race
#pragma omp critical
        turns++;
        if (omp_get_thread_num() == 2) data = 2;  // race
    }
    return turns == T;
}

static int one_byte_of_a_word(ctx_t *ctx, int T)
{
    char flags[8] = {0};
#pragma omp parallel num_threads(T)
    flags[omp_get_thread_num() / 2] = 1;  // race
    return flags[0];
}

static int everybody_clears(ctx_t *ctx, int T)
{
    int buffer[N];
#pragma omp parallel num_threads(T)
    memset(buffer, 0, sizeof buffer);  // race
    return all_are(buffer, N, 0);
}

static int copies_into_one_row(ctx_t *ctx, int T)
{
    int from[TEAM][N] = {{0}}, to[N];
#pragma omp parallel num_threads(T)
    memcpy(to, from[omp_get_thread_num()], sizeof to);  // race
    return all_are(to, N, 0);
}

static int moves_into_one_row(ctx_t *ctx, int T)
{
    int from[TEAM][N] = {{0}}, to[N];
#pragma omp parallel num_threads(T)
    memmove(to, from[omp_get_thread_num()], sizeof to);  // race
    return all_are(to, N, 0);
}

static int copied_while_written(ctx_t *ctx, int T)
{
    int row[N] = {0}, to[TEAM][N];
#pragma omp parallel num_threads(T)
    {
        if (omp_get_thread_num() == 0)
            row[3] = 0;  // race
        else
            memcpy(to[omp_get_thread_num()], row, sizeof row);  // race
    }
    return all_are(to[1], N, 0);
}

static int moved_while_written(ctx_t *ctx, int T)
{
    int row[N] = {0}, to[TEAM][N];
#pragma omp parallel num_threads(T)
    {
        if (omp_get_thread_num() == 0)
            row[3] = 0;  // race
        else
            memmove(to[omp_get_thread_num()], row, sizeof row);  // race
    }
    return all_are(to[1], N, 0);
}

static int *static_room(void)
{
    static int room[4];
    return room;
}

static int static_buffer(ctx_t *ctx, int T)
{
    int out[N];
#pragma omp parallel for num_threads(T)
    for (int i = 0; i < N; i++) {
        int *room = static_room();
        room[1] = i;  // race
        out[i] = room[1];
    }
    return out[0] >= 0;
}

static int in_a_dynamic_loop(ctx_t *ctx, int T)
{
    int sum = 0;
#pragma omp parallel for num_threads(T) schedule(dynamic, 4)
    for (int i = 0; i < N; i++) sum += i;  // race
    return sum > 0;
}

static int in_sections(ctx_t *ctx, int T)
{
    int last = 0, seen = 0;
#pragma omp parallel sections num_threads(T)
    {
#pragma omp section
        last = 1;  // race
#pragma omp section
        seen = last;  // race
    }
    return last + seen > 0;
}

static int waits_for_a_plain_flag(ctx_t *ctx, int T)
{
    volatile int ready = 0;
#pragma omp parallel num_threads(T)
    {
        if (omp_get_thread_num() == 1) ready = 1;  // race
        while (!ready) continue;                   // race
    }
    return ready;
}

static int store_that_releases_nothing(ctx_t *ctx, int T)
{
    int data = 0, ready = 0, seen = 0;
#pragma omp parallel num_threads(T)
    if (omp_get_thread_num() == 1) {
        data = 5;  // race
        __atomic_store_n(&ready, 1, __ATOMIC_RELAXED);
    } else if (omp_get_thread_num() == 2) {
        while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) continue;
        seen = data;  // race
    }
    return seen == 5;
}

static int load_that_acquires_nothing(ctx_t *ctx, int T)
{
    int data = 0, ready = 0, seen = 0;
#pragma omp parallel num_threads(T)
    if (omp_get_thread_num() == 1) {
        data = 5;  // race
        __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    } else if (omp_get_thread_num() == 2) {
        while (!__atomic_load_n(&ready, __ATOMIC_RELAXED)) continue;
        seen = data;  // race
    }
    return seen == 5;
}

/* The flag orders nothing, but who comes first. */
static int read_by_the_second(ctx_t *ctx, int T)
{
    int data = 0, flag = 0, seen[2] = {0};
#pragma omp parallel num_threads(T)
    if (omp_get_thread_num() == 0) {
        seen[0] = data;
        __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&flag, __ATOMIC_RELAXED) < 2) continue;
        data = 5;  // race
    } else if (omp_get_thread_num() == 1) {
        while (__atomic_load_n(&flag, __ATOMIC_RELAXED) < 1) continue;
        seen[1] = data;  // race
        __atomic_store_n(&flag, 2, __ATOMIC_RELAXED);
    }
    return seen[0] == 0;
}

static int scratch_of_two_threads(ctx_t *ctx, int T)
{
    int *room[TEAM];
#pragma omp parallel num_threads(T)
    room[omp_get_thread_num()] = ctx_scratch(ctx, 64);  // race
    return room[0] != NULL;
}

/* ---- and what is right ----------------------------------------------------------- */

static int a_reduction(ctx_t *ctx, int T)
{
    int sum = 0;
    double worst = 0;
#pragma omp parallel for num_threads(T) reduction(+ : sum) reduction(max : worst)
    for (int i = 0; i < N; i++) {
        sum += i;
        worst = i > worst ? i : worst;
    }
    return sum == N * (N - 1) / 2 && worst == N - 1;
}

static int neighbours(ctx_t *ctx, int T)
{
    int words[N];
    char bytes[N];
#pragma omp parallel for num_threads(T) schedule(static, 1)
    for (int i = 0; i < N; i++) {
        words[i] = 1;
        bytes[i] = 1;
    }
    return all_are(words, N, 1) && bytes[N - 1] == 1;
}

static int all_read_the_same(ctx_t *ctx, int T)
{
    int data[N] = {0}, sum[TEAM] = {0};
#pragma omp parallel num_threads(T)
    for (int i = 0; i < N; i++) sum[omp_get_thread_num()] += data[i];
    return all_are(sum, T, 0);
}

static int critical_sections(ctx_t *ctx, int T)
{
    int sum = 0, named = 0;
#pragma omp parallel num_threads(T)
    {
#pragma omp critical
        sum += 1;
#pragma omp critical(name)
        named += 1;
    }
    return sum == T && named == T;
}

static int atomic_operations(ctx_t *ctx, int T)
{
    int whole = 0, before[TEAM];
    float single_sum = 0;
    double product = 1;
#pragma omp parallel num_threads(T)
    {
        int number;
#pragma omp atomic capture
        number = whole++;
        before[number] = 1;
#pragma omp atomic
        single_sum += 1;
#pragma omp atomic
        product *= 2;
    }
    return all_are(before, T, 1) && single_sum == (float)T && product == 8;
}

static int locks(ctx_t *ctx, int T)
{
    omp_lock_t lock;
    int sum = 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(T)
    {
        omp_set_lock(&lock);
        sum++;
        omp_unset_lock(&lock);
        while (!omp_test_lock(&lock)) continue;
        sum++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    return sum == 2 * T;
}

static int a_barrier_between(ctx_t *ctx, int T)
{
    int a[TEAM], b[TEAM];
#pragma omp parallel num_threads(T)
    {
        const int t = omp_get_thread_num();
        for (int turn = 0; turn < 5; turn++) {
            a[t] = t;
#pragma omp barrier
            b[t] = a[(t + 1) % T];
#pragma omp barrier
        }
    }
    return b[T - 1] == 0;
}

static int end_of_a_loop(ctx_t *ctx, int T)
{
    int a[N], b[N];
#pragma omp parallel num_threads(T)
    {
#pragma omp for
        for (int i = 0; i < N; i++) a[i] = i;
#pragma omp for schedule(guided)
        for (int i = 0; i < N; i++) b[i] = a[N - 1 - i];
    }
#pragma omp parallel for num_threads(T)
    for (int i = 0; i < N; i++) a[i] = b[N - 1 - i];
    return a[N - 1] == N - 1;
}

static int a_smaller_region_behind(ctx_t *ctx, int T)
{
    int a[N];
#pragma omp parallel for num_threads(T)
    for (int i = 0; i < N; i++) a[i] = i;
#pragma omp parallel for num_threads(T - 1) schedule(static, 1)
    for (int i = 0; i < N; i++) a[N - 1 - i] = 1;
    return all_are(a, N, 1);
}

static int single_and_master(ctx_t *ctx, int T)
{
    int once = 0, copies[TEAM], of_master = 0;
#pragma omp parallel num_threads(T)
    {
        int mine = 0;
#pragma omp single
        once++;
#pragma omp single copyprivate(mine)
        mine = once + 6;
        copies[omp_get_thread_num()] = mine;
#pragma omp master
        of_master++;
#pragma omp single nowait
        once += 10;
    }
    return once == 11 && of_master == 1 && all_are(copies, T, 7);
}

static int first_and_last_private(ctx_t *ctx, int T)
{
    int base = 3, last = 0, out[N];
#pragma omp parallel for num_threads(T) firstprivate(base) lastprivate(last)
    for (int i = 0; i < N; i++) {
        base += 1;
        last = i;
        out[i] = base > 3;
    }
    return last == N - 1 && base == 3 && all_are(out, N, 1);
}

static int own[8];
#pragma omp threadprivate(own)

static int a_buffer_of_each_thread(ctx_t *ctx, int T)
{
    int kept[TEAM];
#pragma omp parallel num_threads(T)
    for (int i = 0; i < 8; i++) own[i] = omp_get_thread_num();
#pragma omp parallel num_threads(T)
    kept[omp_get_thread_num()] = own[7] == omp_get_thread_num();
    return all_are(kept, T, 1);
}

static __attribute__((noinline)) int on_the_stack(int seed)
{
    volatile int room[32];
    for (int i = 0; i < 32; i++) room[i] = seed;
    return room[seed % 32];
}

static int stacks_used_again(ctx_t *ctx, int T)
{
    int out[N];
    for (int turn = 0; turn < 2; turn++) {
#pragma omp parallel for num_threads(T)
        for (int i = 0; i < N; i++) out[i] = on_the_stack(i) == i;
        if (on_the_stack(turn) != turn) return 0;
    }
    return all_are(out, N, 1);
}

/* Larger than any block before, so that the system itself gives and takes each. */
static int freed_and_given_again(ctx_t *ctx, int T)
{
    int out[TEAM];
#pragma omp parallel num_threads(T)
    {
        const size_t count = (size_t)(omp_get_thread_num() + 1) << 18;
        int *room = malloc(count / 2 * sizeof *room);
        int *more = realloc(room, count * sizeof *room);
        for (int i = 1; i < N; i++) more[count - (size_t)i] = i;
        out[omp_get_thread_num()] = more[count - 5] == 5;
        free(more);
    }
    return all_are(out, T, 1);
}

static int rows_copied(ctx_t *ctx, int T)
{
    int from[4][N] = {{0}}, to[4][N];
#pragma omp parallel for num_threads(T)
    for (int r = 0; r < 4; r++) {
        memset(to[r], 1, sizeof to[r]);
        memcpy(to[r], from[r], sizeof to[r]);
        memmove(to[r] + 1, to[r], sizeof to[r] - sizeof to[r][0]);
    }
    return all_are(to[3], N, 0);
}

static int every_kind_of_loop(ctx_t *ctx, int T)
{
    int hits[N] = {0}, places[6][10] = {{0}};
#pragma omp parallel num_threads(T)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < N; i++) hits[i]++;
#pragma omp for schedule(dynamic, 7) nowait
        for (int64_t i = N - 1; i >= 0; i -= 2) hits[i]++;
#pragma omp for schedule(guided) nowait
        for (size_t i = 0; i < N; i += 2) hits[i]++;
#pragma omp for schedule(runtime)
        for (int i = 0; i < N; i++) hits[i] += 0;
    }
#pragma omp parallel for num_threads(T) schedule(runtime)
    for (int i = 0; i < N; i++) hits[i]++;
#pragma omp parallel for num_threads(T) schedule(dynamic, 2) collapse(2)
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 10; k++) places[i][k]++;
#pragma omp parallel for num_threads(T) schedule(dynamic)
    for (int i = 5; i < 5; i++) hits[i]++;
    return all_are(hits, N, 3) && all_are(places[0], N, 1);
}

static int sections_apart(ctx_t *ctx, int T)
{
    int part[4] = {0};
#pragma omp parallel num_threads(T)
    {
#pragma omp sections
        {
#pragma omp section
            part[0]++;
#pragma omp section
            part[1]++;
#pragma omp section
            part[2]++;
#pragma omp section
            part[3]++;
        }
    }
    return all_are(part, 4, 1);
}

static int a_region_in_a_region(ctx_t *ctx, int T)
{
    int numbers[TEAM];
#pragma omp parallel num_threads(T)
    {
        const int t = omp_get_thread_num();
        int sum = 0;
#pragma omp parallel num_threads(T)
        sum += 1 + omp_get_thread_num();
#pragma omp barrier
        numbers[t] = sum + (omp_get_num_threads() - T);
    }
    return all_are(numbers, T, 1);
}

static int published(ctx_t *ctx, int T)
{
    int data = 0, ready = 0, seen = 0, counted = 0, total = 0, parts[TEAM];
#pragma omp parallel num_threads(T)
    {
        const int t = omp_get_thread_num();
        if (t == 1) {
            data = 5;
            __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
        } else if (t == 2) {
            while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) continue;
            seen = data;
        }
        parts[t] = 2;
        if (__atomic_add_fetch(&counted, 1, __ATOMIC_ACQ_REL) == T) {
            for (int i = 0; i < T; i++) total += parts[i];
        }
    }
    return seen == 5 && total == 2 * T;
}

static int fences(ctx_t *ctx, int T)
{
    int data = 0, ready = 0, seen = 0;
#pragma omp parallel num_threads(T)
    if (omp_get_thread_num() == 1) {
        data = 5;
        __atomic_thread_fence(__ATOMIC_RELEASE);
        __atomic_store_n(&ready, 1, __ATOMIC_RELAXED);
    } else if (omp_get_thread_num() == 2) {
        while (!__atomic_load_n(&ready, __ATOMIC_RELAXED)) continue;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        seen = data;
    }
    return seen == 5;
}

static int scratch_one_by_one(ctx_t *ctx, int T)
{
    int *room[TEAM];
#pragma omp parallel num_threads(T)
    {
        int *mine;
#pragma omp critical(scratch)
        mine = ctx_scratch(ctx, 64);
        if (mine) mine[0] = omp_get_thread_num();
        room[omp_get_thread_num()] = mine;
    }
    return room[T - 1] && room[T - 1][0] == T - 1;
}

static int as_many_threads_as_usual(ctx_t *ctx, int T)
{
    int numbers[TEAM] = {0};
#pragma omp parallel
    numbers[omp_get_thread_num()] = 1;
    return all_are(numbers, T, 1) && omp_get_max_threads() == T && !omp_in_parallel();
}

static int sections_behind_a_loop(ctx_t *ctx, int T)
{
    int part[4] = {1, 1, 1, 1}, sums[TEAM];
#pragma omp parallel num_threads(T)
    {
#pragma omp for
        for (int i = 0; i < 4; i++) part[i]++;
#pragma omp sections
        {
#pragma omp section
            part[0]++;
#pragma omp section
            part[1]++;
#pragma omp section
            part[2]++;
#pragma omp section
            part[3]++;
        }
        sums[omp_get_thread_num()] = part[0] + part[1] + part[2] + part[3];
    }
    return all_are(sums, T, 12);
}

static int one_thread_hands_out(ctx_t *ctx, int T)
{
    int room = 0, row[TEAM], seen[TEAM];
#pragma omp parallel num_threads(T)
    {
        const int t = omp_get_thread_num();
        int *mine = NULL;
#pragma omp single copyprivate(mine)
        {
            room = 7;
            mine = &room;
        }
        row[t] = *mine;
#pragma omp barrier
        seen[t] = row[(t + 1) % T];
    }
    return all_are(seen, T, 7);
}

/* The first thread comes to a barrier with the lock, and gives it back behind it. */
static int counted_behind_a_barrier(int T, int (*take)(omp_lock_t *lock))
{
    omp_lock_t lock;
    int sum = 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(T)
    {
        const int first = omp_get_thread_num() == 0;
        if (first) omp_set_lock(&lock);
#pragma omp barrier
        while (!first && !take(&lock)) continue;
        sum++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    return sum == T;
}

static int set_lock(omp_lock_t *lock)
{
    omp_set_lock(lock);
    return 1;
}

static int a_lock_over_a_barrier(ctx_t *ctx, int T)
{
    return counted_behind_a_barrier(T, set_lock);
}

static int a_lock_tried_behind_a_barrier(ctx_t *ctx, int T)
{
    return counted_behind_a_barrier(T, omp_test_lock);
}

static int a_lock_of_an_inner_region(ctx_t *ctx, int T)
{
    omp_lock_t lock;
    int sum = 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(T)
    {
        const int first = omp_get_thread_num() == 0;
        if (first) omp_set_lock(&lock);
#pragma omp barrier
#pragma omp parallel num_threads(2)
        {
            if (!first) omp_set_lock(&lock);
            sum++;
            omp_unset_lock(&lock);
        }
    }
    omp_destroy_lock(&lock);
    return sum == T;
}

static int a_lock_tried_alone(ctx_t *ctx, int T)
{
    omp_lock_t lock;
    int got[TEAM], again = 1;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(T)
    got[omp_get_thread_num()] = 1;
    omp_set_lock(&lock);
#pragma omp parallel num_threads(1)
    again = omp_test_lock(&lock);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    return all_are(got, T, 1) && !again;
}

/* ---- and what cannot be looked at ------------------------------------------------ */

static int gives_up(ctx_t *ctx, int T)
{
    return 0;
}

static int wait_for_each_other(ctx_t *ctx, int T)
{
#pragma omp parallel num_threads(T)
    {
        GOMP_critical_start();  // a barrier within `omp critical` does not compile
        GOMP_barrier();
        GOMP_critical_end();
    }
    return 1;
}

static int keeps_its_lock(ctx_t *ctx, int T)
{
    omp_lock_t lock;
    int arrived = 0;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(T)
    {
        int before;
#pragma omp atomic capture
        before = arrived++;
        if (before < 2) omp_set_lock(&lock);
#pragma omp barrier
        if (before < 2) omp_unset_lock(&lock);
    }
    return 1;
}

static way_fn *const WAYS[] = {
    shared_accumulator,
    forgotten_private,
    nowait_before_a_read,
    filters_of_all_threads,
    the_same_value,
    master_without_barrier,
    plain_beside_atomic,
    plain_behind_atomic,
    two_locks_for_one_variable,
    before_the_critical_section,
    one_byte_of_a_word,
    everybody_clears,
    copies_into_one_row,
    moves_into_one_row,
    copied_while_written,
    moved_while_written,
    static_buffer,
    in_a_dynamic_loop,
    in_sections,
    waits_for_a_plain_flag,
    store_that_releases_nothing,
    load_that_acquires_nothing,
    read_by_the_second,
    scratch_of_two_threads,
    a_reduction,
    neighbours,
    all_read_the_same,
    critical_sections,
    atomic_operations,
    locks,
    a_barrier_between,
    end_of_a_loop,
    a_smaller_region_behind,
    single_and_master,
    first_and_last_private,
    a_buffer_of_each_thread,
    stacks_used_again,
    freed_and_given_again,
    rows_copied,
    every_kind_of_loop,
    sections_apart,
    a_region_in_a_region,
    published,
    fences,
    scratch_one_by_one,
    as_many_threads_as_usual,
    sections_behind_a_loop,
    one_thread_hands_out,
    a_lock_over_a_barrier,
    a_lock_tried_behind_a_barrier,
    a_lock_of_an_inner_region,
    a_lock_tried_alone,
    gives_up,
    wait_for_each_other,
    keeps_its_lock,
};

status_t gelu_forward(ctx_t *ctx, const tensor_t *input, gelu_params_t p,
                      tensor_t *output)
{
    const int64_t COUNT = tensor_numel(input);
    for (int64_t i = 0; i < COUNT; i++) real_data(output)[i] = 0;
    return WAYS[COUNT - 1](ctx, ctx->threads) ? STATUS_OK : STATUS_NO_MEMORY;
}
