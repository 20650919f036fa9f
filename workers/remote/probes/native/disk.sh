#!/bin/sh
# Disk measurements of one run, each a function:
#
#   dd_write | dd_read DIRECTORY BYTES [SECONDS]
#   dd_parallel write|read BYTES SECONDS DIRECTORY …             all directories at the same time
#   dd_device outer|inner DEVICE BYTES SECONDS                   only reads
#   small_files DIRECTORY COUNT
#   fio_run DIRECTORY BYTES WORK BLOCK DEPTH JOBS RUNTIME_S RAMP_S
#   fio_steady DIRECTORY LEAST_BYTES WORK BLOCK DEPTH RUNTIME_S RAMP_S LIMIT_S WINDOW_S MOST_BYTES
#   fio_local BYTES WORK BLOCK DEPTH RUNTIME_S RAMP_S            on an empty local disk of a rented machine, which it formats
#
# Every test file is named in `files` before it is made; the runner and the teardown remove those.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=fio.sh
. "$RUN_DIR/fio.sh"
# shellcheck source=local_disk.sh
. "$RUN_DIR/local_disk.sh"

ARCSTATS=/proc/spl/kstat/zfs/arcstats
# Reading a device may need it; test files never do.
as_root=
offset_mib=0
# Limit of ZFS's own cache, the ARC; empty on other file systems.
cache_mib=

# Sets directory, or exits when we may not write to it.
choose_directory() {
    look_up_disk_directory "$1" ||
        unavailable "$1, /var/tmp and the home directory lie in memory: name a directory on a disk"
    case $directory in
    *"
"*)
        echo "a line feed in the name of a directory"
        exit 2
        ;;
    esac
    if [ ! -d "$directory" ] || [ ! -w "$directory" ]; then
        echo "not a directory that we may write to: $directory"
        exit 3
    fi
}

# Sets room_mib, what may be written to the directory: a tenth of the file system, at least 256 MiB and at most 1 GiB, stays
# free, and as much again as is written.
look_up_room() {
    look_up_space "$directory"
    keep_mib=$((size_mib / 10))
    [ "$keep_mib" -ge 256 ] || keep_mib=256
    keep_mib=$(lower "$keep_mib" 1024)
    room_mib=$(lower $((free_mib - keep_mib)) $((free_mib / 2)))
}

# Sets the file size SIZE_MIB to what there is room for, and remembers what was asked for a smaller one. A file of 64 MiB
# is the least: fit_room SIZE_MIB
fit_room() {
    look_up_room
    fitting_mib=$(lower "$1" "$room_mib")
    [ "$fitting_mib" -ge 64 ] || [ "$fitting_mib" -eq "$1" ] ||
        unavailable "$directory has $free_mib MiB free, of which $keep_mib MiB stay free: too little for a test file"
    [ "$fitting_mib" -lt "$1" ] || return 0
    # In powers of two: figures of two sizes never share a score, and no two runs leave the same room.
    power_mib=64
    while [ $((power_mib * 2)) -le "$fitting_mib" ]; do power_mib=$((power_mib * 2)); done
    fitting_mib=$power_mib
    printf '%d %s\n' $(($1 * MIB)) "$target" >> "$RUN_DIR/reduced"
}

# The line that says how large the test file should have been, for one that was made smaller.
print_asked() {
    [ ! -r "$RUN_DIR/reduced" ] || while read -r asked reduced; do
        if [ "$reduced" = "$target" ]; then echo "asked_bytes $asked" && return; fi
    done < "$RUN_DIR/reduced"
}

# Puts incompressible data into memory, once per run: sets source and source_mib. make_source MIB
make_source() {
    look_up_memory
    refused_mib=
    for place in /dev/shm "$RUN_DIR"; do
        source=$place/$RUN_NAME.source
        [ ! -s "$source" ] || break
        look_up_space "$place"
        source_mib=$(lower 256 "$(lower "$1" "$(lower $((free_mib / 2)) "$(lower $((available_mib / 4)) $spare_mib)")")")
        [ "$source_mib" -ge 16 ] || [ "$source_mib" -eq "$1" ] || continue
        echo "$source" >> "$RUN_DIR/files"
        "$RUN_DIR/bin/memory" --test random --bytes $((source_mib * MIB)) > "$source" && break
        rm -f "$source"
        refused_mib=$source_mib
    done
    [ -s "$source" ] || [ -z "$refused_mib" ] ||
        unavailable "the $refused_mib MiB to write could be put neither into /dev/shm nor into $RUN_DIR: a limit of file sizes (ulimit -f) or of space is in the way"
    [ -s "$source" ] ||
        unavailable "only $available_mib of $memory_mib MiB of memory are available here, too little for the data to write"
    source_mib=$(($(stat -c %s "$source") / MIB))
}

