/*
 * memory: how fast main memory is.
 *
 *   memory --test bandwidth --threads N|all [--bytes B] [--bytes-max B] [--rounds N] [--seconds S] [--nodes DIR]
 *       triad a[i] = b[i] + s * c[i], 24 bytes counted per element, arrays far above the last cache; N rounds, or 3, and
 *       more until S seconds are over: what is too short cannot be told from its neighbours' work. With all threads, and more
 *       than one NUMA node in DIR (of /sys), then each node by itself: its CPUs on its own memory
 *   memory --test latency --threads 1 [--bytes B] [--bytes-max B] [--rounds N]
 *       one dependent load after another along a random cycle of cache lines; N rounds, or 10
 *   memory --test random --bytes B
 *       writes B incompressible bytes to standard output (the source of the dd probe)
 *
 * --bytes sets the size of each array (bandwidth, over all workers) or of the buffer (latency) instead of the size
 * that follows from the caches; --bytes-max caps all memory used. Either is reported: is_capped says that the result
 * may contain cache hits.
 */
#include "probe.h"
#include "host.h"
#include "json.h"
#include "nodes.h"
#include "order.h"
#include "sha256.h"
#include "triad.h"

enum { LINE_BYTES = 64 };

static const uint64_t UNKNOWN_CACHE_BYTES = 32u << 20; /* taken when the machine does not tell its cache */
static const uint64_t LATENCY_BYTES_MAX = 4ull << 30;
static const uint64_t LATENCY_BYTES_USUAL = 1u << 30; /* a larger cycle takes longer to build than to walk */
/*
 * Bytes that leave a cache behind, in sizes of that cache. Passed over again and again in the same order, memory of twice
 * its size finds nothing left in it; the three arrays take more. A random walk finds a share of it: a half at most.
 */
enum { BANDWIDTH_CACHES = 5, BANDWIDTH_CACHES_MIN = 4, LATENCY_CACHES = 4, LATENCY_CACHES_MIN = 2 };
enum { BANDWIDTH_ROUNDS = 3, LATENCY_ROUNDS = 10 };
static const uint64_t LEAST_BYTES = 1u << 20; /* of each thread */
static const uint64_t LATENCY_ROUND_NS = 100000000u;
static const uint64_t HOPS_PER_CHUNK = 4096;

struct options {
    uint64_t threads, bytes, bytes_max, rounds, duration_ns;
    const char *nodes;
    struct host_cpus cpus;
    struct host_memory memory;
    uint64_t cache_bytes;
    bool is_capped;
};

/* Memory we may take: 60 % of what is available, less where the reserve of others asks for it or the caller does. */
static uint64_t budget_bytes(const struct options *options)
{
    const uint64_t available = options->memory.available_bytes,
                   spare = growth(reserve_bytes(&options->memory), available);
    uint64_t budget = available / 10 * 6 < spare ? available / 10 * 6 : spare;
    if (options->bytes_max && options->bytes_max < budget) budget = options->bytes_max;
    return budget;
}

static void mib_raw(uint64_t bytes)
{
    json_digits(bytes >> 20, 1);
    json_raw(" MiB");
}

/* A host that has no memory to spare is left alone. */
static int unavailable(const struct options *options)
{
    json_line.length = 0;
    json_raw("=== failure unavailable: only ");
    mib_raw(options->memory.available_bytes);
    json_raw(" of ");
    mib_raw(options->memory.total_bytes);
    json_raw(" of memory are available here, and ");
    mib_raw(reserve_bytes(&options->memory));
    json_raw(" stay free for other programs\n");
    const int exit_code = output_exit(write_all(1, json_line.text, json_line.length));
    return exit_code ? exit_code : EXIT_UNAVAILABLE;
}

