// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "limits.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <linux/sockios.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static void set_limit(int which, rlim_t value)
{
    const struct rlimit limit = {value, value};
    setrlimit((__rlimit_resource_t)which, &limit);
}

void limits_parent(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    struct pollfd heard = {.fd = STDOUT_FILENO};
    if (poll(&heard, 1, 0) > 0 && heard.revents & POLLERR)
        _exit(3);  // died before that
    setsid();
}

/* Bytes of address space in use, and those of them that may be written. */
static int memory_in_use(int64_t *all, int64_t *data)
{
    long pages[2] = {0, 0};
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm) return -1;
    const int read = fscanf(statm, "%ld %*d %*d %*d %*d %ld", &pages[0], &pages[1]);
    fclose(statm);
    *all = pages[0] * sysconf(_SC_PAGESIZE);
    *data = pages[1] * sysconf(_SC_PAGESIZE);
    return read == 2 ? 0 : -1;
}

int limits_room(int64_t room)
{
    int64_t all, data;
    if (memory_in_use(&all, &data)) return -1;
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_FSIZE, 0);
    if (room > 0) {
        set_limit(RLIMIT_AS, (rlim_t)(all + room));
        set_limit(RLIMIT_DATA, (rlim_t)(data + room));  // sanitizers reserve first
    }
    for (int cap = 0; cap < 64; cap++) prctl(PR_CAPBSET_DROP, cap);
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};
    syscall(SYS_capset, &header, none);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int limits_heap(int64_t room)
{
    int64_t all, data;
    if (memory_in_use(&all, &data)) return -1;
    set_limit(RLIMIT_DATA, (rlim_t)(data + room));
    return 0;
}

/* ---- Landlock (linux/landlock.h of this machine may be older than its kernel) ---- */

enum { LANDLOCK_CREATE = 444, LANDLOCK_ADD = 445, LANDLOCK_RESTRICT = 446 };
enum { FS_EXECUTE = 1, FS_WRITE_FILE = 1 << 1, FS_READ_FILE = 1 << 2 };
enum { FS_READ_DIR = 1 << 3, FS_IOCTL = 1 << 15 };

typedef struct {
    uint64_t filesystem, network, scoped;
} landlock_ruleset_t;

typedef struct __attribute__((packed)) {
    uint64_t access;
    int32_t parent;
} landlock_path_t;

const int64_t LIMITS_ROOM = (int64_t)ROOM_MIB << 20;

const char *const LIMITS_CARD[] = {"/dev/nvidia0",
                                   "/dev/nvidia1",
                                   "/dev/nvidia2",
                                   "/dev/nvidia3",
                                   "/dev/nvidia4",
                                   "/dev/nvidia5",
                                   "/dev/nvidia6",
                                   "/dev/nvidia7",
                                   "/dev/nvidiactl",
                                   "/dev/nvidia-uvm",
                                   "/dev/nvidia-uvm-tools",
                                   "/dev/nvidia-caps",
                                   "/dev/dxg",
                                   "/proc/self/task",  // threads write names there
                                   NULL};
// what its library reads before it opens them
static const char *const READ[] = {"/proc/self",          "/proc/devices",
                                   "/proc/driver/nvidia", "/proc/meminfo",
                                   "/proc/sys",           NULL};

/* A rule for each path; what does not exist needs no permission. A right that is for
 * folders only is left out where a file refuses it. */
static void permit(int set, const char *const *paths, uint64_t access)
{
    for (; paths && *paths; paths++) {
        const int fd = open(*paths, O_PATH | O_CLOEXEC);
        if (fd < 0) continue;
        landlock_path_t rule = {access | FS_READ_DIR, fd};
        if (syscall(LANDLOCK_ADD, set, 1, &rule, 0)) {
            rule.access = access;
            syscall(LANDLOCK_ADD, set, 1, &rule, 0);
        }
        close(fd);
    }
}

