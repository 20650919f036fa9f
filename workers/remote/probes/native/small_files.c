/*
 * small_files: what a disk and its file system do with many small files.
 *
 *   small_files --directory D --files N [--stored-on DEVICE --stored-as FILE_SYSTEM --root-on DEVICE --in-memory yes|no]
 *
 * The last four say where the caller has found that D lies, and are printed as they are.
 *
 * As when an archive is unpacked: N files of 1 to 64 KiB (log-uniform, the same sizes in every run), directory after
 * directory below D, which must not exist. Each file is created, written with bytes that cannot be compressed, and
 * flushed by an fsync that is timed by itself. Then the page cache is asked to forget the files; all are looked up, read
 * and compared; then all are removed. Before it begins, what others left unwritten in the file system is flushed: it
 * would be flushed at our expense. is_cold says that no page of any file was in memory when the reading began; caches
 * of the host or a server below are not seen. Nothing is left behind, also when it is told to stop.
 */
#include "probe.h"
#include "host.h"
#include "json.h"
#include "order.h"
#include "sha256.h"

enum {
    DIRECTORIES = 100,
    FILES_MAX = 1000000,
    FILE_BYTES_MIN = 1024,
    FILE_BYTES_MAX = 65536,
    POOL_BYTES = 1 << 20,
    SIZES_PER_OCTAVE = 64,
    SIZES = 6 * SIZES_PER_OCTAVE + 1,
    BLOCK_BYTES = 4096,
    PAGES_MAX = 16
};
enum { ZFS_TYPE = 0x2FC12FC1 }; /* keeps files in a cache of its own, which cannot be asked */
enum { O_WRITE_EXCLUSIVE = 01 | 0100 | 0200 | O_CLOSE_ON_EXEC, AT_REMOVE_DIRECTORY = 0x200, FORGET_PAGES = 4 };

static const uint64_t SEED = 0x5EED, KEEP_BYTES_MIN = 256u << 20, KEEP_BYTES_MAX = 1u << 30;
static const double OCTAVE_STEP = 1.0108892860517005; /* the 64th root of 2 */
static const uint64_t STOP_SIGNALS = 1u << (SIG_HANG_UP - 1) | 1u << (SIG_INT - 1) | 1u << (SIG_TERM - 1);

struct status_fs {
    long type, block_bytes;
    uint64_t blocks, free_blocks, available_blocks, rest[10];
};

struct run {
    const char *directory, *stored_on, *stored_as, *root_on;
    uint64_t files, file_count, directory_count; /* asked for, and there now */
    long root;                                   /* the open directory */
    bool is_made, is_in_memory;
    unsigned char *pool;
    double *fsync_ns;
    uint64_t sizes[SIZES], bytes, resident_files, filesystem_type;
    uint64_t settle_ns, create_ns, forget_ns, read_ns, remove_ns;
    const char *error;
    long error_number;
};

static int failed(struct run *run, const char *error, long error_number, int exit_code)
{
    run->error = error;
    run->error_number = error_number < 0 ? -error_number : error_number;
    return output_exit(run->error_number) == EXIT_NO_SPACE ? EXIT_NO_SPACE : exit_code;
}

static bool is_told_to_stop(void)
{
    const struct time_spec now = {0, 0};
    return SYS4(NR_SIGTIMEDWAIT, &STOP_SIGNALS, 0, &now, sizeof STOP_SIGNALS) > 0;
}

static uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

/* The size of a file depends on its number only; its content is a part of the pool, which differs in every run. */
static const unsigned char *content(const struct run *run, uint64_t index, uint64_t *size)
{
    const uint64_t random = mixed((SEED + index) * 0x9E3779B97F4A7C15u);
    *size = run->sizes[random % SIZES];
    return run->pool + (random >> 32) % (POOL_BYTES - FILE_BYTES_MAX);
}

static void directory_name(uint64_t index, char name[32])
{
    number_append(text_append(name, name + 32, "d"), name + 32, index);
}

static void file_name(const struct run *run, uint64_t index, char name[32])
{
    directory_name(index * DIRECTORIES / run->files, name);
    number_append(text_append(name + text_length(name), name + 32, "/f"), name + 32, index);
}

