/*
 * Bytes that went to and from the disks and the network, as /proc counts them.
 *
 * Disks are whole disks: no partition, and no device that stands on another one, so that a byte is counted once.
 * Network is every interface but the loopback one.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "host.h"

enum { DISKS_MAX = 1024, NAME_BYTES = 32, SECTOR_BYTES = 512 };

struct disks {
    unsigned count;
    char names[DISKS_MAX][NAME_BYTES];
};

struct traffic {
    uint64_t read_bytes, written_bytes, received_bytes, sent_bytes;
    bool has_disks, has_network;
};

static inline const char *next_line(const char *text)
{
    while (*text && *text++ != '\n') {}
    return text;
}

/* The next number of a line, blanks before it skipped; 0 when there is none. */
static inline uint64_t next_u64(const char **cursor)
{
    uint64_t value;
    while (**cursor == ' ' || **cursor == '\t') ++*cursor;
    return read_u64(cursor, &value) ? value : 0;
}

/* Copies the next word up to a blank or the stop character; false when it is longer than a name can be. */
static inline bool next_name(const char **cursor, char stop, char name[NAME_BYTES])
{
    unsigned length = 0;
    while (**cursor == ' ') ++*cursor;
    for (; **cursor && **cursor != ' ' && **cursor != '\n' && **cursor != stop; ++*cursor) {
        if (length + 1 == NAME_BYTES) return false;
        name[length++] = **cursor;
    }
    name[length] = '\0';
    return length > 0;
}

/* Whether the kernel lists it as a disk of its own, and it keeps its bytes on no other disk. */
static inline bool is_disk(const char *name)
{
    static const char *const stacked[] = {"loop", "ram", "zram", "dm-", "md", "bcache", "drbd", "zd"};
    char path[96], text[32];
    char *end = path + sizeof path, *at = text_append(path, end, "/sys/block/");
    for (unsigned i = 0; i < sizeof stacked / sizeof stacked[0]; i++)
        if (text_starts(name, stacked[i])) return false;
    char *disk = at;
    at = text_append(at, end, name);
    for (; disk < at; disk++)
        if (*disk == '/') *disk = '!';
    text_append(at, end, "/dev");
    return read_file(path, text, sizeof text);
}

/* nvme0c1n1 is a path to nvme0n1. Older kernels count on the path only, newer ones on both. */
static inline bool is_path_to(const char *path, const char *disk)
{
    uint64_t controller;
    while (*path && *path == *disk) path++, disk++;
    return *path++ == 'c' && *disk == 'n' && read_u64(&path, &controller) && text_equals(path, disk);
}

static inline void find_disks(struct disks *disks)
{
    unsigned kept = 0;
    if (!read_file("/proc/diskstats", proc_text, sizeof proc_text)) return;
    for (const char *line = proc_text; *line && disks->count < DISKS_MAX; line = next_line(line)) {
        const char *cursor = line;
        char *name = disks->names[disks->count];
        next_u64(&cursor);
        next_u64(&cursor);
        if (next_name(&cursor, ' ', name) && is_disk(name)) disks->count++;
    }
    for (unsigned i = 0; i < disks->count; i++) {
        bool has_path = false;
        for (unsigned j = 0; j < disks->count && text_starts(disks->names[i], "nvme"); j++)
            has_path |= is_path_to(disks->names[j], disks->names[i]);
        if (!has_path && kept++ != i) text_append(disks->names[kept - 1], disks->names[kept], disks->names[i]);
    }
    disks->count = kept;
}

static inline bool has_disk(const struct disks *disks, const char *name, unsigned *expected)
{
    for (unsigned i = 0; i < disks->count; i++) {
        const unsigned index = (*expected + i) % disks->count;
        if (!text_equals(disks->names[index], name)) continue;
        *expected = index + 1;
        return true;
    }
    return false;
}

static inline struct traffic read_traffic(const struct disks *disks)
{
    struct traffic traffic = {0, 0, 0, 0, false, false};
    char name[NAME_BYTES];
    unsigned expected = 0;
    if (disks->count && read_file("/proc/diskstats", proc_text, sizeof proc_text)) traffic.has_disks = true;
    for (const char *line = proc_text; traffic.has_disks && *line; line = next_line(line)) {
        const char *cursor = line;
        uint64_t fields[7];
        next_u64(&cursor);
        next_u64(&cursor);
        if (!next_name(&cursor, ' ', name) || !has_disk(disks, name, &expected)) continue;
        for (unsigned i = 0; i < 7; i++) fields[i] = next_u64(&cursor);
        traffic.read_bytes += fields[2] * SECTOR_BYTES;
        traffic.written_bytes += fields[6] * SECTOR_BYTES;
    }
    if (!read_file("/proc/net/dev", proc_text, sizeof proc_text)) return traffic;
    for (const char *line = proc_text; *line; line = next_line(line)) {
        const char *cursor = line;
        uint64_t fields[9];
        if (!next_name(&cursor, ':', name) || *cursor++ != ':') continue;
        traffic.has_network = true;
        for (unsigned i = 0; i < 9; i++) fields[i] = next_u64(&cursor);
        if (text_equals(name, "lo")) continue;
        traffic.received_bytes += fields[0];
        traffic.sent_bytes += fields[8];
    }
    return traffic;
}

#endif
