// SPDX-License-Identifier: MIT
/* What NVIDIA's driver does and cusim does not: after the first context it opens its
 * device again, and reads what the system says of itself. Linked before cusim.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cuda_runtime.h>

static bool opens(const char *path, int how)
{
    const int file = open(path, how | O_CLOEXEC);
    if (file < 0) perror(path);
    return file >= 0 && close(file) == 0;
}

cudaError_t cudaDeviceSynchronize()
{
    static const auto next =
        (cudaError_t(*)())dlsym(RTLD_NEXT, "_Z21cudaDeviceSynchronizev");
    static const char *const read[] = {"/proc/devices", "/proc/meminfo",
                                       "/proc/sys/vm/mmap_min_addr", "/proc/self/maps"};
    if (!opens("/dev/dxg", O_RDWR)) return cudaErrorUnknown;
    for (const char *path : read) {
        if (!opens(path, O_RDONLY)) return cudaErrorUnknown;
    }
    return next();
}
