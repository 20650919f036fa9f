# The fio part of disk.sh, sourced by it.
# shellcheck shell=sh disable=SC2154

# How far operations per second may drift from the begin of a window of time to its end, and still be steady: what the
# Performance Test Specification of the SNIA allows its best linear fit.
DRIFT_PERCENT=10

# Sets engine and uses_direct (1 or 0) to the best that work on the target; fails when none does. A psync engine has
# one request in flight whatever it is asked for.
look_up_engine() {
    case $filesystem,$in_memory in
    zfs,* | *,yes) ways=0 ;;
    *) ways='1 0' ;;
    esac
    for uses_direct in $ways; do
        for engine in libaio io_uring psync; do
            if "$fio" --name=try --filename="$fio_target" --rw=randread --bs=4k --size=1m --io_size=4k --thread \
                --ioengine=$engine --direct="$uses_direct" --output=/dev/null > /dev/null 2>&1 < /dev/null; then
                return
            fi
        done
    done
    return 1
}

# name_fio_file KIND: sets target, the test file of this kind in the directory, and fio_target.
name_fio_file() {
    target=$directory/$RUN_NAME.$1
    # fio separates names by colons.
    fio_target=$(printf '%s\n' "$target" | sed 's/:/\\:/g')
}

# Whether the file of this kind was written before in this run: `prepared.KIND` remembers its size, how it can be used
# and what may cache it. Sets file_mib, engine, uses_direct and cache_mib.
is_prepared() {
    [ -s "$target" ] && [ -r "$RUN_DIR/prepared.$1" ] || return 1
    read -r file_mib engine uses_direct cache_mib prepared < "$RUN_DIR/prepared.$1"
    [ "$prepared" = "$target" ]
}

# Writes the whole test file once a run, since reads of what was never written do not touch the disk: write_fio_file KIND
# SECONDS. Takes file_mib and sets it to what was written in that time; sets engine and uses_direct.
write_fio_file() {
    echo "$target" >> "$RUN_DIR/files"
    dd if=/dev/zero of="$target" bs=1M count=1 2> /dev/null || no_space "no room for the first MiB in $directory"
    look_up_engine || unavailable "none of fio's engines works on $filesystem here"
    from_us=$("$RUN_DIR/bin/observe" --clock) part=$RUN_DIR/fio.part
    "$fio" --name=prefill --filename="$fio_target" --rw=write --bs=1m --size="${file_mib}m" --thread --iodepth=8 \
        --ioengine="$engine" --direct="$uses_direct" --refill_buffers --randrepeat=0 --fallocate=none --end_fsync=1 \
        --runtime="$2" --output="$part" < /dev/null >&2
    check_fio $? "writing the file"
    file_mib=$(($(stat -c %s -- "$target") / MIB))
    echo "wrote $file_mib MiB in $((($("$RUN_DIR/bin/observe" --clock) - from_us) / 1000)) ms before the measurement" >&2
    sync
    echo "$file_mib $engine $uses_direct ${cache_mib:-0} $target" > "$RUN_DIR/prepared.$1"
    rm -f "$part"
}

# prepare_fio KIND BYTES: the test file of fio_run or fio_local, smaller where the directory has little space.
prepare_fio() {
    name_fio_file "$1"
    if is_prepared "$1"; then return; fi
    fit_room $(($2 / MIB))
    file_mib=$fitting_mib
    write_fio_file "$1" 150
}

# Sets cache_mib: how much of a file memory may keep here, which is what is available within the limits above us.
look_up_cache() {
    look_up_own_cache
    [ -z "$cache_mib" ] || return 0
    look_up_memory
    # What others have read makes way for our file, too, and a limit counts it as used.
    cache_mib=$(lower "$(meminfo_mib MemAvailable)" "$memory_mib")
}

# prepare_steady LEAST_BYTES SECONDS MOST_BYTES: a file of twice the cache at least; what cannot be written is refused.
prepare_steady() {
    name_fio_file steady
    is_prepared steady || write_steady_file "$@"
    [ "$file_mib" -ge $((2 * cache_mib)) ] ||
        unavailable "only $file_mib of $((2 * cache_mib)) MiB, twice what memory may keep, were written in $2 s"
}

write_steady_file() {
    look_up_cache
    file_mib=$((2 * cache_mib))
    [ "$file_mib" -ge $(($1 / MIB)) ] || file_mib=$(($1 / MIB))
    needed="a file of $file_mib MiB is needed, for the $cache_mib MiB that memory may keep"
    [ $((2 * file_mib)) -le $(($3 / MIB)) ] ||
        unavailable "$needed, and as much again to settle: $(($3 / MIB)) MiB may be written"
    look_up_room
    [ "$file_mib" -le $((free_mib - keep_mib)) ] ||
        unavailable "$needed: $directory has $free_mib MiB free, of which $keep_mib MiB stay free"
    write_fio_file steady "$2"
}

