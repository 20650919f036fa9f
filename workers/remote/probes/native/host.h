/* What the machine lets us use: CPUs, cgroup limits, memory, caches, and the jiffies of /proc/stat. */
#ifndef HOST_H
#define HOST_H

#include "probe.h"

enum { MASK_WORDS = 128, MASK_BITS = MASK_WORDS * 64 }; /* 8,192 CPUs, the most a Linux kernel is built for */

struct host_cpus {
    uint64_t mask[MASK_WORDS];
    uint64_t online_count;
    uint64_t affinity_count;
    uint64_t quota_milli;  /* CFS quota in thousandths of a CPU, 0 = none */
    uint64_t usable_count; /* affinity, or the quota rounded up when that is less */
};

static inline bool mask_has(const uint64_t *mask, uint64_t cpu)
{
    return cpu < MASK_BITS && (mask[cpu / 64] >> (cpu % 64) & 1);
}

/* "0-3,8" -> 5; 0 when the text is not such a list. */
static inline uint64_t cpu_list_count(const char *text)
{
    uint64_t count = 0;
    for (;;) {
        uint64_t first, last;
        if (!read_u64(&text, &first)) return 0;
        last = first;
        if (*text == '-' && (text++, !read_u64(&text, &last))) return 0;
        if (last < first) return 0;
        count += last - first + 1;
        if (*text != ',') return count;
        text++;
    }
}

