/*
 * cmips: a CMIPS-compatible CPU probe. Usage: cmips --threads N|all --seconds S [--window S]
 *
 * One iteration advances an index that wraps after 49, loads one byte from a 50-byte table and counts. Score =
 * iterations per second of all workers / 1,024,000 (computed by the reader; here for windows only). Every worker warms
 * up until a common start, then counts whole chunks until a common deadline, so all of them cover the same window.
 *
 * --window also counts what falls into each window of that many seconds, without a stop between them: one score for
 * each whole window. A chunk belongs to the window in which it ends.
 */
#include "probe.h"
#include "host.h"
#include "json.h"
#include "sha256.h"
#include "workers.h"

enum { TABLE_BYTES = 50, CHUNK_ITERATIONS = 4000 * TABLE_BYTES, WINDOWS_MAX = 2880 };

static const uint64_t WARM_UP_NS = 100000000u, WINDOW_NS_MIN = 10000000u;
static const double ITERATIONS_PER_CMIPS_S = 1024000;

/*
 * The kernel, version 1: uint64_t cmips_kernel(const char *table, uint64_t iterations) -> last index << 8 | last byte.
 *
 * Assembly, because compilers turn the same C into loops that differ by -57 % ... +17 %. The eight instructions
 * between the labels are the published form of the loop: index widened, index + 1, compared with 50, byte load,
 * conditional move of 0, count + 1, compare, branch. Aligned, so that where it lands does not matter. Any change to it
 * is a new KERNEL_VERSION: scores of different versions are not compared.
 */
#define KERNEL_VERSION "1"

#if defined(__x86_64__)
__asm__(".text\n"
        ".p2align 6\n"
        ".globl cmips_kernel\n"
        ".type cmips_kernel, %function\n"
        "cmips_kernel:\n"
        "    xor %ecx, %ecx\n" /* index */
        "    xor %eax, %eax\n" /* byte  */
        "    xor %r8d, %r8d\n" /* count */
        "    xor %r9d, %r9d\n" /* zero  */
        ".p2align 6\n"
        ".globl cmips_loop_begin\n"
        "cmips_loop_begin:\n"
        "1:\n" /* a jump to the global label would be encoded differently by different assemblers */
        "    movslq %ecx, %rdx\n"
        "    add $1, %ecx\n"
        "    cmp $50, %ecx\n"
        "    movzbl (%rdi,%rdx,1), %eax\n"
        "    cmovge %r9d, %ecx\n"
        "    add $1, %r8\n"
        "    cmp %rsi, %r8\n"
        "    jne 1b\n"
        ".globl cmips_loop_end\n"
        "cmips_loop_end:\n"
        "    shl $8, %rcx\n"
        "    or %rcx, %rax\n"
        "    ret\n"
        ".size cmips_kernel, .-cmips_kernel\n");
#else
__asm__(".text\n"
        ".p2align 6\n"
        ".globl cmips_kernel\n"
        ".type cmips_kernel, %function\n"
        "cmips_kernel:\n"
        "    mov w2, wzr\n" /* index */
        "    mov w3, wzr\n" /* byte  */
        "    mov x4, xzr\n" /* count */
        ".p2align 6\n"
        ".globl cmips_loop_begin\n"
        "cmips_loop_begin:\n"
        "1:\n" /* a jump to the global label would be encoded differently by different assemblers */
        "    sxtw x5, w2\n"
        "    add w2, w2, #1\n"
        "    cmp w2, #50\n"
        "    ldrb w3, [x0, x5]\n"
        "    csel w2, wzr, w2, ge\n"
        "    add x4, x4, #1\n"
        "    cmp x4, x1\n"
        "    b.ne 1b\n"
        ".globl cmips_loop_end\n"
        "cmips_loop_end:\n"
        "    orr x0, x3, x2, lsl #8\n"
        "    ret\n"
        ".size cmips_kernel, .-cmips_kernel\n");
#endif
uint64_t cmips_kernel(const char *table, uint64_t iterations);

/* A chunk is a whole number of trips round the table: it must end at index 0 with the last byte in hand. */
static const char TABLE[] __attribute__((aligned(64))) = "Rackrate walks these fifty bytes again and again.\n";
_Static_assert(sizeof TABLE == TABLE_BYTES + 1, "the table has fifty bytes and the zero behind them");

struct worker_result {
    uint64_t iterations;
    uint64_t cpu_ns;
    uint64_t checksum;
    uint64_t padding[5]; /* one cache line each: workers must not share one */
};

struct run {
    uint64_t arrived;
    uint64_t start_ns;
    uint64_t duration_ns;
    uint64_t thread_count;
    uint64_t window_ns, window_count; /* 0, 0 without --window */
    uint64_t *window_iterations;      /* [worker][window] */
    uint64_t padding[1];
    struct worker_result results[];
};

