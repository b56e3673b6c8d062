// SPDX-License-Identifier: MIT
// Attention forward, flash style: one block per (query tile, head), K/V tiles in dynamic shared
// memory, running maximum and sum, causal mask as a template flag; a plain kernel to compare.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define cudaCheck(err) do { cudaError_t e_ = (err); if (e_ != cudaSuccess) { printf("[CUDA] %s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); exit(EXIT_FAILURE); } } while (0)
#define CEIL_DIV(a, b) (((a) + (b)-1) / (b))

// Br queries per block, four threads work on one query, each owns D / 4 of the output columns.
template <int Br, int Bc, int D, bool CAUSAL>
__global__ void __launch_bounds__(Br * 4) flash_fwd(const float* __restrict__ Q, const float* __restrict__ K,
                                                    const float* __restrict__ V, float* __restrict__ O,
                                                    float* __restrict__ L, int T, float scale) {
  extern __shared__ float smem[];
  float* sQ = smem;                    // Br x (D + 1)
  float* sK = sQ + Br * (D + 1);       // Bc x (D + 1)
  float* sV = sK + Bc * (D + 1);       // Bc x D
  float* sS = sV + Bc * D;             // Br x (Bc + 1)
  const int head = blockIdx.y, q0 = blockIdx.x * Br, tid = threadIdx.x;
  const int qi = tid / 4, part = tid % 4;
  const size_t base = size_t(head) * T * D;
  for (int i = tid; i < Br * D; i += Br * 4) {
    int r = i / D, c = i % D;
    sQ[r * (D + 1) + c] = q0 + r < T ? Q[base + size_t(q0 + r) * D + c] * scale : 0.f;
  }
  float acc[D / 4], m = -INFINITY, l = 0.f;
#pragma unroll
  for (int d = 0; d < D / 4; ++d) acc[d] = 0.f;
  const int last = CAUSAL ? min(T, q0 + Br) : T;
  for (int k0 = 0; k0 < last; k0 += Bc) {
    __syncthreads();
    for (int i = tid; i < Bc * D; i += Br * 4) {
      int r = i / D, c = i % D;
      bool in = k0 + r < T;
      sK[r * (D + 1) + c] = in ? K[base + size_t(k0 + r) * D + c] : 0.f;
      sV[r * D + c] = in ? V[base + size_t(k0 + r) * D + c] : 0.f;
    }
    __syncthreads();
    float tile_max = -INFINITY;
    for (int j = part; j < Bc; j += 4) {
      float s = 0.f;
#pragma unroll 8
      for (int d = 0; d < D; ++d) s += sQ[qi * (D + 1) + d] * sK[j * (D + 1) + d];
      bool visible = k0 + j < T && (!CAUSAL || k0 + j <= q0 + qi);
      s = visible ? s : -INFINITY;
      sS[qi * (Bc + 1) + j] = s;
      tile_max = fmaxf(tile_max, s);
    }
    tile_max = fmaxf(tile_max, __shfl_xor_sync(0xffffffff, tile_max, 1));
    tile_max = fmaxf(tile_max, __shfl_xor_sync(0xffffffff, tile_max, 2));
    const float m_new = fmaxf(m, tile_max);
    const float m_use = m_new == -INFINITY ? 0.f : m_new;
    const float corr = __expf(m - m_use);
    float row = 0.f;
    for (int j = part; j < Bc; j += 4) {
      float p = __expf(sS[qi * (Bc + 1) + j] - m_use);
      sS[qi * (Bc + 1) + j] = p;
      row += p;
    }
    row += __shfl_xor_sync(0xffffffff, row, 1);
    row += __shfl_xor_sync(0xffffffff, row, 2);
    l = l * corr + row;
    m = m_new;
    __syncwarp();  // the four threads of a query sit in one warp
#pragma unroll
    for (int d = 0; d < D / 4; ++d) acc[d] *= corr;
    for (int j = 0; j < Bc; ++j) {
      const float p = sS[qi * (Bc + 1) + j];
#pragma unroll
      for (int d = 0; d < D / 4; ++d) acc[d] += p * sV[j * D + d * 4 + part];
    }
  }
  if (q0 + qi < T) {
#pragma unroll
    for (int d = 0; d < D / 4; ++d) O[base + size_t(q0 + qi) * D + d * 4 + part] = acc[d] / l;
    if (part == 0) L[head * T + q0 + qi] = m + logf(l);
  }
}

// One warp per query, scores kept in global scratch.
template <bool CAUSAL>
__global__ void attention_plain(const float* Q, const float* K, const float* V, float* S, float* O, int T, int D,
                                float scale) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (warp >= T) return;
  const float* q = Q + (size_t(blockIdx.y) * T + warp) * D;
  float* s = S + (size_t(blockIdx.y) * T + warp) * T;
  const int n = CAUSAL ? warp + 1 : T;
  float m = -INFINITY, sum = 0.f;
  for (int j = lane; j < n; j += 32) {
    const float* k = K + (size_t(blockIdx.y) * T + j) * D;
    float a = 0.f;
    for (int d = 0; d < D; ++d) a += q[d] * k[d];
    s[j] = a * scale;
    m = fmaxf(m, s[j]);
  }
  for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
  for (int j = lane; j < n; j += 32) sum += s[j] = expf(s[j] - m);
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  __syncwarp();
  for (int d = lane; d < D; d += 32) {
    float a = 0.f;
    for (int j = 0; j < n; ++j) a += s[j] * V[(size_t(blockIdx.y) * T + j) * D + d];
    O[(size_t(blockIdx.y) * T + warp) * D + d] = a / sum;
  }
}