/* How far a counter went on; counters such as iowait of /proc/stat can go back a little. */
static inline uint64_t growth(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

static inline char *text_append(char *target, const char *end, const char *text)
{
    while (*text && target + 1 < end) *target++ = *text++;
    *target = '\0';
    return target;
}

static inline char *number_append(char *target, const char *end, uint64_t value)
{
    char digits[24];
    unsigned count = sizeof digits;
    digits[--count] = '\0';
    do digits[--count] = (char)('0' + value % 10);
    while (value /= 10);
    return text_append(target, end, digits + count);
}

/* The value of "key: number" or "key number" at the start of a line; false when the file has no such line. */
static inline bool line_value(const char *text, const char *key, uint64_t *value)
{
    while (*text) {
        if (text_starts(text, key)) {
            text += text_length(key);
            while (*text == ' ' || *text == ':' || *text == '\t') text++;
            return read_u64(&text, value);
        }
        while (*text && *text++ != '\n') {}
    }
    return false;
}

/* Our path in one cgroup hierarchy: tag is "0::" for version 2, ":cpu" or ":memory" for version 1. */
static inline bool cgroup_path(const char *tag, char *path, size_t size)
{
    char text[4096];
    if (!read_file("/proc/self/cgroup", text, sizeof text)) return false;
    for (char *line = text; *line;) {
        char *end = line, *tail = line;
        while (*end && *end != '\n') end++;
        for (unsigned colons = 0; tail < end && colons < 2; tail++) colons += *tail == ':';
        for (char *at = line; at < tail; at++) {
            size_t length = text_length(tag);
            char next = text_starts(at, tag) ? at[length] : '\0';
            if (at + length <= tail && next && (tag[0] == '0' ? at == line : next == ':' || next == ',')) {
                char saved = *end;
                *end = '\0';
                text_append(path, path + size, tail);
                *end = saved;
                return true;
            }
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

/* Calls visit with the text of a file in our cgroup and in each parent, up to the mount point. */
static inline void cgroup_each(const char *mount, const char *tag, const char *file,
                               void (*visit)(const char *directory, const char *text, void *result), void *result)
{
    char path[1024], name[1400], text[128];
    if (!cgroup_path(tag, path, sizeof path)) return;
    for (size_t length = text_length(path);;) {
        char *directory_end = text_append(text_append(name, name + sizeof name, mount), name + sizeof name, path);
        text_append(directory_end, name + sizeof name, file);
        if (read_file(name, text, sizeof text)) {
            *directory_end = '\0';
            visit(name, text, result);
        }
        if (length == 0) return;
        while (length && path[length - 1] != '/') length--;
        if (length) length--;
        path[length] = '\0';
    }
}

static inline void lower_to(uint64_t value, uint64_t *lowest)
{
    if (value && (*lowest == 0 || value < *lowest)) *lowest = value;
}

static inline void visit_cpu_max(const char *directory, const char *text, void *quota_milli)
{
    uint64_t quota, period;
    (void)directory;
    if (!read_u64(&text, &quota) || *text++ != ' ' || !read_u64(&text, &period) || period == 0) return;
    lower_to(quota * 1000 / period, quota_milli);
}

static inline void visit_cfs_quota(const char *directory, const char *text, void *quota_milli)
{
    char name[1400], period_text[32];
    uint64_t quota, period;
    text_append(text_append(name, name + sizeof name, directory), name + sizeof name, "/cpu.cfs_period_us");
    if (!read_u64(&text, &quota) || !read_file(name, period_text, sizeof period_text)) return;
    if (line_value(period_text, "", &period) && period) lower_to(quota * 1000 / period, quota_milli);
}

static inline void host_cpus_read(struct host_cpus *cpus)
{
    char text[1024];
    *cpus = (struct host_cpus){.quota_milli = 0};
    SYS3(NR_SCHED_GETAFFINITY, 0, sizeof cpus->mask, cpus->mask);
    for (uint64_t cpu = 0; cpu < MASK_BITS; cpu++) cpus->affinity_count += mask_has(cpus->mask, cpu);
    if (cpus->affinity_count == 0) {
        cpus->mask[0] = 1;
        cpus->affinity_count = 1;
    }
    if (read_file("/sys/devices/system/cpu/online", text, sizeof text)) cpus->online_count = cpu_list_count(text);
    if (cpus->online_count == 0) cpus->online_count = cpus->affinity_count;
    cgroup_each("/sys/fs/cgroup", "0::", "/cpu.max", visit_cpu_max, &cpus->quota_milli);
    cgroup_each("/sys/fs/cgroup/cpu", ":cpu", "/cpu.cfs_quota_us", visit_cfs_quota, &cpus->quota_milli);
    cpus->usable_count = cpus->affinity_count;
    if (cpus->quota_milli) lower_to((cpus->quota_milli + 999) / 1000, &cpus->usable_count);
}

struct host_memory {
    uint64_t total_bytes;     /* of the machine, or the lowest limit of the cgroups above us; 0 = unknown */
    uint64_t available_bytes; /* what may be taken without swapping, and without a limit that ends somebody */
};

/* The number in a file beside a cgroup's limit, or behind the key in it; 0 when there is none. */
static inline uint64_t cgroup_value(const char *directory, const char *file, const char *key)
{
    char name[1400], text[8192];
    uint64_t value;
    text_append(text_append(name, name + sizeof name, directory), name + sizeof name, file);
    return read_file(name, text, sizeof text) && line_value(text, key, &value) ? value : 0;
}

static inline void visit_limit(const char *text, uint64_t used_bytes, uint64_t cached_bytes, struct host_memory *memory)
{
    uint64_t limit_bytes;
    if (!read_u64(&text, &limit_bytes)) return; /* "max" */
    /* What is used holds what is cached, but the two are read one after the other. */
    const uint64_t available_bytes =
        growth(used_bytes, limit_bytes + (cached_bytes < used_bytes ? cached_bytes : used_bytes));
    lower_to(limit_bytes, &memory->total_bytes);
    if (available_bytes < memory->available_bytes) memory->available_bytes = available_bytes;
}

static inline void visit_memory_max(const char *directory, const char *text, void *memory)
{
    visit_limit(text, cgroup_value(directory, "/memory.current", ""),
                cgroup_value(directory, "/memory.stat", "inactive_file"), memory);
}

static inline void visit_memory_limit(const char *directory, const char *text, void *memory)
{
    visit_limit(text, cgroup_value(directory, "/memory.usage_in_bytes", ""),
                cgroup_value(directory, "/memory.stat", "total_inactive_file"), memory);
}

/*
 * A cgroup's limit counts what everybody in it and below it has taken. Above memory.high the kernel ends nobody, but
 * slows down all of them.
 */
static inline struct host_memory host_memory_read(void)
{
    char text[4096];
    struct host_memory memory = {.available_bytes = UINT64_MAX};
    uint64_t kib;
    if (read_file("/proc/meminfo", text, sizeof text)) {
        if (line_value(text, "MemTotal", &kib)) memory.total_bytes = kib * 1024;
        if (line_value(text, "MemAvailable", &kib)) memory.available_bytes = kib * 1024;
    }
    cgroup_each("/sys/fs/cgroup", "0::", "/memory.max", visit_memory_max, &memory);
    cgroup_each("/sys/fs/cgroup", "0::", "/memory.high", visit_memory_max, &memory);
    cgroup_each("/sys/fs/cgroup/memory", ":memory", "/memory.limit_in_bytes", visit_memory_limit, &memory);
    if (memory.available_bytes == UINT64_MAX) memory.available_bytes = memory.total_bytes / 2;
    return memory;
}

/* What stays available to others: a tenth of the memory, at least 64 MiB and at most 1 GiB. */
static inline uint64_t reserve_bytes(const struct host_memory *memory)
{
    const uint64_t tenth = memory->total_bytes / 10, least = 64u << 20, most = 1u << 30;
    return tenth < least ? least : tenth > most ? most : tenth;
}

/* Reads a file below one CPU's directory; false when there is none. */
static inline bool cpu_file(uint64_t cpu, const char *file, char *text, size_t size)
{
    char name[128];
    char *end = name + sizeof name, *at = text_append(name, end, "/sys/devices/system/cpu/cpu");
    text_append(number_append(at, end, cpu), end, file);
    return read_file(name, text, size);
}

static inline bool cache_file(uint64_t cpu, unsigned index, const char *file, char *text, size_t size)
{
    char name[64];
    char *end = name + sizeof name, *at = text_append(name, end, "/cache/index");
    text_append(number_append(at, end, index), end, file);
    return cpu_file(cpu, name, text, size);
}

/* Size of the last cache level of a CPU, 0 = unknown; *is_first says whether it is the first CPU that shares it. */
static inline uint64_t last_cache_bytes(uint64_t cpu, bool *is_first)
{
    char text[1024];
    uint64_t bytes = 0, best_level = 0, level, size, first;
    *is_first = true;
    for (unsigned index = 0; index < 8; index++) {
        const char *cursor = text;
        if (!cache_file(cpu, index, "/level", text, sizeof text)) break;
        if (!read_u64(&cursor, &level) || level <= best_level) continue;
        cursor = text;
        if (!cache_file(cpu, index, "/size", text, sizeof text) || !read_u64(&cursor, &size)) continue;
        best_level = level;
        bytes = size * (*cursor == 'M' ? 1048576u : *cursor == 'K' ? 1024u : 1u);
        cursor = text;
        if (cache_file(cpu, index, "/shared_cpu_list", text, sizeof text) && read_u64(&cursor, &first))
            *is_first = first == cpu;
    }
    return bytes;
}

/* Where the long files of /proc are read to, one after the other. */
static char proc_text[1 << 20];

struct snapshot {
    uint64_t at_ns, busy_ns, user_ns, steal_ns, iowait_ns, idle_ns, cpus;
};

enum { JIFFY_NS = 10000000 }; /* /proc/stat counts in 1/100 s on every architecture */

/* Adds one per-CPU line of /proc/stat, from behind its number. Guest time is already part of user time. */
static inline void add_cpu(struct snapshot *snapshot, const char *cursor)
{
    uint64_t fields[8] = {0};
    for (unsigned i = 0; i < 8 && *cursor == ' '; i++) {
        cursor++;
        if (!read_u64(&cursor, &fields[i])) break;
    }
    snapshot->busy_ns += (fields[0] + fields[1] + fields[2] + fields[5] + fields[6]) * JIFFY_NS;
    snapshot->user_ns += (fields[0] + fields[1]) * JIFFY_NS;
    snapshot->idle_ns += fields[3] * JIFFY_NS;
    snapshot->iowait_ns += fields[4] * JIFFY_NS;
    snapshot->steal_ns += fields[7] * JIFFY_NS;
    snapshot->cpus++;
}

/*
 * Sums the lines of /proc/stat over the CPUs that we may use. A container may see its own CPUs alone, counted from 0 (lxcfs,
 * OpenVZ), whatever numbers the kernel gives them: as many lines as we have CPUs are those. With any other number of
 * lines nothing is known, and cpus is 0.
 */
static inline struct snapshot take_snapshot(const struct host_cpus *cpus)
{
    const struct snapshot nothing = {.at_ns = clock_ns(CLOCK_WALL_MONOTONIC)};
    struct snapshot ours = nothing, all = nothing;
    if (!read_file("/proc/stat", proc_text, sizeof proc_text)) return nothing;
    for (const char *line = proc_text; text_starts(line, "cpu");) {
        uint64_t cpu;
        const char *cursor = line + 3;
        if (read_u64(&cursor, &cpu)) {
            if (mask_has(cpus->mask, cpu)) add_cpu(&ours, cursor);
            add_cpu(&all, cursor);
        }
        while (*line && *line++ != '\n') {}
    }
    return all.cpus == cpus->affinity_count ? all : ours.cpus == cpus->affinity_count ? ours : nothing;
}

/* Share of all CPU time between two snapshots; 0 when there is none. */
static inline double share(uint64_t part_ns, const struct snapshot *from, const struct snapshot *to)
{
    const double all = (double)(to->at_ns - from->at_ns) * (double)to->cpus;
    return all > 0 ? (double)part_ns / all : 0;
}

/*
 * CPU time that was neither idle nor stolen. Most kernels only look at each timer tick who runs, so that the busy time of
 * a second can be wrong by several jiffies (Linux, Documentation/admin-guide/cpu-load.rst); how long a CPU was idle they
 * measure. Where /proc/stat says nothing of most of the time (some sandboxes), what it counted as busy has to do.
 */
static inline uint64_t busy_between(const struct snapshot *from, const struct snapshot *to)
{
    const uint64_t all = (to->at_ns - from->at_ns) * to->cpus, counted = growth(from->busy_ns, to->busy_ns);
    const uint64_t idle = growth(from->idle_ns + from->iowait_ns, to->idle_ns + to->iowait_ns);
    const uint64_t rest = idle + growth(from->steal_ns, to->steal_ns);
    return counted + rest < all / 2 ? counted : growth(rest, all);
}

static inline double foreign_ratio(const struct snapshot *from, const struct snapshot *to, uint64_t own_ns)
{
    return share(growth(own_ns, busy_between(from, to)), from, to);
}

#endif
