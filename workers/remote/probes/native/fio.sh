# The fio part of disk.sh, sourced by it.
# shellcheck shell=sh disable=SC2154

# Sets engine and uses_direct (1 or 0) to the best that work on the target; fails when none does. A psync engine has
# one request in flight whatever it is asked for.
look_up_engine() {
    case $filesystem in
    tmpfs | ramfs | zfs) ways=0 ;;
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

# Writes the whole test file once a run: reads of what was never written do not touch the disk. `prepared` remembers
# its size and how it can be used. Sets file_mib, engine and uses_direct.
prepare_fio() {
    target=$directory/$RUN_NAME.fio
    # fio separates names by colons.
    fio_target=$(printf '%s\n' "$target" | sed 's/:/\\:/g')
    if [ -s "$target" ] && [ -r "$RUN_DIR/prepared" ]; then
        read -r file_mib engine uses_direct prepared < "$RUN_DIR/prepared"
        [ "$prepared" != "$target" ] || return 0
    fi
    look_up_room
    file_mib=$(lower $(($1 / MIB)) "$(lower $((free_mib / 5)) $((free_mib - keep_mib)))")
    [ "$file_mib" -ge 64 ] || [ "$file_mib" -eq $(($1 / MIB)) ] ||
        no_space "$directory has $free_mib MiB free and keeps $keep_mib MiB"
    echo "$target" >> "$RUN_DIR/files"
    dd if=/dev/zero of="$target" bs=1M count=1 2> /dev/null || no_space "no room for the first MiB in $directory"
    look_up_engine || unavailable "none of fio's engines works on $filesystem here"
    from_us=$("$RUN_DIR/bin/observe" --clock)
    "$fio" --name=prefill --filename="$fio_target" --rw=write --bs=1m --size="${file_mib}m" --thread --iodepth=8 \
        --ioengine="$engine" --direct="$uses_direct" --refill_buffers --randrepeat=0 --fallocate=none --end_fsync=1 \
        --runtime=150 --output="$RUN_DIR/fio.part" < /dev/null >&2
    check_fio $? "writing the file"
    file_mib=$(($(stat -c %s -- "$target") / MIB))
    echo "wrote $file_mib MiB in $((($("$RUN_DIR/bin/observe" --clock) - from_us) / 1000)) ms before the measurement" >&2
    sync
    echo "$file_mib $engine $uses_direct $target" > "$RUN_DIR/prepared"
    rm -f "$RUN_DIR/fio.part"
}

# check_fio STATUS DOING: ends the step when fio failed and left no result.
check_fio() {
    if grep -q 'No space left\|quota exceeded' "$RUN_DIR/fio.part" 2> /dev/null; then
        no_space "fio found no space on $directory"
    fi
    [ "$1" -ne 0 ] || return 0
    [ ! -s "$RUN_DIR/fio.part" ] || cat "$RUN_DIR/fio.part" >&2
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

# fio_run DIRECTORY BYTES WORK BLOCK DEPTH JOBS RUNTIME_S RAMP_S; WORK is randread, randwrite, randrw70, read or write
fio_run() {
    look_up_limit
    look_up_fio || unavailable "fio 3 is not installed"
    choose_directory "$1"
    look_up_mount "$directory"
    prepare_fio "$2"
    work=$3 block=$4 depth=$5 jobs=$6 runtime_s=$7 ramp_s=$8
    if [ "$engine" = psync ] && [ "$depth" -gt 1 ]; then
        unavailable "neither libaio nor io_uring works here, so there is never more than one request in flight"
    fi
    case $work in
    randrw70) set -- --rw=randrw --rwmixread=70 --norandommap ;;
    rand*) set -- --rw="$work" --norandommap ;;
    *) set -- --rw="$work" ;;
    esac
    "$fio" --name=rackrate --filename="$fio_target" --size="${file_mib}m" "$@" --bs="$block" --iodepth="$depth" \
        --numjobs="$jobs" --ioengine="$engine" --direct="$uses_direct" --thread --randrepeat=0 --refill_buffers \
        --time_based --runtime="$(milliseconds "$runtime_s")ms" --ramp_time="$(milliseconds "$ramp_s")ms" \
        --percentile_list=50:90:95:99:99.9:99.99 --group_reporting --allow_file_create=0 \
        --output-format=json+ --output="$RUN_DIR/fio.part" < /dev/null >&2
    fio_status=$?
    check_fio $fio_status "$work"
    print_fio_conditions
    echo "=== fio"
    cat "$RUN_DIR/fio.part"
    printf '\n=== end fio rc=%d\n' $fio_status
    rm -f "$RUN_DIR/fio.part"
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
    echo "ram_bytes $(($(meminfo_mib MemTotal) * MIB))"
    echo "engine $engine"
    if [ "$uses_direct" -eq 1 ]; then echo "direct yes"; else echo "direct no"; fi
    echo "directory $directory"
    echo "filesystem $filesystem"
    echo "mount_options $mount_options"
    echo "fio $fio_version"
    echo "=== end conditions rc=0"
}