int limits_landlock(const char *const *paths)
{
    return limits_landlock_with(paths, NULL);
}

int limits_landlock_with(const char *const *paths, const char *const *devices)
{
    const long abi = syscall(LANDLOCK_CREATE, NULL, 0, 1);
    if (abi < 1) return -1;
    landlock_ruleset_t rules = {(1 << 13) - 1, 0, 0};
    if (abi >= 2) rules.filesystem |= 1 << 13;  // refer
    if (abi >= 3) rules.filesystem |= 1 << 14;  // truncate
    if (abi >= 5) rules.filesystem |= 1 << 15;  // ioctl on devices
    if (abi >= 4) rules.network = 3;            // bind and connect, TCP
    if (abi >= 6) rules.scoped = 3;             // abstract sockets, signals
    const size_t bytes = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
    const int set = (int)syscall(LANDLOCK_CREATE, &rules, bytes, 0);
    if (set < 0) return -1;
    permit(set, paths, FS_EXECUTE | FS_READ_FILE);
    const uint64_t control = abi >= 5 ? FS_IOCTL : 0;
    if (devices) permit(set, READ, FS_READ_FILE);
    permit(set, devices, FS_READ_FILE | FS_WRITE_FILE | control);
    const int failed = (int)syscall(LANDLOCK_RESTRICT, set, 0);
    close(set);
    return failed;
}

/* ---- the system call filter ------------------------------------------------------ */

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#else
#error "limits.c knows the system call tables of x86-64 and aarch64"
#endif

#define LOAD(field)                                                                    \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_LOW(i) LOAD(args[i])
#define LOAD_HIGH(i)                                                                   \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]) + 4)
#define RETURN(what)        BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE(code)        RETURN(SECCOMP_RET_ERRNO | (code))
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))

/* One call with one answer; the accumulator holds its number before and after. */
#define RULE(call, answer) UNLESS(call, 1), answer

enum { MAX_FILTER = 512, LAST_KNOWN_CALL = 450 };

typedef struct {
    struct sock_filter code[MAX_FILTER];
    unsigned short length;
} filter_t;

static void append(filter_t *filter, const struct sock_filter *code, size_t count)
{
    if (filter->length + count > MAX_FILTER) abort();
    memcpy(filter->code + filter->length, code, count * sizeof *code);
    filter->length = (unsigned short)(filter->length + count);
}
#define APPEND(filter, ...)                                                            \
    do {                                                                               \
        const struct sock_filter code_[] = {__VA_ARGS__};                              \
        append(filter, code_, sizeof code_ / sizeof *code_);                           \
    } while (0)

/* No second process. Threads are welcome; clone3 hides its flags in memory, so it is
 * reported as missing and the C library falls back to clone. */
static void filter_processes(filter_t *f)
{
    APPEND(f, UNLESS(SYS_clone, 4), LOAD_LOW(0),
           BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
           RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS));
    APPEND(f, RULE(SYS_clone3, REFUSE(ENOSYS)));
#ifdef SYS_fork
    APPEND(f, RULE(SYS_fork, RETURN(SECCOMP_RET_KILL_PROCESS)),
           RULE(SYS_vfork, RETURN(SECCOMP_RET_KILL_PROCESS)));
#endif
    APPEND(f, RULE(SYS_execve, REFUSE(EACCES)), RULE(SYS_execveat, REFUSE(EACCES)));
}

/* 4 GiB or more in one request is refused with a signal that can be told from others:
 * the address space limit alone would show as NULL somewhere later. */
static void filter_memory(filter_t *f)
{
    APPEND(f, UNLESS(SYS_mmap, 4), LOAD_HIGH(1), UNLESS(0, 1),
           RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_TRAP));
    APPEND(f, UNLESS(SYS_mremap, 4), LOAD_HIGH(2), UNLESS(0, 1),
           RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_TRAP));
}

