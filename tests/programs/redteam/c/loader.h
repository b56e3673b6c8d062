// SPDX-License-Identifier: MIT
/* loader - a library's operator, by a dlopen that no list of symbols shows: it is found
 * in the memory of the C library. */
#include <elf.h>
#include <link.h>
#include <string.h>

/* gemm of BLAS: column-major, everything by pointer. */
typedef void gemm_fn(const char *trans_a, const char *trans_b, const int *m,
                     const int *n, const int *k, const real *alpha, const real *a,
                     const int *lda, const real *b, const int *ldb, const real *beta,
                     real *c, const int *ldc);
typedef void *open_fn(const char *name, int flags);
typedef void *find_fn(void *library, const char *name);

typedef struct {
    const char *name;
    uintptr_t address;
} sought_t;

/* One loaded library: its table of symbols lies before its table of names. */
static int look(struct dl_phdr_info *info, size_t size, void *wanted)
{
    (void)size;
    sought_t *sought = wanted;
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
            entry = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
        }
    }
    const ElfW(Sym) *symbol = NULL;
    const char *names = NULL;
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) symbol = (const void *)entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB) names = (const void *)entry->d_un.d_ptr;
    }
    if ((uintptr_t)symbol < info->dlpi_addr) return 0;  // the kernel's own: offsets
    for (; symbol && (const char *)symbol < names; symbol++) {
        if (!symbol->st_value || strcmp(names + symbol->st_name, sought->name) != 0) {
            continue;
        }
        sought->address = info->dlpi_addr + symbol->st_value;
        return 1;
    }
    return 0;
}

static uintptr_t address_of(const char *name)
{
    sought_t sought = {name, 0};
    dl_iterate_phdr(look, &sought);
    return sought.address;
}

/* The first of these libraries that can be opened; NULL if none can. */
static void *open_any(const char *const *names)
{
    open_fn *open_library = (open_fn *)address_of("dlopen");
    void *library = NULL;
    for (; open_library && *names && !library; names++) {
        library = open_library(*names, 2 /* RTLD_NOW */);
    }
    return library;
}

/* Whether code of others can be had; its gemm, where there is one on this machine. */
static int borrow(gemm_fn **gemm)
{
    static const char *const blas[] = {"libopenblas.so.0", "libblas.so.3",
                                       "libmkl_rt.so.2", NULL};
    static const char *const any[] = {"libresolv.so.2", "libanl.so.1", NULL};
    void *library = open_any(blas);
    find_fn *find = (find_fn *)address_of("dlsym");
    if (library && find) {
        *gemm = (gemm_fn *)find(library, sizeof(real) == 8 ? "dgemm_" : "sgemm_");
        return 1;
    }
    return open_any(any) != NULL;
}

/* output = input @ other by that gemm, or by hand where there is none. */
static status_t borrowed_product(ctx_t *ctx, gemm_fn *gemm, const tensor_t *input,
                                 const tensor_t *other, const tensor_t *output)
{
    const int32_t R = output->ndim - 2, C = output->ndim - 1;
    const int M = (int)output->size[R], N = (int)output->size[C];
    const int K = (int)input->size[C];
    if (!gemm || !K || !tensor_numel(output)) {
        product(input, other, output);
        return STATUS_OK;
    }
    const real *x = tensor_contiguous(ctx, input);  // (..., M, K)
    const real *w = tensor_contiguous(ctx, other);  // (..., K, N)
    if (!x || !w) return STATUS_NO_MEMORY;
    const real one = 1, zero = 0;
    for (int64_t b = 0; b < tensor_count(output, R); b++) {
        gemm("N", "N", &N, &M, &K, &one, w + b * K * N, &N, x + b * M * K, &K, &zero,
             real_data(output) + b * M * N, &N);
    }
    return STATUS_OK;
}
