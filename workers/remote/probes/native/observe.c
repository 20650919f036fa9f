/*
 * observe: runs one command and records the conditions under which it ran.
 *
 *   observe --probe P --variant V --repeat N --timeout S --quiet-budget S [--known-quiet yes] [--only-quiet yes]
 *           [--since UPTIME] [--series FILE [--series-every S]] [--memory-percent N]
 *           --out FILE --err FILE --json FILE -- command [argument ...]
 *   observe --clock      prints a monotonic clock in microseconds, for shells that have none
 *   observe --cpus       prints how many CPUs we may use
 *   observe --quota      prints the thousandths of a CPU that a cgroup allows us, 0 when it does not limit us
 *   observe --memory     prints bytes of memory: available, of how many, and how many of them we may take
 *   observe --tick       sends USR1 to its parent every second, and ends with it
 *
 * First the host must be quiet: foreign CPU at most 5 % over half a second, or over the last two seconds when it was
 * not so at once; --quiet-budget bounds the wait, --known-quiet skips it (the repeat before ended quiet). With
 * --only-quiet a host that stays busy is left alone: what runs is a message that says so. Then the
 * command runs in a process group of its own. At the timeout, or when observe itself gets TERM or INT, the group gets
 * TERM and two seconds later KILL; nothing of it is left when observe ends. The same happens at once when so little
 * memory is available that others may soon lack it: less than N percent of it, or without that option less than the
 * reserve of host.h or half of what was available before, whichever is less. When memory runs out all the same, the
 * kernel ends the command before any other program. One JSON line is written to --json. Foreign
 * CPU is what the CPUs that we may use did for others than the command: unlike steal, it shows neighbours inside the
 * same guest. --series also writes the time series of series.h while the command runs, a line a second or as often as
 * asked. Exit codes: 0 recorded, whatever the command did; else as in probe.h.
 */
#include "probe.h"
#include "command.h"
#include "host.h"
#include "json.h"
#include "series.h"

enum { NO_HANG = 1, SUBREAPER_OPTION = 36, USAGE_SELF = 0, USAGE_CHILDREN = -1, GATE_WINDOW = 4 };

static const uint64_t GATE_SLICE_NS = 500000000u, GRACE_NS = 2000000000u;
static const uint64_t QUIET_WALL_NS = 2000000000u, QUIET_SHORT_NS = 300000000u;
static const uint64_t SIGNALS = 1u << (SIG_CHILD - 1) | 1u << (SIG_TERM - 1) | 1u << (SIG_INT - 1);
static const uint64_t SERIES_EVERY_NS_MIN = 100000000u, MEMORY_LOOK_NS = 1000000000u;
static const double FOREIGN_CPU_RATIO_MAX = 0.05;

struct options {
    const char *probe, *variant, *out, *err, *json, *series;
    uint64_t repeat, timeout_ns, quiet_budget_ns, since_ns, series_every_ns, memory_percent;
    bool is_known_quiet, is_only_quiet;
    char **command;
};

struct usage {
    long user_s, user_us, system_s, system_us, rest[14];
};

struct cpu_time {
    uint64_t all_ns, user_ns;
};

static struct cpu_time cpu_time_of(int who)
{
    struct usage usage = {0};
    SYS2(NR_GETRUSAGE, who, &usage);
    const uint64_t user_ns = (uint64_t)usage.user_s * NS_PER_S + (uint64_t)usage.user_us * 1000;
    const uint64_t system_ns = (uint64_t)usage.system_s * NS_PER_S + (uint64_t)usage.system_us * 1000;
    return (struct cpu_time){user_ns + system_ns, user_ns};
}

struct outcome {
    int status;
    bool is_timed_out, is_cancelled, is_memory_short;
    uint64_t quiet_wait_ns, started_ns;
    uint64_t memory_least_bytes;   /* below it the command is ended */
    struct host_memory memory;     /* when it was last looked at */
    struct cpu_time self, command; /* ours while it ran, and its own */
    bool is_quiet;
    struct snapshot before, after;
};

/* One of CHLD, TERM and INT, or 0 when none came in time. They are blocked everywhere else. */
static int next_signal(uint64_t wait_ns)
{
    const struct time_spec wait = {(long)(wait_ns / NS_PER_S), (long)(wait_ns % NS_PER_S)};
    long signal = SYS4(NR_SIGTIMEDWAIT, &SIGNALS, 0, &wait, sizeof SIGNALS);
    return signal > 0 ? (int)signal : 0;
}