/* Signals to itself only. */
static void filter_signals(filter_t *f)
{
    const uint32_t self = (uint32_t)getpid();
    APPEND(f, UNLESS(SYS_kill, 4), LOAD_LOW(0), UNLESS(self, 1),
           RETURN(SECCOMP_RET_ALLOW), REFUSE(EPERM));
    APPEND(f, UNLESS(SYS_tgkill, 4), LOAD_LOW(0), UNLESS(self, 1),
           RETURN(SECCOMP_RET_ALLOW), REFUSE(EPERM));
    static const uint32_t refused[] = {SYS_tkill, SYS_rt_sigqueueinfo,
                                       SYS_rt_tgsigqueueinfo,
                                       424 /* pidfd_send_signal */};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        APPEND(f, RULE(refused[i], REFUSE(EPERM)));
    }
}

/* The ways to be signalled later, which would undo a stop: timers, and descriptors that
 * signal their owner. The owner could be anybody. */
static void filter_wake_ups(filter_t *f)
{
    APPEND(f, RULE(SYS_timer_create, REFUSE(EPERM)),
           RULE(SYS_mq_notify, REFUSE(EPERM)));
    APPEND(f, UNLESS(SYS_fcntl, 8), LOAD_LOW(1), UNLESS(F_SETOWN, 1), REFUSE(EPERM),
           UNLESS(F_SETSIG, 1), REFUSE(EPERM), UNLESS(F_SETOWN_EX, 1), REFUSE(EPERM),
           RETURN(SECCOMP_RET_ALLOW));
    APPEND(f, UNLESS(SYS_ioctl, 6), LOAD_LOW(1), UNLESS(FIOSETOWN, 1), REFUSE(EPERM),
           UNLESS(SIOCSPGRP, 1), REFUSE(EPERM), RETURN(SECCOMP_RET_ALLOW));
}

/* Files are for reading; with `devices` what exists may be opened for more. */
static void filter_files(filter_t *f, int devices)
{
    const uint32_t making = O_CREAT | O_TRUNC;
    const uint32_t writing = devices ? making : O_WRONLY | O_RDWR | making;
    APPEND(f, UNLESS(SYS_openat, 4), LOAD_LOW(2),
           BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, writing, 1, 0),
           RETURN(SECCOMP_RET_ALLOW), REFUSE(EACCES));
    APPEND(f, RULE(437 /* openat2 */, REFUSE(ENOSYS)));
#ifdef SYS_open
    APPEND(f, UNLESS(SYS_open, 4), LOAD_LOW(1),
           BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, writing, 1, 0),
           RETURN(SECCOMP_RET_ALLOW), REFUSE(EACCES));
    static const uint32_t old[] = {SYS_creat,   SYS_unlink,   SYS_rename, SYS_link,
                                   SYS_symlink, SYS_mkdir,    SYS_rmdir,  SYS_mknod,
                                   SYS_chmod,   SYS_chown,    SYS_lchown, SYS_utime,
                                   SYS_utimes,  SYS_futimesat};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        APPEND(f, RULE(old[i], REFUSE(EACCES)));
    }
#endif
    static const uint32_t refused[] = {
        SYS_truncate,  SYS_unlinkat,    SYS_renameat,     SYS_renameat2,
        SYS_linkat,    SYS_symlinkat,   SYS_mkdirat,      SYS_mknodat,
        SYS_fchmod,    SYS_fchmodat,    SYS_fchown,       SYS_fchownat,
        SYS_utimensat, SYS_setxattr,    SYS_lsetxattr,    SYS_fsetxattr,
        SYS_fallocate, SYS_mount,       SYS_umount2,      SYS_pivot_root,
        SYS_chroot,    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr,
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        APPEND(f, RULE(refused[i], REFUSE(EACCES)));
    }
}