# check_fio STATUS DOING: ends the step when fio failed and left no result in the file `part`.
check_fio() {
    if grep -q 'No space left\|quota exceeded' "$part" 2> /dev/null; then
        no_space "fio found no space on $directory"
    fi
    [ "$1" -ne 0 ] || return 0
    [ ! -s "$part" ] || cat "$part" >&2
    echo "fio failed with status $1 at $2" >&2
    exit 3
}

# Milliseconds of a number of seconds such as 30 or 0.5.
milliseconds() {
    case $1 in
    *.*)
        decimals=${1#*.}000
        echo $((${1%.*} * 1000 + 1${decimals%"${decimals#???}"} - 1000))
        ;;
    *) echo $(($1 * 1000)) ;;
    esac
}

# choose_work DIRECTORY WORK BLOCK DEPTH JOBS RUNTIME_S RAMP_S: everything up to the test file.
choose_work() {
    look_up_limit
    look_up_fio || unavailable "$no_fio"
    choose_directory "$1"
    look_up_storage "$directory"
    look_up_mount "$directory"
    work=$2 block=$3 depth=$4 jobs=$5 runtime_s=$6 ramp_s=$7
}

# run_fio NAME OPTION …: the chosen work on the test file; print_fio NAME prints its result.
run_fio() {
    part=$RUN_DIR/$1.part
    shift
    if [ "$engine" = psync ] && [ "$depth" -gt 1 ]; then
        unavailable "neither libaio nor io_uring works here, so there is never more than one request in flight"
    fi
    case $work in
    randrw70) set -- --rw=randrw --rwmixread=70 --norandommap "$@" ;;
    rand*) set -- --rw="$work" --norandommap "$@" ;;
    *) set -- --rw="$work" "$@" ;;
    esac
    "$fio" --name=rackrate --filename="$fio_target" --size="${file_mib}m" "$@" --bs="$block" --iodepth="$depth" \
        --numjobs="$jobs" --ioengine="$engine" --direct="$uses_direct" --thread --randrepeat=0 --refill_buffers \
        --group_reporting --allow_file_create=0 --output="$part" < /dev/null >&2
    check_fio $? "$work"
}

# The measurement itself, for a fixed time after a ramp.
measure_fio() {
    run_fio fio --time_based --runtime="$(milliseconds "$runtime_s")ms" --ramp_time="$(milliseconds "$ramp_s")ms" \
        --percentile_list=50:90:95:99:99.9:99.99 --output-format=json+
}

print_fio() {
    echo "=== $1"
    cat "$RUN_DIR/$1.part"
    printf '\n=== end %s rc=0\n' "$1"
    rm -f "$RUN_DIR/$1.part"
}

# fio_run DIRECTORY BYTES WORK BLOCK DEPTH JOBS RUNTIME_S RAMP_S; WORK is randread, randwrite, randrw70, read or write
fio_run() {
    choose_work "$1" "$3" "$4" "$5" "$6" "$7" "$8"
    prepare_fio fio "$2"
    measure_fio
    print_fio_conditions
    echo "=== end conditions rc=0"
    print_fio fio
}

# fio_steady DIRECTORY LEAST_BYTES WORK BLOCK DEPTH RUNTIME_S RAMP_S LIMIT_S WINDOW_S MOST_BYTES: the same on a file of
# twice the cache, after the work has gone on until the operations per second of a window of time no longer drift, or
# until LIMIT_S or MOST_BYTES are over.
fio_steady() {
    choose_work "$1" "$3" "$4" "$5" 1 "$6" "$7"
    least_bytes=$2 limit_s=$8 window_s=$9
    shift 9
    prepare_steady "$least_bytes" "$limit_s" "$1"
    # fio takes the slope of the window as percent of its mean a second.
    drift=$((10000 * DRIFT_PERCENT / window_s))
    run_fio steady --runtime="${limit_s}s" --io_size=$(($1 / MIB - file_mib))m --steadystate_duration="${window_s}s" \
        --steadystate="iops_slope:$(printf '%d.%04d' $((drift / 10000)) $((drift % 10000)))%" --output-format=json
    measure_fio
    print_fio_conditions
    printf 'limit_s %d\nwindow_s %d\ncache_bytes %d\n' "$limit_s" "$window_s" $((cache_mib * MIB))
    echo "=== end conditions rc=0"
    print_fio steady
    print_fio fio
}

print_fio_conditions() {
    echo "=== conditions"
    echo "work $work"
    case $block in
    *k) echo "block_bytes $((${block%k} * 1024))" ;;
    *m) echo "block_bytes $((${block%m} * MIB))" ;;
    esac
    echo "depth $depth"
    echo "jobs $jobs"
    echo "runtime_s $runtime_s"
    echo "ramp_s $ramp_s"
    echo "file_bytes $((file_mib * MIB))"
    print_asked
    echo "ram_bytes $(($(meminfo_mib MemTotal) * MIB))"
    echo "engine $engine"
    if [ "$uses_direct" -eq 1 ]; then echo "direct yes"; else echo "direct no"; fi
    echo "directory $directory"
    echo "filesystem $filesystem"
    printf 'mount_options %s\n' "$mount_options" # echo would read a backslash
    print_storage
    echo "fio $fio_version"
}