/* Waits until the host is quiet or the budget is spent; false when we were told to stop. */
static bool wait_for_quiet(const struct options *options, const struct host_cpus *cpus, struct outcome *outcome)
{
    struct snapshot ring[GATE_WINDOW + 1];
    unsigned slices = 0;
    outcome->is_quiet = options->is_known_quiet;
    ring[0] = take_snapshot(cpus);
    /* Where nobody sees what others do, waiting shows nothing either. */
    if (ring[0].cpus == 0) outcome->is_quiet = !options->is_only_quiet;
    while (!outcome->is_quiet && outcome->quiet_wait_ns + GATE_SLICE_NS <= options->quiet_budget_ns) {
        if (next_signal(GATE_SLICE_NS)) return false;
        outcome->quiet_wait_ns += GATE_SLICE_NS;
        slices++;
        ring[slices % (GATE_WINDOW + 1)] = take_snapshot(cpus);
        const unsigned oldest = slices < GATE_WINDOW ? 0 : slices - GATE_WINDOW;
        if (slices > 1 && slices < GATE_WINDOW) continue;
        outcome->is_quiet = foreign_ratio(&ring[oldest % (GATE_WINDOW + 1)], &ring[slices % (GATE_WINDOW + 1)], 0)
                            <= FOREIGN_CPU_RATIO_MAX;
    }
    return true;
}

/* Sets how much memory has to stay available while the command runs. */
static void set_memory_least(const struct options *options, struct outcome *outcome)
{
    const struct host_memory memory = outcome->memory = host_memory_read();
    const uint64_t reserve = reserve_bytes(&memory), half = memory.available_bytes / 2;
    outcome->memory_least_bytes = options->memory_percent ? memory.total_bytes / 100 * options->memory_percent
                                  : reserve < half        ? reserve
                                                          : half;
}

static bool is_memory_short(struct outcome *outcome)
{
    outcome->memory = host_memory_read();
    return outcome->memory.available_bytes < outcome->memory_least_bytes;
}

/* True when the command itself has ended; reaps whatever else has. */
static bool has_ended(long child, int *status)
{
    bool is_over = false;
    int32_t some_status = 0;
    long pid;
    while ((pid = SYS4(NR_WAIT4, -1, &some_status, NO_HANG, 0)) > 0) {
        if (pid != child) continue;
        *status = some_status;
        is_over = true;
    }
    return is_over;
}

static void supervise(const struct options *options, const struct host_cpus *cpus, long child, struct series *series,
                      struct outcome *outcome)
{
    uint64_t deadline_ns = outcome->before.at_ns + options->timeout_ns, end_ns;
    bool is_ending = false;
    while (!has_ended(child, &outcome->status)) {
        const uint64_t now_ns = clock_ns(CLOCK_WALL_MONOTONIC);
        if (now_ns >= series->next_ns) {
            const struct snapshot now = take_snapshot(cpus);
            series_line(series, cpus, &now);
        }
        const uint64_t wake_ns = series->next_ns < deadline_ns ? series->next_ns : deadline_ns;
        const uint64_t wait_ns = wake_ns > now_ns ? wake_ns - now_ns : 0;
        const int signal = next_signal(wait_ns < MEMORY_LOOK_NS ? wait_ns : MEMORY_LOOK_NS);
        if (signal == SIG_CHILD || (signal && is_ending)) continue;
        const bool is_late = clock_ns(CLOCK_WALL_MONOTONIC) >= deadline_ns;
        const bool is_short = !is_ending && !signal && !is_late && is_memory_short(outcome);
        if (signal == 0 && !is_late && !is_short) continue;
        SYS2(NR_KILL, -child, is_ending ? SIG_KILL : SIG_TERM);
        if (!is_ending) {
            outcome->is_cancelled = signal != 0;
            outcome->is_memory_short = is_short;
            outcome->is_timed_out = !signal && !is_short;
        }
        is_ending = true;
        deadline_ns = clock_ns(CLOCK_WALL_MONOTONIC) + GRACE_NS;
    }
    outcome->after = take_snapshot(cpus);
    SYS2(NR_KILL, -child, SIG_KILL);
    series_end(series, cpus, &outcome->after);
    end_ns = clock_ns(CLOCK_WALL_MONOTONIC) + GRACE_NS;
    while (SYS4(NR_WAIT4, -1, 0, NO_HANG, 0) >= 0 && clock_ns(CLOCK_WALL_MONOTONIC) < end_ns) sleep_ns(1000000);
    outcome->command = cpu_time_of(USAGE_CHILDREN);
}

static void ratio_or_null(const char *key, bool is_known, double ratio)
{
    if (is_known) json_real(key, ratio, 4);
    else json_word(key, "null");
}

