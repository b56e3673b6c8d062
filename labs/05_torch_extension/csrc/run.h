// SPDX-License-Identifier: MIT
/* run.h - checks the arguments of a call and calls its kernel
 *
 * A large call on the CPU may be divided among threads: parts.h says how.
 */
#pragma once

#include <string.h>

#include <mutex>
#include <type_traits>
#include <vector>

#include "calls.h"
#include "parts.h"

/* ---- parts of a call ------------------------------------------------------------- */

/* Calls `visit` for each tensor among the arguments, with its number. */
template <typename Views, typename Visit> void each_tensor(Views &views, Visit visit)
{
    size_t number = 0;
    const auto one = [&](auto &view) {
        if constexpr (std::is_same_v<std::decay_t<decltype(view)>, view_t>)
            visit(view, number++);
    };
    std::apply([&](auto &...view) { (one(view), ...); }, views);
}

/* Calls the kernel once for each part of a round, in PyTorch's threads. Each part has a
 * context of its own, with one thread. */
template <typename Function, typename Views>
void run_parts(const Tensor &where, Call &call, Function *kernel, const Views &views,
               const cut_t &cut, int64_t grain)
{
    std::mutex lock;
    status_t status = STATUS_OK;
    parallel(cut.COUNT, grain, [&](int64_t begin, int64_t end) {
        Call part(where);
        part.ctx.threads = 1;
        Views own = views;
        each_tensor(own, [&](view_t &view, size_t number) {
            const int32_t axis = cut.axis[number];
            if (axis == ABSENT) view.present = false;
            if (axis >= 0 && view.present)
                narrow(&view.view, axis, begin, end, cut.COUNT);
        });
        const status_t found =
            std::apply([&](auto &...view) { return kernel(&part.ctx, view...); }, own);
        if (found == STATUS_OK) return;
        const std::lock_guard<std::mutex> alone(lock);
        status = found;
        memcpy(call.ctx.error, part.ctx.error, sizeof call.ctx.error);
    });
    call.must(status);
}

/* Divides a large call on the CPU among threads, if parts.h knows how. Returns whether
 * it did. */
template <typename Function, typename Views>
bool ran_in_parts(const Tensor &where, Call &call, Function *kernel, Views &views)
{
    if (call.ctx.device != DEVICE_CPU || call.ctx.threads <= 1) return false;
    tensors_t tensors = {};
    each_tensor(views, [&](view_t &view, size_t number) { tensors[number] = view; });
    if (largest_of(tensors) < 2 * GRAIN) return false;
    const std::vector<cut_t> rounds = cuts_of<Function>(tensors);
    for (const cut_t &cut : rounds)
        run_parts(where, call, kernel, views, cut, grain_of(cut, tensors));
    return !rounds.empty();
}

/* Checks the arguments, then calls the kernel for the device and dtype of `where`. */
template <typename Check, typename Function, typename... Arguments>
void run(const Tensor &where, Check check, const kernels_t<Function> &kernels,
         const Arguments &...arguments)
{
    must_be_there(where);
    Call call(where);
    std::tuple<decltype(argument(arguments))...> views(argument(arguments)...);
    std::apply([&](auto &...view) { call.must(check(&call.ctx, view...)); }, views);
    Function *kernel = kernels.of(call.ctx.device, dtype_of(where));
    if (ran_in_parts(where, call, kernel, views)) return;
    std::apply([&](auto &...view) { call.must(kernel(&call.ctx, view...)); }, views);
}