static void report_conditions(const struct options *options, const char *test)
{
    char build[65];
    sha256_file("/proc/self/exe", build);
    json_begin();
    json_text("probe", "memory");
    json_text("test", test);
    json_text("build_sha256", build);
    json_text("arch", PROBE_ARCH);
    json_u64("threads", options->threads);
    json_u64("usable_cpus", options->cpus.usable_count);
    json_u64("last_cache_bytes", options->cache_bytes);
    json_u64("available_bytes", options->memory.available_bytes);
    json_bool("is_capped", options->is_capped);
    json_u64("rounds", options->rounds);
}

static void report_huge_pages(bool is_known, uint64_t bytes)
{
    if (is_known) json_u64("huge_page_bytes", bytes);
    else json_word("huge_page_bytes", "null");
}

/* ---- bandwidth -------------------------------------------------------------------------------------------------- */

/* The median of each of several nodes. They share the time of one measurement. */
static long measure_nodes(struct run *run, const struct options *options, const struct node nodes[NODES_MAX],
                          double medians[NODES_MAX], unsigned count)
{
    double rates[ROUNDS_MAX];
    for (unsigned i = 0; i < count; i++) {
        uint64_t threads = nodes[i].cpu_count;
        lower_to(options->threads, &threads);
        run->rounds = options->rounds;
        run->duration_ns = options->duration_ns / count;
        const long failure = measure(run, nodes[i].mask, threads, rates);
        if (failure) return failure;
        medians[i] = middle(rates, run->rounds);
    }
    return 0;
}

static int bandwidth(struct options *options)
{
    static struct node nodes[NODES_MAX];
    double rates[ROUNDS_MAX], medians[NODES_MAX];
    const uint64_t threads = options->threads,
                   wanted = options->bytes ? options->bytes : BANDWIDTH_CACHES * options->cache_bytes / 3;
    uint64_t array_bytes = wanted;
    lower_to(budget_bytes(options) / 3, &array_bytes);
    options->is_capped = 3 * array_bytes < BANDWIDTH_CACHES_MIN * options->cache_bytes;
    const uint64_t elements = array_bytes / sizeof(double) / threads;
    struct run *run = pages(sizeof *run + threads * sizeof run->times[0], true);
    if (run == NULL || elements < 4096)
        return json_error("memory", "not enough memory for the arrays", 0, EXIT_RESOURCE);
    run->elements = elements;
    run->rounds = options->rounds;
    run->duration_ns = options->duration_ns;
    run->has_handover = threads > 1 && threads <= options->cpus.usable_count;
    /* Moved between nodes, a worker would go on with memory that is far away. */
    unsigned node_count = threads == options->cpus.usable_count ? nodes_read(options->nodes, &options->cpus, nodes) : 0;
    if (node_count < 2) node_count = 0;
    /* Below a quota there are fewer workers than CPUs, and the first ones are all of one node. */
    const bool is_pinned = node_count && threads == options->cpus.affinity_count;
    long failure = measure(run, is_pinned ? options->cpus.mask : NULL, threads, rates);
    const uint64_t rounds = run->rounds, huge_page_bytes = run->huge_page_kib * 1024;
    const bool is_huge_known = run->huge_page_answers == threads;
    const double handover_ns = handover(run);
    run->has_handover = false;
    if (failure == 0) failure = measure_nodes(run, options, nodes, medians, node_count);
    if (failure) return workers_error("memory", failure);

    options->rounds = rounds;
    report_conditions(options, "bandwidth");
    json_u64("array_bytes", elements * sizeof(double) * threads);
    report_huge_pages(is_huge_known, huge_page_bytes);
    json_bool("is_pinned", is_pinned);
    if (handover_ns > 0) json_real("handover_ns", handover_ns, 1);
    else json_word("handover_ns", "null");
    json_real("best_bytes_per_s", rates[rounds - 1], 0);
    json_real("median_bytes_per_s", middle(rates, rounds), 0);
    if (node_count) {
        json_key("node_ids");
        json_char('[');
        for (unsigned i = 0; i < node_count; i++) json_member((double)nodes[i].id, 0);
        json_char(']');
        json_key("nodes");
        json_char('[');
        for (unsigned i = 0; i < node_count; i++) json_member(medians[i], 0);
        json_char(']');
    }
    json_bool("checksum_ok", true);
    return json_end(1);
}

