/* Memory bandwidth by a triad: workers that do rounds over arrays of their own, all at the same time. */
#ifndef TRIAD_H
#define TRIAD_H

#include "nodes.h"
#include "order.h"
#include "workers.h"

enum { ROUNDS_MAX = 1024, ADVISE_HUGE_PAGES = 14, HANDOVERS = 50 };

static const uint64_t HANDOVER_NS_MAX = 200000u;

struct round_times {
    uint64_t start_ns[ROUNDS_MAX + 1];
    uint64_t end_ns[ROUNDS_MAX + 1];
};

struct run {
    uint64_t arrived;
    uint64_t rounds; /* grows until the time is over */
    uint64_t threads, duration_ns;
    const uint64_t *mask; /* each worker keeps to a CPU of it; NULL: wherever the system puts them */
    uint64_t elements;    /* of one array of one worker */
    uint64_t huge_page_kib, huge_page_answers;
    bool has_handover;                               /* the first two workers have a CPU each */
    _Alignas(64) uint64_t handed_over;               /* a cache line of its own */
    _Alignas(64) double handover_ns[ROUNDS_MAX + 1]; /* 0 = unknown */
    struct round_times times[];
};

static inline void triad(double *restrict a, const double *restrict b, const double *restrict c, double s,
                         uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) a[i] = b[i] + s * c[i];
}

/* Whether the system granted huge pages explains results that differ between runs and between hosts. */
static inline bool huge_pages(uint64_t *kib)
{
    char text[4096];
    return read_file("/proc/self/smaps_rollup", text, sizeof text) && line_value(text, "AnonHugePages", kib);
}

static inline void count_huge_pages(struct run *run)
{
    uint64_t kib;
    if (!huge_pages(&kib)) return;
    __atomic_add_fetch(&run->huge_page_kib, kib, __ATOMIC_RELAXED);
    __atomic_add_fetch(&run->huge_page_answers, 1, __ATOMIC_RELAXED);
}

/*
 * How long a cache line takes from one worker's CPU to the other's. Where a host keeps both on one die, they share that
 * die's path to memory; on two dies they get far more. Hosts move virtual CPUs about from second to second. Whoever has
 * waited for too long, because the other does not run, gives up.
 */
static inline void hand_over(struct run *run, uint64_t index, uint64_t round)
{
    const uint64_t entry_ns = clock_ns(CLOCK_WALL_MONOTONIC), first = round * 2 * HANDOVERS;
    uint64_t start_ns = entry_ns;
    for (uint64_t turn = index; turn < 2 * HANDOVERS; turn += 2) {
        for (unsigned spins = 1; turn && __atomic_load_n(&run->handed_over, __ATOMIC_ACQUIRE) != first + turn; spins++)
            if (spins % 256 == 0 && clock_ns(CLOCK_WALL_MONOTONIC) - entry_ns > HANDOVER_NS_MAX) return;
        if (turn == 1) start_ns = clock_ns(CLOCK_WALL_MONOTONIC);
        __atomic_store_n(&run->handed_over, first + turn + 1, __ATOMIC_RELEASE);
    }
    if (index) run->handover_ns[round] = (double)(clock_ns(CLOCK_WALL_MONOTONIC) - start_ns) / (2 * HANDOVERS - 2);
}

static inline int triad_worker(void *context, uint64_t index)
{
    struct run *run = context;
    const size_t array_bytes = (run->elements * sizeof(double) + 4095) / 4096 * 4096;
    if (run->mask && !run_on_one(run->mask, index)) return EXIT_RESOURCE;
    double *a = pages(3 * array_bytes, false);
    if (a == NULL) return EXIT_RESOURCE;
    double *b = a + array_bytes / sizeof(double), *c = b + array_bytes / sizeof(double);
    SYS3(NR_MADVISE, a, 3 * array_bytes, ADVISE_HUGE_PAGES);
    for (uint64_t i = 0; i < run->elements; i++) {
        a[i] = 0;
        b[i] = (double)(i & 1023);
        c[i] = (double)(index + 1);
    }
    /*
     * Round 0 is the warm-up. The scalar changes, so no round can be left out without being seen in the sum. The first
     * worker adds a round before it meets the others, so all of them see the same number behind the barrier.
     */
    for (uint64_t round = 0; round <= run->rounds; round++) {
        if (index == 0 && round == run->rounds && round < ROUNDS_MAX
            && clock_ns(CLOCK_WALL_MONOTONIC) - run->times[0].end_ns[0] < run->duration_ns)
            run->rounds++;
        barrier_wait(&run->arrived, run->threads * (2 * round + 1));
        if (index < 2 && run->has_handover) hand_over(run, index, round);
        barrier_wait(&run->arrived, run->threads * (2 * round + 2));
        run->times[index].start_ns[round] = clock_ns(CLOCK_WALL_MONOTONIC);
        triad(a, b, c, (double)(round + 1), run->elements);
        __asm__ volatile("" : : "r"(a) : "memory");
        run->times[index].end_ns[round] = clock_ns(CLOCK_WALL_MONOTONIC);
    }
    count_huge_pages(run);
    for (uint64_t i = 0; i < run->elements; i++)
        if (a[i] != (double)(i & 1023) + (double)(run->rounds + 1) * (double)(index + 1)) return EXIT_CHECK;
    return EXIT_OK;
}

/* The median of what is known of the rounds; 0 = unknown. */
static inline double handover(struct run *run)
{
    uint64_t count = 0;
    for (uint64_t round = 1; round <= run->rounds; round++)
        if (run->handover_ns[round] > 0) run->handover_ns[count++] = run->handover_ns[round];
    sort(run->handover_ns, count);
    return count ? middle(run->handover_ns, count) : 0;
}

/* Rounds of all workers at once, their rates (bytes/s) ascending; a result of workers_run. */
static inline long measure(struct run *run, const uint64_t *mask, uint64_t threads, double rates[ROUNDS_MAX])
{
    const double round_bytes = (double)(3 * run->elements * sizeof(double) * threads);
    run->arrived = 0;
    run->mask = mask;
    run->threads = threads;
    const long failure = workers_run(threads, triad_worker, run);
    if (failure) return failure;
    for (uint64_t round = 1; round <= run->rounds; round++) {
        uint64_t start_ns = UINT64_MAX, end_ns = 0;
        for (uint64_t i = 0; i < threads; i++) {
            if (run->times[i].start_ns[round] < start_ns) start_ns = run->times[i].start_ns[round];
            if (run->times[i].end_ns[round] > end_ns) end_ns = run->times[i].end_ns[round];
        }
        rates[round - 1] = round_bytes / ((double)(end_ns - start_ns) / (double)NS_PER_S);
    }
    sort(rates, run->rounds);
    return 0;
}

#endif
