/* NUMA nodes: which of the CPUs that we may use are near which memory. */
#ifndef NODES_H
#define NODES_H

#include "host.h"

enum { NODES_MAX = 64 };
#define NODE_DIRECTORY "/sys/devices/system/node"

struct node {
    uint64_t id, cpu_count;
    uint64_t mask[MASK_WORDS];
};

/* "0-3,8" as the bits of a mask; numbers past its end are left out. */
static inline void mask_of_list(const char *text, uint64_t *mask)
{
    uint64_t first, last;
    while (read_u64(&text, &first)) {
        last = first;
        if (*text == '-') {
            text++;
            if (!read_u64(&text, &last)) return;
        }
        for (uint64_t bit = first; bit <= last && bit < MASK_BITS; bit++) mask[bit / 64] |= 1ull << bit % 64;
        if (*text == ',') text++;
    }
}

/* Fills the nodes that have memory and CPUs of ours, by ascending number; returns how many. */
static inline unsigned nodes_read(const char *directory, const struct host_cpus *cpus, struct node nodes[NODES_MAX])
{
    char name[1024], text[4096];
    char *const end = name + sizeof name, *const tail = text_append(name, end, directory);
    uint64_t with_memory[MASK_WORDS] = {0};
    unsigned count = 0;
    text_append(tail, end, "/has_memory");
    if (!read_file(name, text, sizeof text)) return 0;
    mask_of_list(text, with_memory);
    for (uint64_t id = 0; id < MASK_BITS && count < NODES_MAX; id++) {
        struct node *node = &nodes[count];
        if (!mask_has(with_memory, id)) continue;
        text_append(number_append(text_append(tail, end, "/node"), end, id), end, "/cpulist");
        if (!read_file(name, text, sizeof text)) continue;
        *node = (struct node){.id = id};
        mask_of_list(text, node->mask);
        for (unsigned word = 0; word < MASK_WORDS; word++) {
            node->mask[word] &= cpus->mask[word];
            node->cpu_count += (uint64_t)__builtin_popcountll(node->mask[word]);
        }
        count += node->cpu_count > 0;
    }
    return count;
}

/*
 * Keeps this process to the index-th CPU of the mask, counted round and round. Memory that it touches first is then of
 * that CPU's node, and stays near it.
 */
static inline bool run_on_one(const uint64_t *mask, uint64_t index)
{
    uint64_t one[MASK_WORDS] = {0}, count = 0;
    for (unsigned word = 0; word < MASK_WORDS; word++) count += (uint64_t)__builtin_popcountll(mask[word]);
    if (count == 0) return false;
    index %= count;
    for (uint64_t cpu = 0; cpu < MASK_BITS; cpu++)
        if (mask_has(mask, cpu) && index-- == 0) {
            one[cpu / 64] = 1ull << cpu % 64;
            break;
        }
    return SYS3(NR_SCHED_SETAFFINITY, 0, sizeof one, one) == 0;
}

#endif
