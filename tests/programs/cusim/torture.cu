// SPDX-License-Identifier: MIT
/* torture - every way to write a launch or a shared declaration that we know
 *
 * Real .cu files mix CUDA with all of C++. Each CHECK is one construct; the file
 * compiles with nvcc unchanged, runs on cusim, and prints how many constructs gave the
 * value that the language promises.
 */
// clang-format off: it takes `<<<a >> 1` apart, and layout is a part of this test
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

static int checks = 0;
static int *out;  // what kernels write to, visible on both sides

#define CHECK(condition)                                                               \
    do {                                                                               \
        cudaError_t error = cudaGetLastError();                                        \
        if (error == cudaSuccess) error = cudaDeviceSynchronize();                     \
        if (error != cudaSuccess || !(condition)) {                                    \
            printf("line %d: %s (%s)\n", __LINE__, #condition,                         \
                   cudaGetErrorString(error));                                         \
            exit(1);                                                                   \
        }                                                                              \
        checks++;                                                                      \
    } while (0)

/* ---- names of kernels ------------------------------------------------------------ */

__global__ void set(int *p, int value)
{
    p[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
__global__ void nothing()
{
}
__global__ void set_wide(int64_t *p, int64_t value)
{
    *p = value;
}
__global__ void later(int *p, int value = 7);
extern "C" __global__ void plain_name(int *p)
{
    *p = 11;
}
extern "C" {
__global__ void also_plain(int *p)
{
    *p = 12;
}
}
void __global__ turned_round(int *p)
{
    *p = 13;
}
static __global__ void __launch_bounds__(256, 2) bounded(int *__restrict__ p)
{
    if (threadIdx.x == 0) p[0] = blockDim.x;
}
template <int N> __global__ __launch_bounds__(N) void bounded_by(int *p)
{
    if (threadIdx.x == 0) p[0] = N;
}

namespace outer
{
namespace
{
__global__ void hidden(int *p)
{
    *p = 14;
}
}  // namespace
inline namespace v1
{
template <class T, int N> __global__ void filled(T *p)
{
    p[threadIdx.x] = N;
}
}  // namespace v1
__global__ void set(int *p, int value)  // as the one outside
{
    *p = value + 100;
}
void from_inside(int *p)
{
    set<<<1, 1>>>(p, 1);
}
}  // namespace outer

struct Holder {
    using Value = int;
    int member = 3;
    static void inside(int *p)
    {
        set<<<1, 1>>>(p, 15);
    }
    void go(int *p) const
    {
        set<<<1, 1>>>(p, member);
        this->inside(p + 1);
    }
};

class Secret
{
    int value = 21;
    friend __global__ void reveal(int *p, Secret secret);
};
__global__ void reveal(int *p, Secret secret)
{
    *p = secret.value;
}

__global__ void overloaded(int *p)
{
    *p = 1;
}
__global__ void overloaded(int *p, float)
{
    *p = 2;
}
__global__ void overloaded(int *p, int, int *q)
{
    *p = q ? 4 : 3;
}

template <class T> struct Box {
    T value;
};
template <class A, class B = int> struct Pair {
    A a;
    B b;
};
template <class T> __global__ void size_of(int *p)
{
    *p = sizeof(T);
}
template <class T> __global__ void deduced(int *p, T value)
{
    *p = (int)value;
}
template <class T> __global__ void deduced(int *p, T *value, int extra)
{
    *p = *value + extra;
}
template <> __global__ void deduced<char>(int *p, char value)
{
    *p = -value;
}
template __global__ void deduced<short>(int *, short);
template <int A, int B> __global__ void shifted(int *p)
{
    if (threadIdx.x == 0) *p = A + B;
}
template <class... T> __global__ void many(int *p, T... values)
{
    *p = (0 + ... + values);
}
template <class F> __global__ void apply(int *p, F f)
{
    f(p);
}
template <bool B> __global__ void branch(int *p)
{
    if constexpr (B) {
        *p = 31;
    } else {
        *p = 30;
    }
}
template <class T> __global__ void with_default(int *p, T value, int more = 5)
{
    *p = value + more;
}
template <typename T = int, int N = 4> __global__ void all_default(int *p)
{
    *p = sizeof(T) * N;
}

struct Values {
    int a, b;
    float c[3];
};
__global__ void by_value(int *p, const Values values, int2 pair)
{
    *p = values.a + values.b + (int)values.c[2] + pair.x + pair.y;
}
__global__ void shape(int *p)
{
    const int3 at = {(int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z};
    const unsigned thread = threadIdx.x + threadIdx.y + threadIdx.z;
    if (at.x || at.y || at.z || thread) return;
    p[0] = gridDim.x, p[1] = gridDim.y, p[2] = gridDim.z;
    p[3] = blockDim.x, p[4] = blockDim.y, p[5] = blockDim.z;
}
__global__ void is_null(int *p, const float *a, const float *b, const float *c)
{
    *p = !a && !b && !c;
}
template <class T> __global__ void is_null_any(int *p, T value, const float *a)
{
    *p = !a && value;
}
struct Add {
    int n;
    __device__ void operator()(int *p) const
    {
        *p += n;
    }
};

using Pointer = void (*)(int *, int);
Pointer choose(bool first);
__global__ void set_twice(int *p, int value)
{
    *p = 2 * value;
}
Pointer choose(bool first)
{
    return first ? set : set_twice;
}
__global__ void later(int *p, int value)
{
    *p = value;
}

template <class T> void launch_of(int *p)
{
    size_of<T><<<1, 1>>>(p);
    outer::filled<T, sizeof(T)><<<1, 2>>>((T *)p + 8);
}
template <class H> void launch_dependent(int *p)
{
    outer::template filled<typename H::Value, 17><<<1, 1>>>(p);
}
template <Pointer K> void launch_parameter(int *p)
{
    K<<<1, 1>>>(p, 18);
}
template <class K, class... A> void launch_generic(K kernel, dim3 grid, A... arguments)
{
    kernel<<<grid, 1>>>(arguments...);
}
template <class T> void launch_deduced(int *p, T value)
{
    deduced<<<1, 1>>>(p, value);
}

#define LAUNCH(kernel, n, ...) kernel<<<(n), 1>>>(__VA_ARGS__)
#define LAUNCH_ANY(kernel, grid, block, shared)                                        \
    do {                                                                               \
        if ((grid) > 0) kernel<<<grid, block, shared>>>(out);                          \
    } while (0)
#define CONFIG      <<<1, 1>>>
#define ANGLE_OPEN  <<<
#define ANGLE_CLOSE >>>

static void names()
{
    set<<<1, 1>>>(out, 1);
    CHECK(out[0] == 1);
    nothing<<<1, 32>>>();
    CHECK(true);
    ::set<<<1, 1>>>(out, 2);
    CHECK(out[0] == 2);
    set<<<1, 1>>>(out, 3);
    CHECK(out[0] == 3);
    set<<<1, 1>>>(out, 4);
    CHECK(out[0] == 4);
    later<<<1, 1>>>(out);
    CHECK(out[0] == 7);
    later<<<1, 1>>>(out, 8);
    CHECK(out[0] == 8);
    plain_name<<<1, 1>>>(out), also_plain<<<1, 1>>>(out + 1);
    CHECK(out[0] == 11 && out[1] == 12);
    turned_round<<<1, 1>>>(out);
    CHECK(out[0] == 13);
    bounded<<<1, 64>>>(out);
    CHECK(out[0] == 64);
    bounded_by<128><<<1, 128>>>(out);
    CHECK(out[0] == 128);
    outer::hidden<<<1, 1>>>(out);
    CHECK(out[0] == 14);
    outer::filled<int, 4><<<1, 4>>>(out);
    CHECK(out[3] == 4);
    ::outer::v1::filled<short, 2 + 3><<<1, 1>>>((short *)out);
    CHECK(*(short *)out == 5);
    outer::set<<<1, 1>>>(out, 1);
    CHECK(out[0] == 101);
    outer::from_inside(out);
    CHECK(out[0] == 101);
    Holder().go(out);
    CHECK(out[0] == 3 && out[1] == 15);
    reveal<<<1, 1>>>(out, Secret());
    CHECK(out[0] == 21);
}

/* ---- templates and overloads ----------------------------------------------------- */

static void templates()
{
    overloaded<<<1, 1>>>(out);
    CHECK(out[0] == 1);
    overloaded<<<1, 1>>>(out, 1.5f);
    CHECK(out[0] == 2);
    overloaded<<<1, 1>>>(out, 1, nullptr);
    CHECK(out[0] == 3);
    overloaded<<<1, 1>>>(out, 1, out);
    CHECK(out[0] == 4);
    size_of<Box<Box<int>>><<<1, 1>>>(out);
    CHECK(out[0] == 4);
    size_of<Pair<Box<Pair<char>>, Box<Box<double>>>><<<dim3(1), dim3(1)>>>(out);
    CHECK(out[0] == 16);
    shifted<1 << 4, (256 >> 2)><<<1, 1>>>(out);
    CHECK(out[0] == 80);
    shifted<(3 > 2), sizeof(Box<Box<int>>)><<<1, 1>>>(out);
    CHECK(out[0] == 5);
    deduced<<<1, 1>>>(out, 2.5);
    CHECK(out[0] == 2);
    deduced<float><<<1, 1>>>(out, 3);
    CHECK(out[0] == 3);
    deduced<<<1, 1>>>(out, 'a');
    CHECK(out[0] == -'a');
    deduced<<<1, 1>>>(out, out, 10);
    CHECK(out[0] == 10 - 'a');
    many<<<1, 1>>>(out, 1, 2L, (short)3);
    CHECK(out[0] == 6);
    many<int, int><<<1, 1>>>(out, 1, 2);
    CHECK(out[0] == 3);
    branch<true><<<1, 1>>>(out);
    CHECK(out[0] == 31);
    branch<(1 > 2)><<<1, 1>>>(out);
    CHECK(out[0] == 30);
    with_default<int><<<1, 1>>>(out, 1);
    CHECK(out[0] == 6);
    with_default<<<1, 1>>>(out, 1, 2);
    CHECK(out[0] == 3);
    all_default<><<<1, 1>>>(out);
    CHECK(out[0] == 16);
    all_default<char><<<1, 1>>>(out);
    CHECK(out[0] == 4);
    *out = 0;
    apply<<<1, 1>>>(out, Add{5});
    apply<Add><<<1, 1>>>(out, {6});
    CHECK(out[0] == 11);
    launch_of<Pair<char, char>>(out);
    CHECK(out[0] == 2);
}

/* ---- callees that are expressions ------------------------------------------------ */

template <> __global__ void outer::filled<Pair<char, char>, 2>(Pair<char, char> *)
{
}

struct Table {
    Pointer row[2];
    Pointer at(int i) const
    {
        return row[i];
    }
};

static void callees()
{
    launch_dependent<Holder>(out);
    CHECK(out[0] == 17);
    launch_parameter<set>(out);
    CHECK(out[0] == 18);
    launch_generic(set_twice, 1, out, 4);
    CHECK(out[0] == 8);
    launch_deduced(out, 19.5f);
    CHECK(out[0] == 19);
    Pointer pointer = set;
    pointer<<<1, 1>>>(out, 20);
    CHECK(out[0] == 20);
    (*pointer)<<<1, 1>>>(out, 21);
    CHECK(out[0] == 21);
    auto copy = &set_twice;
    copy<<<1, 1>>>(out, 11);
    CHECK(out[0] == 22);
    void (*const array[])(int *, int) = {set, set_twice};
    for (int i = 0; i < 2; i++) array[i]<<<1, 1>>>(out + i, 5);
    CHECK(out[0] == 5 && out[1] == 10);
    choose(false)<<<1, 1>>>(out, 6);
    CHECK(out[0] == 12);
    (checks > 0 ? set : set_twice)<<<1, 1>>>(out, 9);
    CHECK(out[0] == 9);
    if (checks > 0) (checks > 0 ? set_twice : set)<<<1, 1>>>(out, 9);
    CHECK(out[0] == 18);
    const Table table = {{set, set_twice}}, *const at = &table;
    table.row[1]<<<1, 1>>>(out, 4);
    CHECK(out[0] == 8);
    at->at(1)<<<1, 1>>>(out, 5);
    CHECK(out[0] == 10);
    reinterpret_cast<void (*)(int *, int)>((void *)set)<<<1, 1>>>(out, 6);
    CHECK(out[0] == 6);
    static_cast<Pointer>(set)<<<1, 1>>>(out, 7), (void)0;
    CHECK(out[0] == 7);
}

/* ---- where launches stand -------------------------------------------------------- */

static void places()
{
    if (checks > 0)
        set<<<1, 1>>>(out, 1);
    else
        set<<<1, 1>>>(out, 2);
    CHECK(out[0] == 1);
    for (int i = 0; i < 4; i++) set<<<1, 1>>>(out + i, i << 1);
    CHECK(out[3] == 6);
    int i = 0;
    while (i < 3) set<<<1, 1>>>(out, i), i++;
    CHECK(out[0] == 2);
    do set<<<1, 1>>>(out, 5);
    while (++i < 5);
    CHECK(out[0] == 5);
    switch (i) {
    case 5: set<<<1, 1>>>(out, 6); break;
    default: set<<<1, 1>>>(out, 7);
    }
    CHECK(out[0] == 6);
    auto inside = [](int *p) { set<<<1, 1>>>(p, 8); };
    inside(out);
    CHECK(out[0] == 8);
    const std::function<void(int)> deeper = [&](int n) {
        [=] { deduced<<<1, 1>>>(out, n); }();
    };
    deeper(9);
    CHECK(out[0] == 9);
    [&]() -> void { return set<<<1, 1>>>(out, 10); }();
    CHECK(out[0] == 10);
    LAUNCH(set, 1, out, 11);
    CHECK(out[0] == 11);
    LAUNCH((deduced<int>), 1, out, 12);
    CHECK(out[0] == 12);
    LAUNCH_ANY(bounded, 1, 32, 0);
    CHECK(out[0] == 32);
    LAUNCH_ANY((shifted<1, 2>), 1, 32, sizeof(int) * 4);
    CHECK(out[0] == 3);
    set CONFIG(out, 13);
    CHECK(out[0] == 13);
    set ANGLE_OPEN 1, 1 ANGLE_CLOSE(out, 14);
    CHECK(out[0] == 14);
    /* set<<<1, 1>>>(out, 15); */
    // set<<<1, 1>>>(out, 15);
    const char *const text = "set<<<1, 1>>>(out, 15);", quote = '"';
    const char *const raw = R"(set<<<1, 1>>>(out, ")"
                            R"x(
# 1 "elsewhere.cu" 3
__shared__ int x; )" )x";
    CHECK(out[0] == 14 && text[3] == '<' && quote == '"' && raw[3] == '<');
#line 5000
    CHECK(__LINE__ == 5000);
    set<<<1, 1>>>(out, 1 << 4 >> 2);
    CHECK(out[0] == 4);
    std::vector<std::vector<std::pair<int, int>>> nested(3);
    set<<<nested.size() >> 1, 1>>>(out, nested.size() > 2);
    CHECK(out[0] == 1);
}

/* ---- configurations and arguments ------------------------------------------------ */

template <int N> struct Number {
    enum { value = N };
};
template <class T> constexpr int count_v = sizeof(T);

static void configurations()
{
    shape<<<dim3{1, 2, 3}, dim3(4, 5)>>>(out);
    CHECK(out[0] == 1 && out[1] == 2 && out[2] == 3 && out[3] == 4 && out[4] == 5 &&
          out[5] == 1);
    shape<<<{2, 3}, {1, 1, 2}>>>(out);
    CHECK(out[0] == 2 && out[1] == 3 && out[5] == 2);
    const dim3 grid(3), block = 7;
    shape<<<grid, block, 16>>>(out);
    CHECK(out[0] == 3 && out[3] == 7);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    shape<<<5, 6, 0, stream>>>(out);
    CHECK(out[0] == 5 && out[3] == 6);
    cudaStreamDestroy(stream);
    shape<<<1, 1, 0, 0>>>(out);
    shape<<<1, 1, 0, nullptr>>>(out);
    const int64_t n = 1000;
    shape<<<(n + 255) / 256, 256>>>(out);
    CHECK(out[0] == 4 && out[3] == 256);
    shape<<<n >> 8, 1 << 5, (n > 3) ? 64 : 0>>>(out);
    CHECK(out[0] == 3 && out[3] == 32);
    shape<<<Number<Number<Number<3>::value>::value>::value, count_v<Box<int>>>>>(out);
    CHECK(out[0] == 3 && out[3] == 4);
    shape<<<(int)n / 500, [] { return 3; }()>>>(out);
    CHECK(out[0] == 2 && out[3] == 3);
    set_wide<<<1, 1>>>((int64_t *)out, 42);
    CHECK(*(int64_t *)out == 42);
    is_null<<<1, 1>>>(out, 0, NULL, nullptr);
    CHECK(out[0] == 1);
    is_null_any<<<1, 1>>>(out, 2, 0);
    CHECK(out[0] == 1);
    Values values = {1, 2, {0, 0, 3}};
    by_value<<<1, 1>>>(out, values, make_int2(4, 5));
    CHECK(out[0] == 15);
    by_value<<<1, 1>>>(out, {1, 2, {0, 0, 4}}, {4, 5});
    CHECK(out[0] == 16);
    int i = 0;
    set<<<1, 64>>>(out, i++);  // once, not once a thread
    CHECK(i == 1 && out[63] == 0);
}

/* ---- shared memory --------------------------------------------------------------- */

__constant__ int factors[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ const float table_of_floats[2] = {0.5f, 1.5f};
static __device__ __forceinline__ int twice(int x)
{
    return 2 * x;
}
__host__ __device__ __noinline__ int half_of(int x)
{
    return x / 2;
}

struct Node {
    int key;
    float weight[2];
    __device__ int sum() const
    {
        return key + (int)weight[0];
    }
};
struct Made {  // a constructor that does nothing, as CUDA wants it
    int a[3];
    __host__ __device__ Made()
    {
    }
};
template <class T> struct Types {
    using Store = T[4];
    template <class U> struct Of {
        U u[2];
    };
};

__device__ int reversed(int x)
{
    __shared__ int box[32];
    box[threadIdx.x] = x;
    __syncthreads();
    const int y = box[31 - threadIdx.x];
    __syncthreads();
    return y;
}

__global__ void declarations(int *p)
{
    __shared__ int a[2][4], b, *c, (*d)[4];
    static __shared__ float e[8];
    __shared__ alignas(16) float f[4];
    __align__(16) __shared__ unsigned char g[32];
    volatile __shared__ int h;
    __shared__ volatile int k[4];
    int __shared__ l[2], m;
    __shared__ struct {
        int x, y;
    } n, o;
    __shared__ union Either {
        float real;
        int bits;
    } q;
    __shared__ Node nodes[3];
    __shared__ Made made;
    __shared__ unsigned long long int r;
    __shared__ Types<int>::Store s;
    __shared__ const Types<int>::Of<Pair<char, char>> *t;
    constexpr int SIZE = 6;
    __shared__ decltype(1.0f) u[SIZE >> 1];
    if (threadIdx.x == 0) {
        a[1][3] = 1, b = 2, c = &b, d = a, e[7] = 3, f[3] = 4, g[31] = 5, h = 6,
        k[3] = 7;
        l[1] = 8, m = 9, n.x = 10, o.y = 11, n.y = o.y, q.real = 1.0f;
        nodes[2].key = 12, nodes[2].weight[0] = 13, made.a[2] = 14, r = 1ull << 40;
        s[3] = 15, t = nullptr, u[2] = 16;
    }
    __syncthreads();
    if (threadIdx.x != 1) return;
    int i = 0;
    p[i++] = d[1][3], p[i++] = *c, p[i++] = e[7], p[i++] = f[3], p[i++] = g[31];
    p[i++] = h, p[i++] = k[3], p[i++] = l[1], p[i++] = m, p[i++] = n.x, p[i++] = n.y;
    p[i++] = q.bits == 0x3f800000, p[i++] = nodes[2].sum(), p[i++] = made.a[2];
    p[i++] = r >> 40, p[i++] = s[3], p[i++] = !t, p[i++] = u[2];
    p[i++] = (size_t)f % 16 + (size_t)g % 16, p[i++] = sizeof(a) + sizeof e + sizeof(n);
}

template <class T, int N> __global__ void dependent(T *p)
{
    __shared__ T tile[N][N + 1];
    __shared__ typename Types<T>::Store store;
    __shared__ typename Types<T>::template Of<T> of;
    tile[threadIdx.x][0] = threadIdx.x;
    if (threadIdx.x < 4) store[threadIdx.x] = 1;
    if (threadIdx.x < 2) of.u[threadIdx.x] = 2;
    __syncthreads();
    if (threadIdx.x == 0) *p = tile[N - 1][0] + store[3] + of.u[1] + sizeof(tile);
}

extern __shared__ int dynamic_outside[];
__global__ void dynamic(int *p)
{
    extern __shared__ __align__(16) unsigned char raw[];
    extern __shared__ float2 pairs[];
    extern __shared__ int rows[][4];
    dynamic_outside[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = rows[threadIdx.x / 4][threadIdx.x % 4] + ((int *)raw)[0];
    if (threadIdx.x == 0) p[0] = (void *)raw == pairs && (void *)pairs == rows;
}
template <class T> __global__ void dynamic_any(T *p)
{
    extern __shared__ volatile double first[];
    T *const second = (T *)(first + 2);
    second[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) *p = second[blockDim.x - 1];
}

__global__ void lambdas(int *p)
{
    __shared__ int tile[32], total;
    auto put = [=](int x) { tile[threadIdx.x] = x; };
    auto get = [](int i) { return tile[i]; };
    auto add = [&] { total += tile[total]; };
    auto deep = [p]() { return [] { return tile[31]; }() + p[0] * 0; };
    put(threadIdx.x);
    if (threadIdx.x == 0) total = 3;
    __syncthreads();
    if (threadIdx.x == 0) add();
    __syncthreads();
    if (threadIdx.x == 1) p[0] = get(5), p[1] = total, p[2] = deep();
}

__global__ void scopes(int *p)
{
    for (int i = 0; i < 2; i++) {
        __shared__ int a;
        if (threadIdx.x == 0) a = i;
        __syncthreads();
        if (threadIdx.x == 1) p[i] = a;
        __syncthreads();
    }
    {
        __shared__ int a[2];
        if (threadIdx.x == 0) a[1] = 9;
        __syncthreads();
        if (threadIdx.x == 1) p[2] = a[1];
    }
    if (threadIdx.x == 0) p[3] = __LINE__;
}

__global__ void variables(int *p)
{
    p[0] = factors[3] * counter + (int)table_of_floats[1];
    p[1] = twice(half_of(8));
    counter = 6;
}
__global__ void through_device(int *p)
{
    p[threadIdx.x] = reversed(threadIdx.x);
}
__global__ void fresh(int *p)
{
    __shared__ int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) p[blockIdx.x] = count;
}

static void shared_memory()
{
    const int expected[] = {1,  2, 3,  4,  5, 6,  7, 8,  9, 10,
                            11, 1, 25, 14, 1, 15, 1, 16, 0, 32 + 32 + 8};
    declarations<<<1, 2>>>(out);
    for (int i = 0; i < (int)(sizeof(expected) / sizeof(*expected)); i++) {
        CHECK(out[i] == expected[i]);
    }
    dependent<int, 8><<<1, 8>>>(out);
    CHECK(out[0] == 7 + 1 + 2 + 8 * 9 * 4);
    dependent<float, 4><<<1, 4>>>((float *)out);
    CHECK(*(float *)out == 3 + 1 + 2 + 4 * 5 * 4);
    dynamic<<<1, 16, 16 * sizeof(int)>>>(out);
    CHECK(out[0] == 1 && out[15] == 15);
    dynamic_any<<<1, 4, 64>>>(out);
    CHECK(out[0] == 3);
    dynamic_any<short><<<1, 5, 64>>>((short *)out);
    CHECK(*(short *)out == 4);
    lambdas<<<1, 32>>>(out);
    CHECK(out[0] == 5 && out[1] == 6 && out[2] == 31);
    scopes<<<1, 2>>>(out);
    const int declared = 5000;  // lines count on from #line
    CHECK(out[0] == 0 && out[1] == 1 && out[2] == 9 && out[3] > declared);
    variables<<<1, 1>>>(out);
    CHECK(out[0] == 21 && out[1] == 8);
    int host = 0;
    cudaMemcpyFromSymbol(&host, counter, sizeof(host));
    CHECK(host == 6);
    const int other[] = {5, 6, 7, 8};
    cudaMemcpyToSymbol(factors, other, sizeof(other));
    variables<<<1, 1>>>(out);
    CHECK(out[0] == 8 * 6 + 1);
    through_device<<<1, 32>>>(out);
    CHECK(out[0] == 31 && out[31] == 0);
    fresh<<<3, 64>>>(out);
    CHECK(out[0] == 64 && out[1] == 64 && out[2] == 64);
}

int main()
{
    cudaMallocManaged((void **)&out, 4096);
    names();
    templates();
    callees();
    places();
    configurations();
    shared_memory();
    cudaFree(out);
    printf("ok %d checks\n", checks);
}