static int report(const struct options *options, const struct host_cpus *cpus, const struct series *series,
                  const struct outcome *outcome)
{
    const struct snapshot *before = &outcome->before, *after = &outcome->after;
    const uint64_t wall_ns = after->at_ns - before->at_ns;
    const int signal = outcome->status & 0x7f;
    const double usable = cpus->quota_milli && cpus->quota_milli < cpus->affinity_count * 1000
                              ? (double)cpus->quota_milli / 1000
                              : (double)cpus->affinity_count;
    const struct cpu_time *command = &outcome->command, *self = &outcome->self;
    const double foreign = foreign_ratio(before, after, command->all_ns + self->all_ns);
    /* Without the kernel's own work, which a disk or a network makes in threads and interrupts that belong to nobody. */
    const uint64_t others_user_ns = growth(command->user_ns + self->user_ns, growth(before->user_ns, after->user_ns));
    char partial[4096];
    text_append(text_append(partial, partial + sizeof partial, options->json), partial + sizeof partial, ".part");
    json_begin();
    json_text("probe", options->probe);
    json_text("variant", options->variant);
    json_u64("repeat", options->repeat);
    json_key("command");
    for (char **word = options->command; *word; word++) {
        json_char(word == options->command ? '"' : ' ');
        json_escaped(*word);
    }
    json_char('"');
    if (signal) json_word("exit_code", "null");
    else json_u64("exit_code", (uint64_t)(outcome->status >> 8 & 0xff));
    if (signal) json_u64("signal", (uint64_t)signal);
    else json_word("signal", "null");
    json_bool("timed_out", outcome->is_timed_out);
    json_bool("cancelled", outcome->is_cancelled);
    json_bool("memory_short", outcome->is_memory_short);
    json_u64("memory_available_bytes", outcome->memory.available_bytes);
    json_u64("memory_bytes", outcome->memory.total_bytes);
    json_seconds("started_s", growth(options->since_ns, outcome->started_ns));
    json_seconds("wall_s", wall_ns);
    json_seconds("cpu_s", command->all_ns);
    json_u64("usable_cpus", cpus->usable_count);
    json_real("cpu_share", wall_ns ? (double)command->all_ns / ((double)wall_ns * usable) : 0, 4);
    const bool is_known = before->cpus && before->cpus == after->cpus;
    ratio_or_null("foreign_cpu_ratio", is_known, foreign);
    ratio_or_null("foreign_user_ratio", is_known, share(others_user_ns, before, after));
    ratio_or_null("steal_ratio", is_known, share(growth(before->steal_ns, after->steal_ns), before, after));
    ratio_or_null("iowait_ratio", is_known, share(growth(before->iowait_ns, after->iowait_ns), before, after));
    series_mhz(series);
    json_seconds("quiet_wait_s", outcome->quiet_wait_ns);
    json_bool("is_quiet", outcome->is_quiet);
    /* Two quiet seconds: all of them during the command, or some of them in the wait before it. */
    json_bool("ended_quiet",
              foreign <= FOREIGN_CPU_RATIO_MAX && wall_ns >= (outcome->is_quiet ? QUIET_SHORT_NS : QUIET_WALL_NS));

    const long file = SYS4(NR_OPENAT, AT_CWD, partial, O_WRITE_NEW | O_CLOSE_ON_EXEC, 0600);
    if (file < 0) return output_exit(-file);
    const int exit_code = json_end(file);
    SYS1(NR_CLOSE, file);
    if (exit_code) {
        SYS3(NR_UNLINKAT, AT_CWD, partial, 0);
        return exit_code;
    }
    return output_exit(-SYS4(NR_RENAMEAT, AT_CWD, partial, AT_CWD, options->json));
}

static bool parse_options(char **argv, struct options *options)
{
    for (; argv[0] && argv[1]; argv += 2) {
        const char *value = argv[1];
        if (text_equals(argv[0], "--")) {
            options->command = argv + 1;
            return options->probe && options->variant && options->out && options->err && options->json
                   && options->timeout_ns && options->series_every_ns >= SERIES_EVERY_NS_MIN;
        }
        if (text_equals(argv[0], "--probe")) options->probe = value;
        else if (text_equals(argv[0], "--variant")) options->variant = value;
        else if (text_equals(argv[0], "--out")) options->out = value;
        else if (text_equals(argv[0], "--err")) options->err = value;
        else if (text_equals(argv[0], "--json")) options->json = value;
        else if (text_equals(argv[0], "--series")) options->series = value;
        else if (text_equals(argv[0], "--known-quiet")) options->is_known_quiet = text_equals(value, "yes");
        else if (text_equals(argv[0], "--only-quiet")) options->is_only_quiet = text_equals(value, "yes");
        else if (text_equals(argv[0], "--repeat") && parse_u64(value, &options->repeat)) continue;
        else if (text_equals(argv[0], "--memory-percent") && parse_u64(value, &options->memory_percent)) continue;
        else if (text_equals(argv[0], "--timeout") && parse_seconds(value, &options->timeout_ns)) continue;
        else if (text_equals(argv[0], "--quiet-budget") && parse_seconds(value, &options->quiet_budget_ns)) continue;
        else if (text_equals(argv[0], "--series-every") && parse_seconds(value, &options->series_every_ns)) continue;
        else if (text_equals(argv[0], "--since") && parse_seconds(value, &options->since_ns)) continue;
        else return false;
    }
    return false;
}