static int open_root(struct run *run)
{
    const long error = SYS3(NR_MKDIRAT, AT_CWD, run->directory, 0700);
    if (error < 0) return failed(run, "cannot make the directory", error, EXIT_RESOURCE);
    run->is_made = true;
    run->root = SYS4(NR_OPENAT, AT_CWD, run->directory, O_READ | O_CLOSE_ON_EXEC, 0);
    return run->root < 0 ? failed(run, "cannot open the directory", run->root, EXIT_RESOURCE) : EXIT_OK;
}

/* Sizes and content, and whether they fit: a tenth of the file system stays free, 256 MiB to 1 GiB. */
static int prepare(struct run *run)
{
    struct status_fs status = {0};
    uint64_t needed = 0, size, state = clock_ns(CLOCK_WALL_MONOTONIC);
    double exact = FILE_BYTES_MIN;
    for (unsigned i = 0; i < SIZES; i++) {
        exact = i % SIZES_PER_OCTAVE ? exact * OCTAVE_STEP : (double)(FILE_BYTES_MIN << i / SIZES_PER_OCTAVE);
        run->sizes[i] = (uint64_t)exact;
    }
    run->fsync_ns = pages(run->files * sizeof *run->fsync_ns, false);
    run->pool = pages(POOL_BYTES, false);
    if (run->pool == NULL || run->fsync_ns == NULL) return failed(run, "not enough memory", 0, EXIT_RESOURCE);
    for (uint64_t i = 0; i < POOL_BYTES / 8; i++)
        ((uint64_t *)(void *)run->pool)[i] = mixed(state += 0x9E3779B97F4A7C15u);
    for (uint64_t i = 0; i < run->files; i++) {
        content(run, i, &size);
        needed += (size + 2 * BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES; /* and a block for its name and inode */
    }
    if (SYS2(NR_FSTATFS, run->root, &status) < 0 || status.blocks == 0) return EXIT_OK;
    run->filesystem_type = (uint64_t)status.type;
    const uint64_t unit = (uint64_t)status.block_bytes, tenth = status.blocks / 10 * unit;
    const uint64_t least = tenth > KEEP_BYTES_MIN ? tenth : KEEP_BYTES_MIN;
    if (status.available_blocks * unit < needed + (least < KEEP_BYTES_MAX ? least : KEEP_BYTES_MAX))
        return failed(run, "the files do not fit beside the space to be kept free", ERRNO_NO_SPACE, EXIT_NO_SPACE);
    return EXIT_OK;
}

static int create(struct run *run)
{
    char name[32];
    uint64_t size;
    for (; run->directory_count < DIRECTORIES; run->directory_count++) {
        directory_name(run->directory_count, name);
        const long error = SYS3(NR_MKDIRAT, run->root, name, 0700);
        if (error < 0) return failed(run, "cannot make a directory", error, EXIT_RESOURCE);
    }
    while (run->file_count < run->files) {
        const uint64_t index = run->file_count;
        const unsigned char *bytes = content(run, index, &size);
        file_name(run, index, name);
        if (is_told_to_stop()) return failed(run, "told to stop", 0, EXIT_RESOURCE);
        const long file = SYS4(NR_OPENAT, run->root, name, O_WRITE_EXCLUSIVE, 0600);
        if (file < 0) return failed(run, "cannot make a file", file, EXIT_RESOURCE);
        run->file_count++;
        long error = write_all(file, bytes, size);
        const uint64_t start_ns = clock_ns(CLOCK_WALL_MONOTONIC);
        if (error == 0) error = SYS1(NR_FSYNC, file);
        run->fsync_ns[index] = (double)(clock_ns(CLOCK_WALL_MONOTONIC) - start_ns);
        const long close_error = SYS1(NR_CLOSE, file);
        if (error || close_error) return failed(run, "cannot write a file", error ? error : close_error, EXIT_OUTPUT);
        run->bytes += size;
    }
    return EXIT_OK;
}

static bool is_resident(long file, uint64_t size)
{
    unsigned char in_memory[PAGES_MAX];
    const long address = SYS6(NR_MMAP, 0, size, 1, 1, file, 0);
    bool is_any = address < 0 && address > -4096;
    if (is_any) return true; /* cannot be told */
    for (unsigned i = 0; i < PAGES_MAX; i++) in_memory[i] = 0;
    is_any = SYS3(NR_MINCORE, address, size, in_memory) < 0;
    for (unsigned i = 0; i < PAGES_MAX; i++) is_any |= in_memory[i] & 1;
    SYS2(NR_MUNMAP, address, size);
    return is_any;
}

static int forget(struct run *run)
{
    char name[32];
    uint64_t size;
    for (uint64_t i = 0; i < run->files; i++) {
        content(run, i, &size);
        file_name(run, i, name);
        if (is_told_to_stop()) return failed(run, "told to stop", 0, EXIT_RESOURCE);
        const long file = SYS4(NR_OPENAT, run->root, name, O_READ | O_CLOSE_ON_EXEC, 0);
        if (file < 0) return failed(run, "cannot open a file again", file, EXIT_CHECK);
        SYS4(NR_FADVISE, file, 0, 0, FORGET_PAGES);
        run->resident_files += is_resident(file, size);
        SYS1(NR_CLOSE, file);
    }
    return EXIT_OK;
}

static bool is_equal(const unsigned char *a, const unsigned char *b, uint64_t count)
{
    unsigned difference = 0;
    for (uint64_t i = 0; i < count; i++) difference |= a[i] ^ b[i];
    return difference == 0;
}

static int read_back(struct run *run)
{
    static unsigned char buffer[FILE_BYTES_MAX + 1];
    uint64_t status[32], size; /* the size is the seventh word of struct stat on both architectures */
    char name[32];
    for (uint64_t i = 0; i < run->files; i++) {
        const unsigned char *expected = content(run, i, &size);
        uint64_t length = 0;
        long count = 0;
        file_name(run, i, name);
        if (is_told_to_stop()) return failed(run, "told to stop", 0, EXIT_RESOURCE);
        if (SYS4(NR_FSTATAT, run->root, name, status, 0) < 0 || status[6] != size)
            return failed(run, "a file has another size than was written", 0, EXIT_CHECK);
        const long file = SYS4(NR_OPENAT, run->root, name, O_READ | O_CLOSE_ON_EXEC, 0);
        if (file < 0) return failed(run, "cannot open a file again", file, EXIT_CHECK);
        while ((count = SYS3(NR_READ, file, buffer + length, sizeof buffer - length)) > 0) length += (uint64_t)count;
        SYS1(NR_CLOSE, file);
        if (count < 0) return failed(run, "cannot read a file", count, EXIT_CHECK);
        if (length != size || !is_equal(buffer, expected, size))
            return failed(run, "a file has other content than was written", 0, EXIT_CHECK);
    }
    return EXIT_OK;
}

/* Removes what was made, and the directory itself. */
static int remove_all(struct run *run)
{
    char name[32];
    long error = 0, result;
    for (uint64_t i = 0; i < run->file_count; i++) {
        file_name(run, i, name);
        if ((result = SYS3(NR_UNLINKAT, run->root, name, 0)) < 0) error = result;
    }
    for (uint64_t i = 0; i < run->directory_count; i++) {
        directory_name(i, name);
        if ((result = SYS3(NR_UNLINKAT, run->root, name, AT_REMOVE_DIRECTORY)) < 0) error = result;
    }
    SYS1(NR_CLOSE, run->root);
    if ((result = SYS3(NR_UNLINKAT, AT_CWD, run->directory, AT_REMOVE_DIRECTORY)) < 0) error = result;
    return error ? failed(run, "cannot remove all files", error, EXIT_RESOURCE) : EXIT_OK;
}

static int timed(int (*phase)(struct run *run), struct run *run, uint64_t *duration_ns)
{
    const uint64_t start_ns = clock_ns(CLOCK_WALL_MONOTONIC);
    const int exit_code = phase(run);
    *duration_ns = clock_ns(CLOCK_WALL_MONOTONIC) - start_ns;
    return exit_code;
}

static int settle(struct run *run)
{
    const long error = SYS1(NR_SYNCFS, run->root);
    return error < 0 ? failed(run, "cannot flush the file system", error, EXIT_OUTPUT) : EXIT_OK;
}

static int report(struct run *run)
{
    char build[65];
    const double create_s = (double)run->create_ns / (double)NS_PER_S, read_s = (double)run->read_ns / (double)NS_PER_S;
    sort(run->fsync_ns, run->files);
    sha256_file("/proc/self/exe", build);
    json_begin();
    json_text("probe", "small_files");
    json_text("build_sha256", build);
    json_text("arch", PROBE_ARCH);
    json_text("directory", run->directory);
    json_u64("filesystem_type", run->filesystem_type);
    if (run->stored_on) {
        json_text("stored_on", run->stored_on);
        json_text("stored_as", run->stored_as ? run->stored_as : "unknown");
        json_text("root_on", run->root_on ? run->root_on : "unknown");
        json_bool("is_in_memory", run->is_in_memory);
    }
    json_u64("files", run->files);
    json_u64("directories", DIRECTORIES);
    json_u64("bytes", run->bytes);
    json_seconds("settle_s", run->settle_ns);
    json_seconds("create_s", run->create_ns);
    json_seconds("forget_s", run->forget_ns);
    json_seconds("read_s", run->read_ns);
    json_seconds("remove_s", run->remove_ns);
    json_real("files_per_s", (double)run->files / create_s, 3);
    json_real("write_bytes_per_s", (double)run->bytes / create_s, 0);
    json_real("fsync_p50_ns", percentile(run->fsync_ns, run->files, 50), 0);
    json_real("fsync_p99_ns", percentile(run->fsync_ns, run->files, 99), 0);
    json_real("fsync_max_ns", run->fsync_ns[run->files - 1], 0);
    json_real("read_files_per_s", (double)run->files / read_s, 3);
    json_real("read_bytes_per_s", (double)run->bytes / read_s, 0);
    json_u64("resident_files", run->resident_files);
    json_bool("is_cold", run->resident_files == 0 && run->filesystem_type != ZFS_TYPE);
    json_bool("checksum_ok", true);
    return json_end(1);
}

static int probe_main(int argc, char **argv, char **envp)
{
    static struct run run;
    (void)envp;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (text_equals(argv[i], "--directory")) run.directory = value;
        else if (text_equals(argv[i], "--files") && parse_u64(value, &run.files)) continue;
        else if (text_equals(argv[i], "--stored-on")) run.stored_on = value;
        else if (text_equals(argv[i], "--stored-as")) run.stored_as = value;
        else if (text_equals(argv[i], "--root-on")) run.root_on = value;
        else if (text_equals(argv[i], "--in-memory")) run.is_in_memory = text_equals(value, "yes");
        else
            return json_error("small_files",
                              "usage: small_files --directory D --files N [--stored-on DEVICE --stored-as "
                              "FILE_SYSTEM --root-on DEVICE --in-memory yes|no]",
                              0, EXIT_USAGE);
    }
    if (run.directory == NULL || run.directory[0] == '\0' || run.files == 0 || run.files > FILES_MAX)
        return json_error("small_files", "a directory is needed, and 1 to 1000000 files", 0, EXIT_USAGE);
    SYS4(NR_SIGPROCMASK, 0, &STOP_SIGNALS, 0, sizeof STOP_SIGNALS);
    int exit_code = open_root(&run);
    if (!run.is_made) return json_error("small_files", run.error, run.error_number, exit_code);
    if (exit_code == EXIT_OK) exit_code = prepare(&run);
    if (exit_code == EXIT_OK) exit_code = timed(settle, &run, &run.settle_ns);
    if (exit_code == EXIT_OK) exit_code = timed(create, &run, &run.create_ns);
    if (exit_code == EXIT_OK) exit_code = timed(forget, &run, &run.forget_ns);
    if (exit_code == EXIT_OK) exit_code = timed(read_back, &run, &run.read_ns);
    const char *error = run.error;
    const long error_number = run.error_number;
    const int removed = timed(remove_all, &run, &run.remove_ns);
    if (exit_code) return json_error("small_files", error, error_number, exit_code);
    return removed ? json_error("small_files", run.error, run.error_number, removed) : report(&run);
}