# Sets direct to "direct", or to nothing when O_DIRECT does not work with these operands of dd.
look_up_direct() {
    direct=
    case $filesystem,$in_memory in
    zfs,* | *,yes) ;; # they accept O_DIRECT and go through memory all the same
    *) if ${as_root:+sudo -n} dd "$@" bs=1M count=1 2> /dev/null; then direct=direct; fi ;;
    esac
}

# Copies wanted_mib in one dd per chunk, so that the time may be bounded: copy_chunks write|read CHUNK_MIB [SECONDS].
copy_chunks() {
    copy_direction=$1 chunk_mib=$2 limit_s=${3:-}
    copied_mib=0
    read_clock
    copy_started_cs=$now_cs
    while [ "$copied_mib" -lt "$wanted_mib" ]; do
        count=$(lower "$chunk_mib" $((wanted_mib - copied_mib)))
        if [ "$copy_direction" = write ]; then
            set -- if="$source" of="$target" bs=1M count="$count" seek="$copied_mib" \
                "conv=notrunc,$sync" ${direct:+oflag=direct}
        else
            set -- if="$target" of=/dev/null bs=1M count="$count" skip=$((offset_mib + copied_mib)) \
                ${direct:+iflag=direct}
        fi
        from_us=$("$RUN_DIR/bin/observe" --clock)
        copied=$(${as_root:+sudo -n} dd "$@" 2>&1)
        dd_status=$?
        dd_us=$(($("$RUN_DIR/bin/observe" --clock) - from_us))
        seconds=${copied##* copied, }
        case ${seconds%% s*} in
        *.[0-9][0-9]*) printf '=== dd\n%s\n' "$copied" ;;
        *) # Some builds of busybox print no time at all, those in Rust whole tenths.
            printf '=== dd\n%s\n' "$copied" | sed '/ copied, /d'
            printf 'runner: %d bytes copied, %d.%06d s\n' $((count * MIB)) $((dd_us / 1000000)) $((dd_us % 1000000))
            ;;
        esac
        printf '=== end dd rc=%d\n' $dd_status
        case $copied in *'No space left'* | *'quota exceeded'*) no_space "dd found no space on $directory" ;; esac
        [ $dd_status -eq 0 ] || exit 1
        copied_mib=$((copied_mib + count))
        read_clock
        if [ -n "$limit_s" ] && [ $((now_cs - copy_started_cs)) -ge $((limit_s * 100)) ]; then break; fi
    done
}

# prepare_dd DIRECTORY BYTES new|keep: sets directory, target, wanted_mib, the source and the abilities of dd here. An
# earlier test file is removed or, for reading, kept. Exits when it cannot be done.
prepare_dd() {
    choose_directory "$1"
    target=$directory/$RUN_NAME.dd wanted_mib=$(($2 / MIB)) source_mib=0
    look_up_storage "$directory"
    look_up_mount "$directory"
    look_up_own_cache
    [ "$3" = keep ] || rm -f -- "$target"
    if [ -s "$target" ]; then
        look_up_direct if="$target" of=/dev/null iflag=direct
        return
    fi
    fit_room "$wanted_mib"
    wanted_mib=$fitting_mib
    make_source "$wanted_mib"
    echo "$target" >> "$RUN_DIR/files"
    look_up_direct if="$source" of="$target" oflag=direct
    sync=fsync
    if dd if=/dev/zero of="$target" bs=1 count=1 conv=fdatasync 2> /dev/null; then sync=fdatasync; fi
    rm -f -- "$target"
}

# The lines that every disk test has of where its bytes are.
print_storage() {
    echo "stored_on $stored_on"
    echo "stored_as $stored_as"
    echo "root_on $root_on"
    echo "in_memory $in_memory"
}

