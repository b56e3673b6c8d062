// SPDX-License-Identifier: MIT
/* _binding - the way from a PyTorch tensor to an operator in C and back
 *
 * A tensor says where its numbers lie, with which sizes and strides. With these a
 * tensor_t is filled, and nothing is copied. The
 * operator is then called through the table of calls.h, after <op>_check and without
 * Python's lock. What came of it goes back as numbers and a sentence; _operator.py
 * makes exceptions of them.
 */
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

extern "C" {
#include "calls.h"
}

namespace py = pybind11;

/* ---- tensors --------------------------------------------------------------------- */

static dtype_t dtype_of(const std::string &name)
{
    static const std::map<std::string, dtype_t> known = {
        {"torch.float16", DTYPE_F16}, {"torch.bfloat16", DTYPE_BF16},
        {"torch.float32", DTYPE_F32}, {"torch.float64", DTYPE_F64},
        {"torch.int32", DTYPE_I32},   {"torch.int64", DTYPE_I64},
    };
    const auto found = known.find(name);
    if (found != known.end()) return found->second;
    throw std::invalid_argument("a tensor of a dtype that tensor.h does not know");
}

static device_t device_of(const std::string &type)
{
    if (type == "cpu") return DEVICE_CPU;
    if (type == "cuda") return DEVICE_CUDA;
    throw std::invalid_argument("a tensor on a device that tensor.h does not know");
}

/* A tensor_t over PyTorch's own memory, which lives as long as `owner`. */
struct View {
    py::object owner;
    tensor_t tensor = {};

    explicit View(const py::object &given) : owner(given)
    {
        const auto size = given.attr("shape").cast<std::vector<int64_t>>();
        const auto stride = given.attr("stride")().cast<std::vector<int64_t>>();
        if (size.size() > TENSOR_MAX_DIMS) {
            throw std::invalid_argument("a tensor of more than 6 axes");
        }
        const auto address = given.attr("data_ptr")().cast<uintptr_t>();
        tensor.data = reinterpret_cast<void *>(address);
        tensor.ndim = static_cast<int32_t>(size.size());
        tensor.dtype = dtype_of(py::str(given.attr("dtype")));
        tensor.device = device_of(py::str(given.attr("device").attr("type")));
        std::copy(size.begin(), size.end(), tensor.size);
        std::copy(stride.begin(), stride.end(), tensor.stride);
    }

    std::vector<int64_t> size() const
    {
        return {tensor.size, tensor.size + tensor.ndim};
    }
    std::vector<int64_t> stride() const
    {
        return {tensor.stride, tensor.stride + tensor.ndim};
    }
};

/* The tensors of one side of a call, by position; None is NULL. */
struct Side {
    std::vector<std::unique_ptr<View>> views;
    std::vector<tensor_t *> pointer;

    explicit Side(const std::vector<py::object> &given)
    {
        for (const py::object &one : given) {
            views.push_back(one.is_none() ? nullptr : std::make_unique<View>(one));
            pointer.push_back(views.back() ? &views.back()->tensor : nullptr);
        }
    }
};

/* ---- calls ----------------------------------------------------------------------- */

/* Scratch memory for one call: blocks from malloc, all freed at its end. */
struct Scratch {
    std::vector<void *> blocks;

    ~Scratch()
    {
        for (void *block : blocks) std::free(block);
    }

    static void *take(ctx_t *ctx, size_t bytes)
    {
        if (bytes > SIZE_MAX - 64) return nullptr;
        void *block =
            std::aligned_alloc(64, std::max<size_t>(64, (bytes + 63) & ~size_t{63}));
        if (block) static_cast<Scratch *>(ctx->scratch_state)->blocks.push_back(block);
        return block;
    }
};

/* The address of a function in a shared object; 0 if the object does not define it. The
 * object stays loaded: a graph may run its backward at any later time. */
static uintptr_t find(const std::string &path, const std::string &symbol)
{
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<uintptr_t>(dlsym(library, symbol.c_str()));
}

/* on_device of _device.cpp: runs a call with its tensors in device memory. */
typedef status_t (*device_fn)(call_fn run, void *function, ctx_t *ctx,
                              tensor_t *const in[], int ins, tensor_t *const out[],
                              int outs, const void *options);

/* Checks the arguments and, if they are right, runs the function at that address, by
 * way of `device` if there is one. Tensors and options as in calls.h. The answer: the
 * status, whether it was the check that gave it, and its sentence. */
static py::tuple call(int op, bool backward, uintptr_t function,
                      const std::vector<py::object> &inputs,
                      const std::vector<py::object> &outputs,
                      const std::string &options, int threads, uintptr_t device)
{
    int64_t fields[16] = {};  // aligned; the largest options struct has eight
    std::memcpy(fields, options.data(), std::min(options.size(), sizeof fields));
    const Side in(inputs), out(outputs);
    const operator_calls_t &calls = OPERATOR_CALLS[op];
    const call_fn check = backward ? calls.backward_check : calls.forward_check;
    const call_fn run = backward ? calls.backward : calls.forward;

    Scratch scratch;
    ctx_t ctx = {};
    ctx.threads = threads;
    ctx.scratch = Scratch::take;
    ctx.scratch_state = &scratch;
    status_t checked, status;
    {
        const py::gil_scoped_release others_may_run;
        checked = check(nullptr, &ctx, in.pointer.data(), out.pointer.data(), fields);
        status = checked;
        if (checked == STATUS_OK) {
            void *code = reinterpret_cast<void *>(function);
            tensor_t *const *const from = in.pointer.data();
            tensor_t *const *const to = out.pointer.data();
            const auto on_device = reinterpret_cast<device_fn>(device);
            status = device ? on_device(run, code, &ctx, from, (int)in.pointer.size(),
                                        to, (int)out.pointer.size(), fields)
                            : run(code, &ctx, from, to, fields);
        }
    }
    ctx.error[CTX_ERROR_BYTES - 1] = '\0';
    return py::make_tuple(static_cast<int>(status), checked != STATUS_OK,
                          py::str(ctx.error));
}

PYBIND11_MODULE(_binding, m)
{
    m.doc() = "operators in C for PyTorch tensors, without a copy";
    py::class_<View>(m, "View")
        .def(py::init<const py::object &>())
        .def_property_readonly(
            "address", [](const View &v) { return (uintptr_t)&v.tensor; },
            "where the tensor_t itself lies, for ctypes")
        .def_property_readonly("data",
                               [](const View &v) { return (uintptr_t)v.tensor.data; })
        .def_property_readonly("dtype",
                               [](const View &v) { return (int)v.tensor.dtype; })
        .def_property_readonly("size", &View::size)
        .def_property_readonly("stride", &View::stride);
    m.def("find", &find);
    m.def("call", &call);
    m.def("extent", &conv2d_extent, "how many windows fit along one axis");
    m.attr("OPERATORS") = static_cast<int>(OPERATORS);
}
