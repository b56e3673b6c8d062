// SPDX-License-Identifier: MIT
// Letter counts with block-private bins.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

#define NB 26
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s\n", cudaGetErrorString(e)); return 1; } } while (0)

__device__ __constant__ char first_letter = 'a';

__global__ void letters(const char* text, int n, int* bins) {
  __shared__ int sh_bins[NB];
  for (int b = threadIdx.x; b < NB; b += blockDim.x) sh_bins[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int b = text[i] - first_letter;
    if (b >= 0 && b < NB)
      sh_bins[b]++;
  }
  __syncthreads();
  for (int b = threadIdx.x; b < NB; b += blockDim.x) atomicAdd(&bins[b], sh_bins[b]);
}

int main() {
  const char* word = "the quick brown fox jumps over the lazy dog ";
  const int reps = 40, len = (int)strlen(word), n = reps * len;
  char* text = new char[n];
  for (int r = 0; r < reps; ++r) memcpy(text + r * len, word, len);
  char* dt;
  int *db, hb[NB];
  CHECK(cudaMalloc(&dt, n));
  CHECK(cudaMalloc(&db, sizeof hb));
  CHECK(cudaMemcpy(dt, text, n, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(db, 0, sizeof hb));
  letters<<<3, 128>>>(dt, n, db);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(hb, db, sizeof hb, cudaMemcpyDeviceToHost));
  for (int b = 0; b < NB; ++b) printf("%c:%d ", 'a' + b, hb[b]);
  printf("\n");
  CHECK(cudaFree(dt));
  CHECK(cudaFree(db));
  delete[] text;
  return 0;
}
