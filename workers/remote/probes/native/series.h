/*
 * The time series beside a command: one line of numbers each period, appended to a file while the command runs.
 *
 * It costs a few small reads of /proc and /sys a period. A value that this machine does not tell is "-".
 */
#ifndef SERIES_H
#define SERIES_H

#include "host.h"
#include "json.h"
#include "traffic.h"

/*
 * Below a quarter of a period the jiffies of /proc/stat say nothing: so short a last line is left out. Of many CPUs a
 * few are asked for their clock: on older kernels each answer interrupts its CPU.
 */
enum { LAST_PART_OF_PERIOD = 4, MHZ_CPUS_MAX = 8 };

struct series {
    long file; /* below 0: no series */
    uint64_t every_ns, start_ns, next_ns;
    struct snapshot snapshot;
    struct traffic traffic;
    struct disks disks;
    uint64_t mhz_cpus[MHZ_CPUS_MAX], mhz_cpu_count, mhz_lines;
    double mhz_sum, mhz_lowest;
    bool has_cpufreq, has_mhz;
};

/* ---- clock ------------------------------------------------------------------------------------------------------ */

/* The mean of /proc/cpuinfo over the CPUs that we may use; 0 when it tells none. */
static inline double cpuinfo_mhz(const struct host_cpus *cpus)
{
    uint64_t cpu = MASK_BITS, hz = 0;
    double sum = 0, count = 0;
    if (!read_file("/proc/cpuinfo", proc_text, sizeof proc_text)) return 0;
    for (const char *line = proc_text; *line; line = next_line(line)) {
        const bool is_mhz = text_starts(line, "cpu MHz");
        if (!is_mhz && !text_starts(line, "processor")) continue;
        while (*line && *line != ':' && *line != '\n') line++;
        if (*line == ':') line++;
        if (!is_mhz) cpu = next_u64(&line);
        if (!is_mhz || !mask_has(cpus->mask, cpu)) continue;
        hz = next_u64(&line) * 1000000u;
        if (*line == '.') line++;
        for (uint64_t unit = 100000; unit && *line >= '0' && *line <= '9'; unit /= 10, line++)
            hz += (uint64_t)(*line - '0') * unit;
        sum += (double)hz / 1e6;
        count++;
    }
    return count > 0 ? sum / count : 0;
}

/* The mean clock now; 0 = unknown. */
static inline double read_mhz(const struct series *series, const struct host_cpus *cpus)
{
    double sum = 0, count = 0;
    if (!series->has_mhz) return 0;
    if (!series->has_cpufreq) return cpuinfo_mhz(cpus);
    for (uint64_t i = 0; i < series->mhz_cpu_count; i++) {
        char text[32];
        const char *cursor = text;
        uint64_t khz;
        if (!cpu_file(series->mhz_cpus[i], "/cpufreq/scaling_cur_freq", text, sizeof text)) continue;
        if (!read_u64(&cursor, &khz) || khz == 0) continue;
        sum += (double)khz / 1000;
        count++;
    }
    return count > 0 ? sum / count : 0;
}

