/*
 * Base of every probe: system calls, entry point, numbers, files and JSON lines.
 *
 * The probes use no C library, so one static binary per architecture runs on every Linux, and what is measured does
 * not depend on the target's libraries. With PROBE_HOSTED the same source builds as an ordinary program, which is how
 * the sanitizers check it.
 */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes of every probe. */
enum {
    EXIT_OK = 0,
    EXIT_USAGE = 2,
    EXIT_RESOURCE = 3,   /* no process, memory or file could be had */
    EXIT_CHECK = 4,      /* the result failed its own check */
    EXIT_NO_SPACE = 5,   /* the disk that takes the output is full */
    EXIT_OUTPUT = 6,     /* the output could not be written for another reason */
    EXIT_UNAVAILABLE = 7 /* the host cannot do it, as one line on standard output says */
};

enum { ERRNO_INTR = 4, ERRNO_AGAIN = 11, ERRNO_NO_SPACE = 28, ERRNO_QUOTA = 122 };

static const uint64_t NS_PER_S = 1000000000u;

/* ---- system calls ---------------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define PROBE_ARCH "x86_64"
enum {
    NR_READ = 0,
    NR_WRITE = 1,
    NR_CLOSE = 3,
    NR_MMAP = 9,
    NR_MUNMAP = 11,
    NR_SIGACTION = 13,
    NR_SIGPROCMASK = 14,
    NR_SCHED_YIELD = 24,
    NR_MINCORE = 27,
    NR_MADVISE = 28,
    NR_NANOSLEEP = 35,
    NR_GETPID = 39,
    NR_CLONE = 56,
    NR_EXECVE = 59,
    NR_WAIT4 = 61,
    NR_KILL = 62,
    NR_FSYNC = 74,
    NR_GETRUSAGE = 98,
    NR_SETPGID = 109,
    NR_GETPPID = 110,
    NR_SIGTIMEDWAIT = 128,
    NR_FSTATFS = 138,
    NR_PRCTL = 157,
    NR_SCHED_SETAFFINITY = 203,
    NR_SCHED_GETAFFINITY = 204,
    NR_FADVISE = 221,
    NR_CLOCK_GETTIME = 228,
    NR_EXIT_GROUP = 231,
    NR_OPENAT = 257,
    NR_MKDIRAT = 258,
    NR_FSTATAT = 262,
    NR_UNLINKAT = 263,
    NR_RENAMEAT = 264,
    NR_DUP3 = 292,
    NR_SYNCFS = 306
};

static inline long sys6(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
#define PROBE_ARCH "aarch64"
enum {
    NR_DUP3 = 24,
    NR_MKDIRAT = 34,
    NR_UNLINKAT = 35,
    NR_RENAMEAT = 38,
    NR_FSTATFS = 44,
    NR_OPENAT = 56,
    NR_CLOSE = 57,
    NR_READ = 63,
    NR_WRITE = 64,
    NR_FSTATAT = 79,
    NR_FSYNC = 82,
    NR_EXIT_GROUP = 94,
    NR_NANOSLEEP = 101,
    NR_CLOCK_GETTIME = 113,
    NR_SCHED_SETAFFINITY = 122,
    NR_SCHED_GETAFFINITY = 123,
    NR_SCHED_YIELD = 124,
    NR_KILL = 129,
    NR_SIGACTION = 134,
    NR_SIGPROCMASK = 135,
    NR_SIGTIMEDWAIT = 137,
    NR_SETPGID = 154,
    NR_GETRUSAGE = 165,
    NR_PRCTL = 167,
    NR_GETPID = 172,
    NR_GETPPID = 173,
    NR_MUNMAP = 215,
    NR_CLONE = 220,
    NR_EXECVE = 221,
    NR_MMAP = 222,
    NR_FADVISE = 223,
    NR_MINCORE = 232,
    NR_MADVISE = 233,
    NR_WAIT4 = 260,
    NR_SYNCFS = 267
};

static inline long sys6(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
}
#else
#error "the probes know x86_64 and aarch64"
#endif

#define SYS0(n) sys6((n), 0, 0, 0, 0, 0, 0)
#define SYS1(n, a) sys6((n), (long)(a), 0, 0, 0, 0, 0)
#define SYS2(n, a, b) sys6((n), (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(n, a, b, c) sys6((n), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(n, a, b, c, d) sys6((n), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define SYS6(n, a, b, c, d, e, f) sys6((n), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

enum { AT_CWD = -100, O_READ = 0, O_WRITE = 1, O_WRITE_NEW = 01 | 0100 | 01000, O_CLOSE_ON_EXEC = 02000000 };
enum { SIG_HANG_UP = 1, SIG_INT = 2, SIG_KILL = 9, SIG_USER_1 = 10, SIG_TERM = 15, SIG_CHILD = 17 };
enum { CLOCK_WALL_MONOTONIC = 1, CLOCK_OWN_CPU = 2 };

struct time_spec {
    long seconds;
    long nanoseconds;
};

static inline _Noreturn void leave(int status)
{
    for (;;) SYS1(NR_EXIT_GROUP, status);
}

static inline uint64_t clock_ns(int clock)
{
    struct time_spec now = {0, 0};
    SYS2(NR_CLOCK_GETTIME, clock, &now);
    return (uint64_t)now.seconds * NS_PER_S + (uint64_t)now.nanoseconds;
}

static inline void sleep_ns(uint64_t duration_ns)
{
    struct time_spec duration = {(long)(duration_ns / NS_PER_S), (long)(duration_ns % NS_PER_S)};
    SYS2(NR_NANOSLEEP, &duration, 0);
}

/* Fresh zeroed pages, shared with children when asked; NULL when there is no memory. */
static inline void *pages(size_t bytes, bool is_shared)
{
    long address = SYS6(NR_MMAP, 0, bytes, 3, (is_shared ? 1 : 2) | 0x20, -1, 0);
    return address < 0 && address > -4096 ? NULL : (void *)address;
}