/* ---- latency ---------------------------------------------------------------------------------------------------- */

/* A fixed random-looking permutation of 0 .. mask (mask + 1 a power of two): each step is invertible. */
static uint64_t scattered(uint64_t value, uint64_t mask, unsigned shift)
{
    for (unsigned i = 0; i < 3; i++) {
        value = (value * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u) & mask;
        value ^= value >> shift;
    }
    return value;
}

/* Four times the cache, but of a large one no more than takes its share below a half. */
static uint64_t latency_bytes(const struct options *options)
{
    const uint64_t usual = LATENCY_CACHES * options->cache_bytes, least = LATENCY_CACHES_MIN * options->cache_bytes;
    if (options->bytes) return options->bytes;
    if (usual <= LATENCY_BYTES_USUAL) return usual;
    return least > LATENCY_BYTES_USUAL ? least : LATENCY_BYTES_USUAL;
}

/* The cycle visits line scattered(0), scattered(1), …; so where n hops must end is known without walking them. */
static int latency(struct options *options)
{
    double rounds_ns[ROUNDS_MAX];
    const uint64_t wanted = latency_bytes(options);
    uint64_t limit = budget_bytes(options), buffer_bytes = 64 * LINE_BYTES;
    unsigned bits = 6;
    lower_to(LATENCY_BYTES_MAX, &limit);
    for (; buffer_bytes < wanted && buffer_bytes * 2 <= limit; bits++) buffer_bytes *= 2;
    options->is_capped = buffer_bytes < LATENCY_CACHES_MIN * options->cache_bytes;
    char *buffer = pages(buffer_bytes, false);
    if (buffer == NULL || buffer_bytes > limit)
        return json_error("memory", "not enough memory for the buffer", 0, EXIT_RESOURCE);
    SYS3(NR_MADVISE, buffer, buffer_bytes, ADVISE_HUGE_PAGES);

    const uint64_t mask = buffer_bytes / LINE_BYTES - 1;
    const unsigned shift = bits / 2 + 1;
    uint64_t hops = 0, line = scattered(0, mask, shift);
    for (uint64_t i = 0; i <= mask; i++) {
        const uint64_t next = scattered((i + 1) & mask, mask, shift);
        *(void **)(void *)(buffer + line * LINE_BYTES) = buffer + next * LINE_BYTES;
        line = next;
    }
    void **position = (void **)(void *)(buffer + line * LINE_BYTES);
    for (uint64_t round = 0; round <= options->rounds; round++) { /* round 0 is the warm-up */
        const uint64_t start_ns = clock_ns(CLOCK_WALL_MONOTONIC), hops_before = hops;
        uint64_t now_ns;
        do {
            for (uint64_t i = 0; i < HOPS_PER_CHUNK; i++) position = *position;
            __asm__ volatile("" : "+r"(position));
            hops += HOPS_PER_CHUNK;
            now_ns = clock_ns(CLOCK_WALL_MONOTONIC);
        } while (now_ns - start_ns < LATENCY_ROUND_NS);
        if (round) rounds_ns[round - 1] = (double)(now_ns - start_ns) / (double)(hops - hops_before);
    }
    if ((char *)position != buffer + scattered(hops & mask, mask, shift) * LINE_BYTES)
        return json_error("memory", "the chase ended at the wrong line", 0, EXIT_CHECK);
    uint64_t huge_page_kib = 0;
    const bool is_huge_known = huge_pages(&huge_page_kib);
    sort(rounds_ns, options->rounds);
    report_conditions(options, "latency");
    json_u64("buffer_bytes", buffer_bytes);
    report_huge_pages(is_huge_known, huge_page_kib * 1024);
    json_u64("hops", hops);
    json_real("best_latency_ns", rounds_ns[0], 3);
    json_real("latency_ns", middle(rounds_ns, options->rounds), 3);
    json_bool("checksum_ok", true);
    return json_end(1);
}