static inline void find_mhz(struct series *series, const struct host_cpus *cpus)
{
    uint64_t seen = 0;
    for (uint64_t cpu = 0; cpu < MASK_BITS && series->mhz_cpu_count < MHZ_CPUS_MAX; cpu++)
        if (mask_has(cpus->mask, cpu) && seen++ * MHZ_CPUS_MAX >= series->mhz_cpu_count * cpus->affinity_count)
            series->mhz_cpus[series->mhz_cpu_count++] = cpu;
    series->has_mhz = series->has_cpufreq = true;
    if (read_mhz(series, cpus) > 0) return;
    series->has_cpufreq = false;
    series->has_mhz = read_mhz(series, cpus) > 0;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

static inline void series_real(bool is_known, double value, unsigned decimals)
{
    json_char(' ');
    if (is_known) json_number(value, decimals);
    else json_char('-');
}

/* Jiffies are coarse: their sum may be a little more than the time that passed. */
static inline void series_ratio(uint64_t from_ns, uint64_t to_ns, const struct snapshot *from,
                                const struct snapshot *to)
{
    const double ratio = share(growth(from_ns, to_ns), from, to);
    series_real(to->cpus > 0, ratio < 1 ? ratio : 1, 4);
}

static inline void series_rate(bool is_known, uint64_t from, uint64_t to, double seconds)
{
    series_real(is_known, (double)growth(from, to) / seconds, 0);
}

/* Appends what json_line holds. A series that cannot be written any more ends; the measurement goes on. */
static inline long series_write(struct series *series)
{
    const long error = write_all(series->file, json_line.text, json_line.length);
    if (error) {
        SYS1(NR_CLOSE, series->file);
        series->file = -1;
        series->next_ns = UINT64_MAX;
    }
    return error;
}

/* Makes the file with its header; 0 or an error number. Without a path nothing is observed. */
static inline long series_open(struct series *series, const char *path, uint64_t every_ns, const struct host_cpus *cpus)
{
    series->next_ns = UINT64_MAX;
    series->every_ns = every_ns;
    series->file = path ? SYS4(NR_OPENAT, AT_CWD, path, O_WRITE_NEW | O_CLOSE_ON_EXEC, 0600) : -1;
    if (series->file < 0) return path ? -series->file : 0;
    find_disks(&series->disks);
    find_mhz(series, cpus);
    json_line.length = 0;
    json_raw("t_s cpu_ratio steal_ratio iowait_ratio mhz load disk_read_bytes_per_s disk_write_bytes_per_s "
             "net_receive_bytes_per_s net_send_bytes_per_s\n");
    return series_write(series);
}

static inline void series_start(struct series *series, const struct snapshot *start)
{
    if (series->file < 0) return;
    series->traffic = read_traffic(&series->disks);
    series->snapshot = *start;
    series->start_ns = start->at_ns;
    series->next_ns = start->at_ns + series->every_ns;
}

static inline void series_line(struct series *series, const struct host_cpus *cpus, const struct snapshot *now)
{
    const struct snapshot *last = &series->snapshot;
    const struct traffic traffic = read_traffic(&series->disks), *before = &series->traffic;
    const double seconds = (double)(now->at_ns - last->at_ns) / (double)NS_PER_S, mhz = read_mhz(series, cpus);
    const bool has_disks = traffic.has_disks && before->has_disks;
    const bool has_network = traffic.has_network && before->has_network;
    uint64_t load_ns = 0;
    char load[32];
    bool has_load = read_file("/proc/loadavg", load, sizeof load);
    for (char *at = load; *at; at++)
        if (*at == ' ') *at = '\0';
    has_load = has_load && parse_seconds(load, &load_ns);

    json_line.length = 0;
    json_number((double)(now->at_ns - series->start_ns) / (double)NS_PER_S, 3);
    series_ratio(0, busy_between(last, now), last, now);
    series_ratio(last->steal_ns, now->steal_ns, last, now);
    series_ratio(last->iowait_ns, now->iowait_ns, last, now);
    series_real(mhz > 0, mhz, 1);
    series_real(has_load, (double)load_ns / (double)NS_PER_S, 2);
    series_rate(has_disks, before->read_bytes, traffic.read_bytes, seconds);
    series_rate(has_disks, before->written_bytes, traffic.written_bytes, seconds);
    series_rate(has_network, before->received_bytes, traffic.received_bytes, seconds);
    series_rate(has_network, before->sent_bytes, traffic.sent_bytes, seconds);
    json_char('\n');
    if (mhz > 0) {
        series->mhz_lowest = series->mhz_lines++ && series->mhz_lowest < mhz ? series->mhz_lowest : mhz;
        series->mhz_sum += mhz;
    }
    series->traffic = traffic;
    series->snapshot = *now;
    /* A machine that stood still for a while goes on at the next whole period. */
    series->next_ns += ((now->at_ns - series->next_ns) / series->every_ns + 1) * series->every_ns;
    (void)series_write(series);
}

/* The line of the last, shorter period. */
static inline void series_end(struct series *series, const struct host_cpus *cpus, const struct snapshot *end)
{
    if (series->file < 0) return;
    if ((end->at_ns - series->snapshot.at_ns) * LAST_PART_OF_PERIOD >= series->every_ns) {
        series->next_ns = end->at_ns;
        series_line(series, cpus, end);
    }
    if (series->file >= 0) SYS1(NR_CLOSE, series->file);
}

static inline void series_mhz(const struct series *series)
{
    const char *const keys[] = {"mhz_min", "mhz_mean"};
    const double values[] = {series->mhz_lowest, series->mhz_lines ? series->mhz_sum / (double)series->mhz_lines : 0};
    for (unsigned i = 0; i < 2; i++) {
        if (series->mhz_lines) json_real(keys[i], values[i], 1);
        else json_word(keys[i], "null");
    }
}

#endif