/* ---- entry ------------------------------------------------------------------------------------------------------ */

static int probe_main(int argc, char **argv, char **envp);

#ifdef PROBE_HOSTED
int main(int argc, char **argv, char **envp)
{
    return probe_main(argc, argv, envp);
}
#else
#if defined(__x86_64__)
__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call probe_start\n");
#else
__asm__(".globl _start\n_start:\n mov x29, #0\n mov x30, #0\n mov x0, sp\n bl probe_start\n");
#endif
_Noreturn void probe_start(long *stack);
_Noreturn __attribute__((used)) void probe_start(long *stack)
{
    char **argv = (char **)(stack + 1);
    leave(probe_main((int)*stack, argv, argv + *stack + 1));
}

/* Compilers call these for plain assignments and loops; the empty asm keeps them from calling themselves. */
void *memset(void *target, int value, size_t count);
__attribute__((used)) void *memset(void *target, int value, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ((unsigned char *)target)[i] = (unsigned char)value;
        __asm__ volatile("");
    }
    return target;
}

void *memcpy(void *restrict target, const void *restrict source, size_t count);
__attribute__((used)) void *memcpy(void *restrict target, const void *restrict source, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ((unsigned char *)target)[i] = ((const unsigned char *)source)[i];
        __asm__ volatile("");
    }
    return target;
}
#endif

/* ---- text and numbers ------------------------------------------------------------------------------------------- */

static inline size_t text_length(const char *text)
{
    size_t length = 0;
    while (text[length]) length++;
    return length;
}

static inline bool text_starts(const char *text, const char *prefix)
{
    while (*prefix)
        if (*text++ != *prefix++) return false;
    return true;
}

static inline bool text_equals(const char *a, const char *b)
{
    return text_starts(a, b) && text_length(a) == text_length(b);
}

/* Reads digits at *cursor and moves it behind them; false when there are none or they do not fit. */
static inline bool read_u64(const char **cursor, uint64_t *value)
{
    const char *start = *cursor;
    uint64_t sum = 0;
    for (; **cursor >= '0' && **cursor <= '9'; ++*cursor) {
        uint64_t digit = (uint64_t)(**cursor - '0');
        if (sum > (UINT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    *value = sum;
    return *cursor != start;
}

static inline bool parse_u64(const char *text, uint64_t *value)
{
    return read_u64(&text, value) && *text == '\0';
}

/* "12.5" -> 12,500,000,000. At most a thousand days, so sums of two never overflow. */
static inline bool parse_seconds(const char *text, uint64_t *duration_ns)
{
    uint64_t whole = 0, unit = NS_PER_S;
    if (!read_u64(&text, &whole) || whole > 86400000u) return false;
    *duration_ns = whole * NS_PER_S;
    if (*text == '.' && text[1]) {
        for (text++; *text >= '0' && *text <= '9'; text++) {
            unit /= 10;
            *duration_ns += (uint64_t)(*text - '0') * unit;
        }
    }
    return *text == '\0';
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

/* Reads at most size - 1 bytes and ends them with a zero; false when the file cannot be read. */
static inline bool read_file(const char *path, char *buffer, size_t size)
{
    size_t length = 0;
    long count = 0, file = SYS4(NR_OPENAT, AT_CWD, path, O_READ | O_CLOSE_ON_EXEC, 0);
    buffer[0] = '\0';
    if (file < 0) return false;
    while (length + 1 < size && (count = SYS3(NR_READ, file, buffer + length, size - 1 - length)) > 0)
        length += (size_t)count;
    SYS1(NR_CLOSE, file);
    buffer[length] = '\0';
    return count >= 0;
}

/* 0, or the number of the error that stopped the writing. */
static inline long write_all(long file, const void *data, size_t length)
{
    const char *bytes = data;
    while (length) {
        long count = SYS3(NR_WRITE, file, bytes, length);
        if (count == -ERRNO_INTR) continue;
        if (count <= 0) return count ? -count : ERRNO_NO_SPACE;
        bytes += count;
        length -= (size_t)count;
    }
    return 0;
}

static inline int output_exit(long error)
{
    if (error == 0) return EXIT_OK;
    return error == ERRNO_NO_SPACE || error == ERRNO_QUOTA ? EXIT_NO_SPACE : EXIT_OUTPUT;
}

#endif