static int print_numbers(const uint64_t *numbers, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        json_digits(numbers[i], 1);
        json_char(i + 1 < count ? ' ' : '\n');
    }
    return output_exit(write_all(1, json_line.text, json_line.length));
}

static int print_number(uint64_t number)
{
    return print_numbers(&number, 1);
}

static int print_memory(void)
{
    const struct host_memory memory = host_memory_read();
    const uint64_t spare = growth(reserve_bytes(&memory), memory.available_bytes);
    return print_numbers((const uint64_t[]){memory.available_bytes, memory.total_bytes, spare}, 3);
}

static int tick(void)
{
    const long parent = SYS0(NR_GETPPID);
    SYS2(NR_PRCTL, PDEATHSIG_OPTION, SIG_KILL);
    for (;;) {
        sleep_ns(NS_PER_S);
        if (SYS0(NR_GETPPID) != parent || SYS2(NR_KILL, parent, SIG_USER_1) < 0) return EXIT_OK;
    }
}

static int probe_main(int argc, char **argv, char **envp)
{
    static struct host_cpus cpus;
    static struct series series;
    struct options options = {.series_every_ns = NS_PER_S};
    struct outcome outcome = {.status = 0};
    char *too_busy[] = {"/bin/sh", "-c", "echo '=== failure unavailable: the host was not idle'; exit 7", 0};
    const uint64_t default_action[4] = {0};
    char uptime[64];
    if (argc == 2 && text_equals(argv[1], "--clock")) return print_number(clock_ns(CLOCK_WALL_MONOTONIC) / 1000);
    if (argc == 2 && text_equals(argv[1], "--cpus")) {
        host_cpus_read(&cpus);
        return print_number(cpus.usable_count);
    }
    if (argc == 2 && text_equals(argv[1], "--quota")) {
        host_cpus_read(&cpus);
        return print_number(cpus.quota_milli);
    }
    if (argc == 2 && text_equals(argv[1], "--memory")) return print_memory();
    if (argc == 2 && text_equals(argv[1], "--tick")) return tick();
    if (argc < 1 || !parse_options(argv + 1, &options))
        return json_error("observe",
                          "usage: observe --probe P --variant V --repeat N --timeout S --quiet-budget S "
                          "--out F --err F --json F -- command",
                          0, EXIT_USAGE);
    /* An ignored CHLD, inherited from whoever started us, would make the kernel throw away the command's status. */
    SYS4(NR_SIGACTION, SIG_CHILD, default_action, 0, sizeof SIGNALS);
    SYS4(NR_SIGPROCMASK, 0, &SIGNALS, 0, sizeof SIGNALS);
    SYS2(NR_PRCTL, SUBREAPER_OPTION, 1);
    host_cpus_read(&cpus);
    if (!wait_for_quiet(&options, &cpus, &outcome)) return EXIT_RESOURCE;
    if (options.is_only_quiet && !outcome.is_quiet) options.command = too_busy;
    if (read_file("/proc/uptime", uptime, sizeof uptime)) {
        char *end = uptime;
        while (*end && *end != ' ') end++;
        *end = '\0';
        if (!parse_seconds(uptime, &outcome.started_ns)) outcome.started_ns = 0;
    }
    const long error = series_open(&series, options.series, options.series_every_ns, &cpus);
    if (error) return json_error("observe", "cannot write the series", error, output_exit(error));
    set_memory_least(&options, &outcome);
    const struct cpu_time self = cpu_time_of(USAGE_SELF);
    outcome.before = take_snapshot(&cpus);
    series_start(&series, &outcome.before);
    const long child = start(options.command, options.out, options.err, envp);
    if (child < 0) return json_error("observe", "cannot start a process", child, EXIT_RESOURCE);
    supervise(&options, &cpus, child, &series, &outcome);
    outcome.self = cpu_time_of(USAGE_SELF);
    outcome.self.all_ns -= self.all_ns;
    outcome.self.user_ns = growth(self.user_ns, outcome.self.user_ns);
    return report(&options, &cpus, &series, &outcome);
}