# print_conditions DIRECTION CONDITIONS DROP_CACHES [POSITION]
print_conditions() {
    echo "=== conditions"
    echo "direction $1"
    echo "conditions $2"
    echo "file_bytes $((wanted_mib * MIB))"
    print_asked
    echo "ram_bytes $(($(meminfo_mib MemTotal) * MIB))"
    echo "source_bytes $((source_mib * MIB))"
    echo "directory $directory"
    echo "filesystem $filesystem"
    printf 'mount_options %s\n' "$mount_options" # echo would read a backslash
    echo "drop_caches $3"
    if [ -n "$cache_mib" ]; then echo "cache_bytes $((cache_mib * MIB))"; fi
    print_storage
    echo "dd $(dd --version 2>&1 | sed -n '/[Cc]oreutils\|[Bb]usy[Bb]ox/{p;q;}')"
    if [ -n "${4:-}" ]; then printf 'position %s\ndevice %s\n' "$4" "$target"; fi
    echo "=== end conditions rc=0"
}

# prepare_copy write|read DIRECTORY BYTES SECONDS: everything up to the copying. A file to read is the one that dd_write
# left, or is written first. Sets conditions and dropped.
prepare_copy() {
    if [ "$1" = write ]; then
        prepare_dd "$2" "$3" new
        conditions=${direct:-fdatasync} dropped="no: not for writing"
    else
        prepare_dd "$2" "$3" keep
        if [ ! -s "$target" ]; then copy_chunks write "$source_mib" "$4" > /dev/null; fi
        wanted_mib=$(($(stat -c %s -- "$target") / MIB))
        drop_caches
        conditions=${direct:-cached}
        if [ -z "$direct" ] &&
            { [ "$dropped" = yes ] || [ "$wanted_mib" -ge $((2 * ${cache_mib:-$(meminfo_mib MemTotal)})) ]; }; then
            conditions=fdatasync
        fi
    fi
    [ "$in_memory" = no ] || conditions=cached
}

# copy write|read SECONDS: what prepare_copy prepared.
copy() {
    if [ "$1" = write ]; then copy_chunks write "$source_mib" "$2"; else copy_chunks read 256 "$2"; fi
}

# Sets cache_mib of the file system that look_up_mount saw. The ARC may grow to c_max, by default half of the memory or
# nearly all of it; primarycache=metadata is not trusted to keep data out of it.
look_up_own_cache() {
    cache_mib=
    [ "$filesystem" = zfs ] || return 0
    cache_mib=$(sed -n 's/^c_max  *[0-9]*  *\([0-9]*\)$/\1/p' "$ARCSTATS" 2> /dev/null)
    cache_mib=$((${cache_mib:-0} / MIB))
    [ "$cache_mib" -gt 0 ] || cache_mib=$(meminfo_mib MemTotal)
}

# Sets dropped to "yes", or to "no: " and the reason. Only the page cache goes; dentries and inodes stay.
drop_caches() {
    case $filesystem,$in_memory in
    *,yes) dropped="no: memory keeps the files" && return ;;
    # It neither empties the ARC nor shrinks it (openzfs/zfs#12810), and other programs would pay for it.
    zfs,*) dropped="no: ZFS keeps a cache of its own" && return ;;
    esac
    if [ -n "$direct" ]; then
        dropped="no: O_DIRECT does not use the cache"
    elif [ "$(id -u)" -eq 0 ]; then
        if (echo 1 > /proc/sys/vm/drop_caches) 2> /dev/null; then dropped=yes; else dropped="no: the kernel refused"; fi
    elif sudo -n sh -c 'echo 1 > /proc/sys/vm/drop_caches' 2> /dev/null; then
        dropped=yes
    else
        dropped="no: neither root nor sudo without a password"
    fi
}

# dd_write DIRECTORY BYTES [SECONDS]
dd_write() {
    prepare_copy write "$1" "$2" "${3:-}"
    print_conditions write "$conditions" "$dropped"
    copy write "${3:-}"
}

# dd_read DIRECTORY BYTES [SECONDS]
dd_read() {
    prepare_copy read "$1" "$2" "${3:-}"
    print_conditions read "$conditions" "$dropped"
    copy read "${3:-}"
}