/* Other processes, the network, the kernel, and these rules themselves. */
static void filter_reach(filter_t *f)
{
    APPEND(f, UNLESS(SYS_prctl, 6), LOAD_LOW(0), UNLESS(PR_SET_PDEATHSIG, 1),
           REFUSE(EPERM), UNLESS(PR_SET_SECCOMP, 1), REFUSE(EPERM),
           RETURN(SECCOMP_RET_ALLOW));
    APPEND(f, UNLESS(SYS_prlimit64, 4), LOAD_LOW(0), UNLESS(0, 1),
           RETURN(SECCOMP_RET_ALLOW), REFUSE(EPERM));  // its own limits only
    // clang-format off
    static const uint32_t refused[] = {
        // other processes
        SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
        434 /* pidfd_open */, 438 /* pidfd_getfd */, 440 /* process_madvise */,
        448 /* process_mrelease */, SYS_sched_setaffinity, SYS_sched_setscheduler,
        SYS_sched_setattr, SYS_sched_setparam, SYS_setpriority, SYS_ioprio_set,
        // the network and other ways to meet
        SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept,
        SYS_accept4, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_shmget, SYS_shmat,
        SYS_shmctl, SYS_msgget, SYS_semget, SYS_mq_open, SYS_mq_unlink, SYS_vmsplice,
        // the kernel, and these rules themselves
        SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_keyctl,
        SYS_add_key, SYS_request_key, SYS_unshare, SYS_setns, SYS_init_module,
        SYS_finit_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_swapon,
        SYS_settimeofday, SYS_clock_settime, SYS_sethostname, SYS_quotactl,
        443 /* quotactl_fd */, SYS_syslog, SYS_personality, SYS_name_to_handle_at,
        SYS_open_by_handle_at, 425 /* io_uring_setup */, 426, 427,
    };
    // clang-format on
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        APPEND(f, RULE(refused[i], REFUSE(EPERM)));
    }
}

/* From now on in this thread, with SECCOMP_FILTER_FLAG_TSYNC in all there are. */
static int install(const filter_t *filter, unsigned flags)
{
    const struct sock_fprog program = {filter->length,
                                       (struct sock_filter *)filter->code};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) ? -1 : 0;
}

int limits_seccomp(void)
{
    return limits_seccomp_with(0);
}

int limits_seccomp_with(int more)
{
    filter_t filter = {.length = 0};
    APPEND(&filter, LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0),
           RETURN(SECCOMP_RET_KILL_PROCESS), LOAD(nr));
#if defined(__x86_64__)
    APPEND(&filter, BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000u, 0, 1),
           RETURN(SECCOMP_RET_KILL_PROCESS));  // the x32 names of the same calls
#endif
    // calls younger than this list do not exist here; the C library copes
    APPEND(&filter, BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN_CALL, 0, 1),
           REFUSE(ENOSYS));
    filter_processes(&filter);
    if (!(more & LIMITS_LARGE)) filter_memory(&filter);
    filter_signals(&filter);
    filter_wake_ups(&filter);
    filter_files(&filter, more & LIMITS_DEVICES);
    filter_reach(&filter);
    if (!(more & LIMITS_LOADING)) APPEND(&filter, RULE(SYS_seccomp, REFUSE(EPERM)));
    APPEND(&filter, RETURN(SECCOMP_RET_ALLOW));
    return install(&filter, 0);
}

/* Nobody takes the place of on_fault: code that handles its own faults can go on after
 * one, and the fault is never known. */
static void filter_fault_handlers(filter_t *f)
{
    APPEND(f, UNLESS(SYS_rt_sigaction, 6), LOAD_LOW(0), UNLESS(SIGSEGV, 1),
           REFUSE(EPERM), UNLESS(SIGBUS, 1), REFUSE(EPERM), RETURN(SECCOMP_RET_ALLOW));
}