/* ---- random ----------------------------------------------------------------------------------------------------- */

/* splitmix64 over a counter: every 8 bytes differ, nothing repeats within 2^64 words. */
static int random_bytes(uint64_t bytes)
{
    static uint64_t block[131072];
    uint64_t state = clock_ns(CLOCK_WALL_MONOTONIC);
    while (bytes) {
        const size_t length = bytes < sizeof block ? (size_t)bytes : sizeof block;
        for (size_t i = 0; i < sizeof block / sizeof block[0]; i++) {
            uint64_t mixed = state += 0x9E3779B97F4A7C15u;
            mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
            mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
            block[i] = mixed ^ mixed >> 31;
        }
        const long error = write_all(1, block, length);
        if (error) return output_exit(error);
        bytes -= length;
    }
    return EXIT_OK;
}

static int probe_main(int argc, char **argv, char **envp)
{
    struct options options = {.nodes = NODE_DIRECTORY};
    const char *test = "";
    bool is_first;
    (void)envp;
    host_cpus_read(&options.cpus);
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (text_equals(argv[i], "--test")) test = value;
        else if (text_equals(argv[i], "--nodes")) options.nodes = value;
        else if (text_equals(argv[i], "--threads") && text_equals(value, "all"))
            options.threads = options.cpus.usable_count;
        else if (text_equals(argv[i], "--threads") && parse_u64(value, &options.threads)) continue;
        else if (text_equals(argv[i], "--bytes") && parse_u64(value, &options.bytes)) continue;
        else if (text_equals(argv[i], "--bytes-max") && parse_u64(value, &options.bytes_max)) continue;
        else if (text_equals(argv[i], "--rounds") && parse_u64(value, &options.rounds)) continue;
        else if (text_equals(argv[i], "--seconds") && parse_seconds(value, &options.duration_ns)) continue;
        else
            return json_error("memory",
                              "usage: memory --test bandwidth|latency|random --threads N|all [--bytes B] "
                              "[--bytes-max B] [--rounds N] [--seconds S] [--nodes DIR]",
                              0, EXIT_USAGE);
    }
    if (text_equals(test, "random") && options.bytes) return random_bytes(options.bytes);
    if (options.rounds == 0) options.rounds = text_equals(test, "latency") ? LATENCY_ROUNDS : BANDWIDTH_ROUNDS;
    if (options.threads == 0 || options.threads > WORKERS_MAX || options.rounds > ROUNDS_MAX)
        return json_error("memory", "threads must be 1 to 8192 and rounds 1 to 1024", 0, EXIT_USAGE);
    options.memory = host_memory_read();
    const uint64_t budget = budget_bytes(&options);
    const bool is_asked_for = options.bytes_max && budget == options.bytes_max;
    if (budget < options.threads * LEAST_BYTES && !is_asked_for) return unavailable(&options);
    for (uint64_t cpu = 0; cpu < MASK_BITS; cpu++) {
        const uint64_t bytes = mask_has(options.cpus.mask, cpu) ? last_cache_bytes(cpu, &is_first) : 0;
        if (bytes && (is_first || options.cache_bytes == 0)) options.cache_bytes += bytes;
        if (options.cache_bytes && text_equals(test, "latency")) break; /* one worker has one cache */
    }
    if (options.cache_bytes == 0) options.cache_bytes = UNKNOWN_CACHE_BYTES;
    if (text_equals(test, "bandwidth")) return bandwidth(&options);
    if (text_equals(test, "latency") && options.threads == 1) return latency(&options);
    return json_error("memory", "the tests are bandwidth and latency; latency takes one thread", 0, EXIT_USAGE);
}