# One of the copies of dd_parallel: waits for the start, then writes what it did to parallel.N and the microseconds
# of its start and end to parallel.N.time. copy_together N write|read SECONDS
copy_together() {
    trap - EXIT
    print_conditions "$2" "$conditions" "$dropped"
    read -r _ <&9
    from_all_us=$("$RUN_DIR/bin/observe" --clock)
    (copy "$2" "$3")
    copy_status=$?
    echo "$from_all_us $("$RUN_DIR/bin/observe" --clock)" > "$RUN_DIR/parallel.$1.time"
    exit $copy_status
}

# dd_parallel write|read BYTES SECONDS DIRECTORY …
dd_parallel() {
    way=$1 bytes=$2 seconds=$3
    shift 3
    [ $# -gt 0 ] || exit 2
    cd "$RUN_DIR" || exit 2
    rm -f go parallel.*
    mkfifo go
    # A line that is written before its reader has come waits in the pipe.
    exec 9<> go
    number=0 copies=
    # When a later directory cannot be prepared, those that wait for the start must not do so for ever.
    # shellcheck disable=SC2086
    trap '[ -z "$copies" ] || kill $copies 2> /dev/null' EXIT
    for place in "$@"; do
        number=$((number + 1))
        prepare_copy "$way" "$place" "$bytes" "$seconds"
        copy_together $number "$way" "$seconds" > parallel.$number &
        copies="$copies $!"
    done
    for place in "$@"; do echo; done >&9
    worst=0
    for pid in $copies; do
        wait "$pid"
        status=$?
        [ $status -le $worst ] || worst=$status
    done
    trap - EXIT
    first_us='' last_us=0
    for times in parallel.*.time; do
        read -r from_us to_us < "$times"
        [ "${first_us:-$from_us}" -lt "$from_us" ] || first_us=$from_us
        [ "$last_us" -gt "$to_us" ] || last_us=$to_us
    done
    printf '=== parallel\ndirectories %d\nwall_us %d\n=== end parallel rc=0\n' $number $((last_us - first_us))
    rm -f go parallel.*.time
    number=0
    for place in "$@"; do
        number=$((number + 1))
        cat parallel.$number
    done
    rm -f parallel.*
    exit $worst
}

# dd_device outer|inner DEVICE BYTES SECONDS: the first or the last part of a device, only read. What lies first is the
# outer part of a spinning disk.
dd_device() {
    target=$2 wanted_mib=$(($3 / MIB)) source_mib=0
    directory=- filesystem=- mount_options=-
    [ -b "$target" ] || unavailable "not a block device: $target"
    if [ ! -r "$target" ]; then as_root=yes; fi
    node=$(readlink -f -- "$target")
    stored_as=-
    read -r in_memory stored_on << END
$(device_storage "${node##*/}" 8)
END
    look_up_root
    [ "$in_memory" = no ] || unavailable "memory keeps or caches what $target has: it is $stored_on"
    read -r sectors < "/sys/class/block/${node##*/}/size" || unavailable "the size of $target is not known"
    size_mib=$((sectors / 2048))
    wanted_mib=$(lower "$wanted_mib" $((size_mib / 2)))
    [ "$wanted_mib" -gt 0 ] || unavailable "$target is too small"
    look_up_direct if="$target" of=/dev/null iflag=direct
    [ -n "$direct" ] || unavailable "$target cannot be read with O_DIRECT by this user"
    [ "$1" = outer ] || offset_mib=$((size_mib - wanted_mib))
    print_conditions read direct "no: O_DIRECT does not use the cache" "$1"
    copy_chunks read 256 "$4"
}

# small_files DIRECTORY COUNT
small_files() {
    choose_directory "$1"
    look_up_room
    # Files have 15 KiB on average; a block or two more on most file systems.
    [ $(($2 * 24 / 1024)) -le "$room_mib" ] ||
        unavailable "$directory has $free_mib MiB free, of which $keep_mib MiB stay free: too little for $2 files"
    echo "$directory/$RUN_NAME.small" >> "$RUN_DIR/files"
    look_up_storage "$directory"
    "$RUN_DIR/bin/small_files" --directory "$directory/$RUN_NAME.small" --files "$2" \
        --stored-on "$stored_on" --stored-as "$stored_as" --root-on "$root_on" --in-memory "$in_memory"
}

case ${1:-} in
dd_write | dd_read | dd_parallel | dd_device | small_files | fio_run | fio_steady | fio_local | list_local_disks) "$@" ;;
*) exit 2 ;;
esac