static int worker(void *context, uint64_t index)
{
    struct run *run = context;
    const uint64_t expected = (unsigned char)TABLE[TABLE_BYTES - 1];
    uint64_t iterations = 0, checksum = 0, cpu_start_ns, deadline_ns, zero = 0, window = 0, counted = 0;
    uint64_t *const windows = run->window_count ? run->window_iterations + index * run->window_count : NULL;
    bool is_right = true;

    barrier_wait(&run->arrived, run->thread_count);
    __atomic_compare_exchange_n(&run->start_ns, &zero, clock_ns(CLOCK_WALL_MONOTONIC) + WARM_UP_NS, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    const uint64_t start_ns = __atomic_load_n(&run->start_ns, __ATOMIC_ACQUIRE);
    while (clock_ns(CLOCK_WALL_MONOTONIC) < start_ns) is_right &= cmips_kernel(TABLE, CHUNK_ITERATIONS) == expected;
    cpu_start_ns = clock_ns(CLOCK_OWN_CPU);
    deadline_ns = start_ns + run->duration_ns;
    uint64_t window_end_ns = start_ns + run->window_ns;
    for (;;) {
        const uint64_t result = cmips_kernel(TABLE, CHUNK_ITERATIONS), now_ns = clock_ns(CLOCK_WALL_MONOTONIC);
        for (; window < run->window_count && now_ns > window_end_ns; window_end_ns += run->window_ns) {
            windows[window++] = iterations - counted;
            counted = iterations;
        }
        /* A chunk that ends after the deadline is left out: at most one in thousands. */
        if (now_ns > deadline_ns) break;
        is_right &= result == expected;
        checksum += result;
        iterations += CHUNK_ITERATIONS;
    }
    run->results[index] = (struct worker_result){
        .iterations = iterations, .cpu_ns = clock_ns(CLOCK_OWN_CPU) - cpu_start_ns, .checksum = checksum};
    if (!iterations) return EXIT_RESOURCE;
    return is_right && checksum == iterations / CHUNK_ITERATIONS * expected ? EXIT_OK : EXIT_CHECK;
}

static void report_windows(const struct run *run)
{
    const double window_s = (double)run->window_ns / (double)NS_PER_S;
    json_seconds("window_s", run->window_ns);
    json_key("windows");
    json_char('[');
    for (uint64_t window = 0; window < run->window_count; window++) {
        uint64_t iterations = 0;
        for (uint64_t i = 0; i < run->thread_count; i++)
            iterations += run->window_iterations[i * run->window_count + window];
        json_member((double)iterations / window_s / ITERATIONS_PER_CMIPS_S, 3);
    }
    json_char(']');
}

static int report(const struct run *run, const struct host_cpus *cpus)
{
    char build[65];
    uint64_t iterations = 0, cpu_ns = 0, checksum = 0;
    for (uint64_t i = 0; i < run->thread_count; i++) {
        iterations += run->results[i].iterations;
        cpu_ns += run->results[i].cpu_ns;
        checksum += run->results[i].checksum;
    }
    const double seconds = (double)run->duration_ns / (double)NS_PER_S;
    sha256_file("/proc/self/exe", build);
    json_begin();
    json_text("probe", "cmips");
    json_text("kernel_version", KERNEL_VERSION);
    json_text("build_sha256", build);
    json_text("arch", PROBE_ARCH);
    json_u64("threads", run->thread_count);
    json_u64("usable_cpus", cpus->usable_count);
    json_u64("online_cpus", cpus->online_count);
    json_u64("affinity_cpus", cpus->affinity_count);
    if (cpus->quota_milli) json_real("cgroup_quota_cpus", (double)cpus->quota_milli / 1000, 3);
    else json_word("cgroup_quota_cpus", "null");
    json_seconds("seconds", run->duration_ns);
    json_u64("iterations", iterations);
    json_seconds("cpu_s", cpu_ns);
    json_real("iterations_per_s", (double)iterations / seconds, 0);
    json_real("cpu_ns_per_iteration", (double)cpu_ns / (double)iterations, 6);
    if (run->window_count) report_windows(run);
    json_u64("checksum", checksum);
    json_bool("checksum_ok", true);
    return json_end(1);
}

static int probe_main(int argc, char **argv, char **envp)
{
    struct host_cpus cpus;
    uint64_t threads = 0, duration_ns = 0, window_ns = 0;
    (void)envp;
    host_cpus_read(&cpus);
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (text_equals(argv[i], "--threads") && text_equals(value, "all")) threads = cpus.usable_count;
        else if (text_equals(argv[i], "--threads") && parse_u64(value, &threads)) continue;
        else if (text_equals(argv[i], "--seconds") && parse_seconds(value, &duration_ns)) continue;
        else if (text_equals(argv[i], "--window") && parse_seconds(value, &window_ns) && window_ns) continue;
        else return json_error("cmips", "usage: cmips --threads N|all --seconds S [--window S]", 0, EXIT_USAGE);
    }
    if (threads == 0 || threads > WORKERS_MAX || duration_ns < NS_PER_S / 100)
        return json_error("cmips", "threads must be 1 to 8192 and seconds at least 0.01", 0, EXIT_USAGE);
    const uint64_t windows = window_ns ? duration_ns / window_ns : 0;
    if (window_ns && (window_ns < WINDOW_NS_MIN || windows < 2 || windows > WINDOWS_MAX))
        return json_error("cmips", "a window must be at least 0.01 s, and 2 to 2880 of them fill the time", 0,
                          EXIT_USAGE);

    struct run *run = pages(sizeof *run + threads * sizeof run->results[0], true);
    if (run == NULL) return json_error("cmips", "no memory for the workers' results", 0, EXIT_RESOURCE);
    run->thread_count = threads;
    run->duration_ns = duration_ns;
    run->window_ns = window_ns;
    run->window_count = windows;
    run->window_iterations = windows ? pages(threads * windows * sizeof(uint64_t), true) : NULL;
    if (windows && run->window_iterations == NULL)
        return json_error("cmips", "no memory for the windows", 0, EXIT_RESOURCE);
    const long failure = workers_run(threads, worker, run);
    if (failure == EXIT_RESOURCE)
        return json_error("cmips", "a worker had no CPU while it should measure", 0, EXIT_RESOURCE);
    return failure ? workers_error("cmips", failure) : report(run, &cpus);
}