static void reference(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                      std::vector<float>& o, int H, int T, int D, float scale, bool causal) {
  std::vector<double> p(T);
  for (int h = 0; h < H; ++h)
    for (int i = 0; i < T; ++i) {
      const int n = causal ? i + 1 : T;
      double m = -1e300, s = 0;
      for (int j = 0; j < n; ++j) {
        double a = 0;
        for (int d = 0; d < D; ++d) a += double(q[(h * T + i) * D + d]) * k[(h * T + j) * D + d];
        p[j] = a * scale;
        m = p[j] > m ? p[j] : m;
      }
      for (int j = 0; j < n; ++j) s += p[j] = std::exp(p[j] - m);
      for (int d = 0; d < D; ++d) {
        double a = 0;
        for (int j = 0; j < n; ++j) a += p[j] * v[(h * T + j) * D + d];
        o[(h * T + i) * D + d] = float(a / s);
      }
    }
}

template <bool CAUSAL>
static int run(int H, int T) {
  constexpr int D = 32, Br = 16, Bc = 16;
  const size_t n = size_t(H) * T * D;
  const float scale = 1.f / std::sqrt(float(D));
  std::vector<float> q(n), k(n), v(n), ref(n), got(n);
  for (size_t i = 0; i < n; ++i) {
    q[i] = std::sin(0.13f * i);
    k[i] = std::cos(0.07f * i);
    v[i] = std::sin(0.05f * i + 1.f);
  }
  reference(q, k, v, ref, H, T, D, scale, CAUSAL);
  float *dq, *dk, *dv, *dout, *dl, *ds;
  cudaCheck(cudaMalloc(&dq, n * sizeof(float)));
  cudaCheck(cudaMalloc(&dk, n * sizeof(float)));
  cudaCheck(cudaMalloc(&dv, n * sizeof(float)));
  cudaCheck(cudaMalloc(&dout, n * sizeof(float)));
  cudaCheck(cudaMalloc(&dl, size_t(H) * T * sizeof(float)));
  cudaCheck(cudaMalloc(&ds, size_t(H) * T * T * sizeof(float)));
  cudaCheck(cudaMemcpy(dq, q.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(dk, k.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(dv, v.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  cudaEvent_t a, b;
  cudaStream_t st;
  cudaCheck(cudaEventCreate(&a));
  cudaCheck(cudaEventCreate(&b));
  cudaCheck(cudaStreamCreate(&st));
  auto diff = [&] {
    cudaCheck(cudaMemcpyAsync(got.data(), dout, n * sizeof(float), cudaMemcpyDeviceToHost, st));
    cudaCheck(cudaStreamSynchronize(st));
    float w = 0.f;
    for (size_t i = 0; i < n; ++i) {
      float d = std::fabs(got[i] - ref[i]);
      if (!(d <= w)) w = d;
    }
    return w;
  };
  const size_t smem = sizeof(float) * (Br * (D + 1) + Bc * (D + 1) + Bc * D + Br * (Bc + 1));
  cudaCheck(cudaEventRecord(a, st));
  flash_fwd<Br, Bc, D, CAUSAL><<<dim3(CEIL_DIV(T, Br), H), Br * 4, smem, st>>>(dq, dk, dv, dout, dl, T, scale);
  cudaCheck(cudaGetLastError());
  cudaCheck(cudaEventRecord(b, st));
  float d1 = diff(), ms;
  cudaCheck(cudaEventElapsedTime(&ms, a, b));
  attention_plain<CAUSAL><<<dim3(CEIL_DIV(T, 4), H), 128, 0, st>>>(dq, dk, dv, ds, dout, T, D, scale);
  cudaCheck(cudaGetLastError());
  float d2 = diff();
  printf("causal %d: flash %.2e plain %.2e\n", int(CAUSAL), d1, d2);
  cudaCheck(cudaStreamDestroy(st));
  cudaCheck(cudaEventDestroy(a));
  cudaCheck(cudaEventDestroy(b));
  cudaCheck(cudaFree(dq));
  cudaCheck(cudaFree(dk));
  cudaCheck(cudaFree(dv));
  cudaCheck(cudaFree(dout));
  cudaCheck(cudaFree(dl));
  cudaCheck(cudaFree(ds));
  return !(d1 < 1e-4f && d2 < 1e-4f);
}

int main() {
  int bad = run<false>(2, 50) + run<true>(3, 45);
  return bad ? 1 : 0;
}