int limits_seccomp_loaded(int keep_faults)
{
    void *chain[1];
    backtrace(chain, 1);  // loads libgcc now, while files may still be opened

    filter_t filter = {.length = 0};
    APPEND(&filter, LOAD(nr));
    static const uint32_t refused[] = {SYS_openat, 428 /* open_tree */,
                                       SYS_memfd_create};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        APPEND(&filter, RULE(refused[i], REFUSE(EACCES)));
    }
#ifdef SYS_open
    APPEND(&filter, RULE(SYS_open, REFUSE(EACCES)));
#endif
    static const uint32_t protecting[] = {SYS_mmap, SYS_mprotect, SYS_pkey_mprotect};
    for (size_t i = 0; i < sizeof protecting / sizeof *protecting; i++) {
        APPEND(&filter, UNLESS(protecting[i], 4), LOAD_LOW(2),
               BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), REFUSE(EACCES),
               RETURN(SECCOMP_RET_ALLOW));
    }
    APPEND(&filter, RULE(SYS_seccomp, REFUSE(EPERM)));
    if (keep_faults) filter_fault_handlers(&filter);
    APPEND(&filter, RETURN(SECCOMP_RET_ALLOW));
    return install(&filter, SECCOMP_FILTER_FLAG_TSYNC);
}

/* ---- what a fault leaves behind -------------------------------------------------- */

static const int FATAL[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
enum { FATALS = sizeof FATAL / sizeof *FATAL, ALTERNATE_STACK = 64 * 1024 };

static reply_t *fault_reply;
static struct sigaction former[FATALS];
static char alternate_stack[ALTERNATE_STACK];
static __thread sigjmp_buf *resume_at;  // of the thread that has called limits_resume

static void on_fault(int signo, siginfo_t *info, void *context)
{
    if (resume_at) siglongjmp(*resume_at, signo);
    reply_t *reply = fault_reply;
    ucontext_t *machine = (ucontext_t *)context;
    reply->phase = PHASE_FAULT;
    reply->signo = signo;
    reply->fault_address = (uint64_t)(uintptr_t)info->si_addr;
    if (signo == SIGSYS) reply->fault_address = (uint64_t)info->si_syscall;
#if defined(__x86_64__)
    reply->frame[0] = (uint64_t)machine->uc_mcontext.gregs[REG_RIP];
    reply->fault_write = machine->uc_mcontext.gregs[REG_ERR] >> 1 & 1;
    if (signo == SIGSYS) {
        const int size = info->si_syscall == SYS_mremap ? REG_RDX : REG_RSI;
        reply->bytes_asked = (uint64_t)machine->uc_mcontext.gregs[size];
    }
#else
    reply->frame[0] = machine->uc_mcontext.pc;
    reply->fault_write = -1;
    if (signo == SIGSYS) reply->bytes_asked = machine->uc_mcontext.regs[1];
#endif
    void *chain[MAX_FRAMES];
    const int frames = backtrace(chain, MAX_FRAMES);
    reply->frames = 1;
    for (int i = 0; i < frames && reply->frames < MAX_FRAMES; i++) {
        reply->frame[reply->frames++] = (uint64_t)(uintptr_t)chain[i];
    }
    for (int i = 0; i < FATALS; i++) {
        if (FATAL[i] != signo) continue;
        // refused after limits_seccomp_loaded; a fault while it is blocked is the end
        if (sigaction(signo, &former[i], NULL)) sigaddset(&machine->uc_sigmask, signo);
    }
    if (signo == SIGSYS) raise(SIGSYS);  // a refused call returns; this one must not
}

void limits_resume(sigjmp_buf *at)
{
    resume_at = at;
}

void limits_faults(reply_t *reply)
{
    fault_reply = reply;
    void *chain[1];
    backtrace(chain, 1);  // loads libgcc now, while files may still be opened

    const stack_t stack = {.ss_sp = alternate_stack, .ss_size = sizeof alternate_stack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    for (int i = 0; i < FATALS; i++) sigaction(FATAL[i], &action, &former[i]);
}
