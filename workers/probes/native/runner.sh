#!/bin/sh
# Runs the plan of one benchmark run on the target and records it; works with dash, bash and busybox ash, without root.
#
#   sh runner.sh             executes plan.sh beside it; a second start adopts the first: it says so and exits 0
#   sh runner.sh call F …    runs one of the functions inventory, dd_write, dd_read (how a step runs them)
#
# plan.sh is sourced and may say:
#   quiet_budget SECONDS                    all waiting for a quiet host together
#   expected PROBE VARIANT SECONDS          what one repeat takes, for the progress (else a third of its timeout)
#   step PROBE VARIANT REPEAT TIMEOUT COMMAND [ARGUMENT …]
#
# The controller may create `cancel` (end now) and `stop/PROBE-VARIANT` (leave out that series' remaining repeats).
# Exit codes of a step's command follow probe.h; 5 = no space left.
set -u
umask 077
LC_ALL=C
export LC_ALL
MIB=1048576
SHELL_COMMAND=${RUNNER_SHELL:-sh}
RUN_DIR=$(cd "$(dirname "$0")" && pwd -P) || exit 2
RUN_NAME=${RUN_DIR##*/}

# ---- time and status ----------------------------------------------------------------------------------------------

# Sets now_cs: hundredths of a second since boot. A leading 1 keeps "08" from being read as octal.
read_clock() {
    read -r uptime _ < /proc/uptime
    now_cs=$((${uptime%.*} * 100 + 1${uptime#*.} - 100))
}

# Sets expected_cs, the planned time of one repeat: expected PROBE VARIANT TIMEOUT.
look_up_expected() {
    case $expectations in
    *" $1-$2="*)
        expected_s=${expectations##*" $1-$2="}
        expected_s=${expected_s%% *}
        expected_cs=$((${expected_s%.*} * 100 + 50))
        ;;
    *) expected_cs=$((${3%.*} * 100 / 3 + 100)) ;;
    esac
}

# Replaces status.json: write_status STATE. Progress never goes back.
write_status() {
    read_clock
    spent_cs=0
    if [ -n "$child" ]; then
        spent_cs=$((now_cs - step_started_cs))
        [ "$spent_cs" -le "$step_cs" ] || spent_cs=$step_cs
    fi
    [ "$total_cs" -eq 0 ] || progress_now=$(((done_cs + spent_cs) * 1000 / total_cs))
    [ "$1" = finished ] && progress_now=1000
    [ "$progress_now" -le "$progress" ] || progress=$progress_now
    run_cs=$((now_cs - started_cs))
    for _ in 1 2; do
        if {
            printf '{"schema":1,"state":"%s","probe":%s,' "$1" "$probe_json"
            printf '"variant":%s,"repeat":%s,' "$variant_json" "$repeat_json"
            printf '"step":%d,"steps":%d,"progress":%d.%03d,' "$step" "$steps" $((progress / 1000)) $((progress % 1000))
            printf '"monotonic_s":%d.%02d,"boot_id":"%s","pid":%d,' $((run_cs / 100)) $((run_cs % 100)) "$boot_id" $$
            printf '"quiet_wait_s":%d.%02d,"failure":%s}\n' $((waited_cs / 100)) $((waited_cs % 100)) "$failure"
        } > status.json.part 2> /dev/null; then
            mv -f status.json.part status.json
            return
        fi
        # The reserve makes room for the message that there is no room.
        rm -f reserve
        fail '"disk_full"'
    done
}

log() {
    printf '%s %s\n' "$now_cs" "$*" >> runner.log 2> /dev/null || :
}

# The run ends after the current step: as failed for a reason (a JSON string), or as cancelled.
fail() {
    failure=$1
    final=${final:-failed}
}

interrupt() {
    if [ -n "$child" ]; then kill -TERM "$child" 2> /dev/null; fi
}

on_terminate() {
    fail '"killed"'
    interrupt
}

tick() {
    [ ! -e cancel ] || final=${final:-cancelled}
    # Each time again: a signal that meets observe before it has begun is lost.
    [ -z "$final" ] || interrupt
    write_status running
}

# Waits for observe. The ticker wakes us once a second (a sleep here would delay the end of every step instead), and its
# signal ends `wait` early, so ask again until the process is gone.
await_child() {
    while kill -0 "$child" 2> /dev/null; do
        wait "$child"
        if [ -n "$ticked" ]; then
            ticked=
            tick
        fi
    done
}

# ---- plan -----------------------------------------------------------------------------------------------------------

quiet_budget() {
    budget_cs=$((${1%.*} * 100))
}

expected() {
    expectations="$expectations $1-$2=$3 "
}

step() {
    look_up_expected "$1" "$2" "$4"
    if [ "$mode" = count ]; then
        steps=$((steps + 1))
        total_cs=$((total_cs + expected_cs))
        return
    fi
    step=$((step + 1))
    [ ! -e cancel ] || final=${final:-cancelled}
    [ -z "$final" ] || return 0
    if [ ! -e "stop/$1-$2" ] && { [ "$1" != dd ] || [ "$failure" != '"disk_full"' ]; }; then
        step_cs=$expected_cs
        run_step "$@"
    fi
    done_cs=$((done_cs + expected_cs))
}

run_step() {
    probe_json=\"$1\" variant_json=\"$2\" repeat_json=$3
    name=results/$(printf '%03d' "$step")-$1-$2-$3
    probe=$1 variant=$2 repeat=$3 timeout=$4
    shift 4
    # RUNNER_SHELL may be two words ("busybox sh").
    # shellcheck disable=SC2086
    case $1 in
    inventory | dd_write | dd_read) set -- $SHELL_COMMAND "$RUN_DIR/runner.sh" call "$@" ;;
    esac
    budget_left_cs=$((budget_cs - waited_cs))
    [ "$probe" != inventory ] || budget_left_cs=0
    [ "$budget_left_cs" -ge 0 ] || budget_left_cs=0
    read_clock
    step_started_cs=$now_cs
    bin/observe --probe "$probe" --variant "$variant" --repeat "$repeat" --timeout "$timeout" \
        --quiet-budget "$(printf '%d.%02d' $((budget_left_cs / 100)) $((budget_left_cs % 100)))" \
        --known-quiet "$known_quiet" --since "$started_s" \
        --out "$name.out" --err "$name.err" --json "$name.json" -- "$@" >> runner.log 2>&1 < /dev/null &
    child=$!
    [ ! -e cancel ] || tick
    write_status running
    await_child
    child=
    read_record "$name.json"
    log "$name $record"
}

# Sets value: the number behind a key of $record. Quotes inside the record's texts are escaped, so a key is a key.
field() {
    value=${record##*"\"$1\":"}
    value=${value%%,*}
}

# Takes from the record of a step what the next one needs to know.
read_record() {
    record=
    [ ! -r "$1" ] || IFS= read -r record < "$1"
    known_quiet=no
    case $record in *'"ended_quiet":true'*) known_quiet=yes ;; esac
    case $record in
    *'"quiet_wait_s":'*)
        field quiet_wait_s
        fraction=${value#*.}
        waited_cs=$((waited_cs + ${value%.*} * 100 + 1${fraction%????} - 100))
        ;;
    esac
    # A full target directory ends the dd series only; without room for results nothing more can be measured.
    case $record in *'"exit_code":5,'*) failure='"disk_full"' ;; esac
    if ! printf '%8192s' '' > results/space.part 2> /dev/null; then fail '"disk_full"'; fi
    rm -f results/*.part
}

# ---- start and end --------------------------------------------------------------------------------------------------

is_runner() {
    [ "$(readlink "/proc/$1/cwd" 2> /dev/null)" = "$RUN_DIR" ]
}

# Somebody holds the lock: leave it to them, or clear up after them when they are gone.
adopt() {
    cd "$RUN_DIR" || exit 2
    other=
    [ ! -r pid ] || read -r other < pid
    if [ -z "$other" ] || is_runner "$other"; then
        echo "already running"
        exit 0
    fi
    record=
    [ ! -r status.json ] || IFS= read -r record < status.json
    case $record in
    *'"state":"finished"'* | *'"state":"cancelled"'* | *'"state":"failed"'*)
        echo "already finished"
        exit 0
        ;;
    esac
    echo "the runner was killed"
    if [ -n "$record" ]; then
        field progress
        progress=$((${value%.*} * 1000 + 1${value#*.} - 1000))
        field monotonic_s
        started_cs=$((now_cs - ${value%.*} * 100 - 1${value#*.} + 100))
    fi
    fail '"killed"'
    finish
    exit 1
}

remove_files() {
    [ -r files ] || return 0
    while IFS= read -r file; do rm -f -- "$file"; done < files
}

finish() {
    if [ -n "$ticker" ]; then
        kill -KILL "$ticker" 2> /dev/null
        wait "$ticker" 2> /dev/null
    fi
    remove_files
    rm -f reserve results/*.part
    (
        cd results || exit 1
        set -- *
        [ ! -e "$1" ] || sha256sum -- "$@"
    ) > manifest.part 2> /dev/null && mv -f manifest.part results/manifest.sha256
    [ "$failure" = null ] || final=${final:-failed}
    write_status "${final:-finished}"
}

main() {
    mode=count step=0 steps=0 total_cs=0 done_cs=0 step_cs=0 progress=0 progress_now=0
    budget_cs=0 waited_cs=0 known_quiet=no expectations=' '
    child='' ticker='' ticked='' final='' failure=null
    probe_json=null variant_json=null repeat_json=null
    read_clock
    started_cs=$now_cs started_s=$uptime
    read -r boot_id < /proc/sys/kernel/random/boot_id
    mkdir "$RUN_DIR/lock" 2> /dev/null || adopt
    cd "$RUN_DIR" || exit 2
    echo $$ > pid
    mkdir -p results stop
    printf '%8192s' '' > reserve || fail '"disk_full"'
    trap 'ticked=1' USR1
    trap on_terminate TERM INT
    bin/observe > /dev/null 2>&1
    [ $? -eq 2 ] || fail '"unsupported"'
    # A program, because a shell can lose a signal that comes while it forks.
    bin/observe --tick < /dev/null > /dev/null 2>&1 &
    ticker=$!
    # shellcheck disable=SC1091
    . ./plan.sh
    mode=run
    write_status running
    # shellcheck disable=SC1091
    . ./plan.sh
    finish
    [ "${final:-finished}" != failed ]
}

# ---- dd -----------------------------------------------------------------------------------------------------------

# Everything between "=== NAME" and "=== end NAME rc=N" is what one tool printed.
section() {
    section_name=$1
    shift
    echo "=== $section_name"
    # shellcheck disable=SC2086
    $LIMIT "$@" 2>&1
    printf '\n=== end %s rc=%d\n' "$section_name" $?
}

# A section from one of our functions: `timeout` takes programs only.
own_section() {
    section_name=$1
    shift
    # shellcheck disable=SC2086
    section "$section_name" $SHELL_COMMAND "$RUN_DIR/runner.sh" call "$@"
}

# Sets mount_point, filesystem and mount_options of a directory.
look_up_mount() {
    mount_point=$(df -P -- "$1" 2> /dev/null | sed -n '2s/^.*% *//p')
    filesystem=unknown mount_options=unknown
    while read -r _ point type options _; do
        if [ "$point" = "$mount_point" ]; then filesystem=$type mount_options=$options; fi
    done < /proc/mounts
}

# Sets free_mib and size_mib of the file system that holds a directory.
look_up_space() {
    read -r blocks total size << END
$(stat -f -c '%a %b %S' -- "$1" 2> /dev/null || echo 0 0 1)
END
    free_mib=$((blocks * size / MIB)) size_mib=$((total * size / MIB))
}

meminfo_mib() {
    sed -n "s/^$1: *\([0-9]*\) kB/\1/p" /proc/meminfo | { read -r kib && echo $((kib / 1024)); } || echo 0
}

no_space() {
    echo "=== failure disk_full: $1"
    exit 5
}

lower() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

# Puts incompressible data into memory, once per run: sets source and source_mib. make_source MIB
make_source() {
    for place in /dev/shm "$RUN_DIR"; do
        source=$place/$RUN_NAME.source
        [ ! -s "$source" ] || break
        look_up_space "$place"
        source_mib=$(lower 256 "$(lower "$1" "$(lower $((free_mib / 2)) $(($(meminfo_mib MemAvailable) / 4)))")")
        [ "$source_mib" -ge 16 ] || [ "$source_mib" -eq "$1" ] || continue
        echo "$source" >> "$RUN_DIR/files"
        "$RUN_DIR/bin/memory" --test random --bytes $((source_mib * MIB)) > "$source" && break
        rm -f "$source"
    done
    [ -s "$source" ] || { echo "no memory for the source of the data" && exit 3; }
    source_mib=$(($(stat -c %s "$source") / MIB))
}

# Sets direct to "direct", or to nothing when O_DIRECT does not work with these operands of dd.
look_up_direct() {
    direct=
    case $filesystem in
    tmpfs | ramfs | zfs) ;; # they accept O_DIRECT and go through memory all the same
    *) if dd "$@" bs=1M count=1 2> /dev/null; then direct=direct; fi ;;
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
            set -- if="$target" of=/dev/null bs=1M count="$count" skip="$copied_mib" ${direct:+iflag=direct}
        fi
        from_us=$("$RUN_DIR/bin/observe" --clock)
        copied=$(dd "$@" 2>&1)
        dd_status=$?
        dd_us=$(($("$RUN_DIR/bin/observe" --clock) - from_us))
        printf '=== dd\n%s\n' "$copied"
        case $copied in
        *copied*) ;;
        *) # Some builds of busybox print no time at all.
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
    directory=$1 target=$1/$RUN_NAME.dd wanted_mib=$(($2 / MIB)) source_mib=0
    if [ ! -d "$directory" ] || [ ! -w "$directory" ]; then
        echo "not a directory that we may write to: $directory"
        exit 3
    fi
    look_up_mount "$directory"
    [ "$3" = keep ] || rm -f -- "$target"
    if [ -s "$target" ]; then
        look_up_direct if="$target" of=/dev/null iflag=direct
        return
    fi
    look_up_space "$directory"
    keep_mib=$((size_mib / 10))
    [ "$keep_mib" -ge 2048 ] || keep_mib=2048
    if [ "$wanted_mib" -gt $((free_mib - keep_mib)) ]; then
        wanted_mib=$((free_mib - keep_mib))
        [ "$wanted_mib" -ge 64 ] || no_space "$directory has $free_mib MiB free and keeps $keep_mib MiB"
    fi
    make_source "$wanted_mib"
    echo "$target" >> "$RUN_DIR/files"
    look_up_direct if="$source" of="$target" oflag=direct
    sync=fsync
    if dd if=/dev/zero of="$target" bs=1 count=1 conv=fdatasync 2> /dev/null; then sync=fdatasync; fi
    rm -f -- "$target"
}

print_conditions() {
    echo "=== conditions"
    echo "direction $1"
    echo "conditions $2"
    echo "file_bytes $((wanted_mib * MIB))"
    echo "ram_bytes $(($(meminfo_mib MemTotal) * MIB))"
    echo "source_bytes $((source_mib * MIB))"
    printf 'directory %s' "$directory" | tr '\n' '?' && echo
    echo "filesystem $filesystem"
    echo "mount_options $mount_options"
    echo "drop_caches $3"
    echo "dd $(dd --version 2>&1 | sed -n '/[Cc]oreutils\|[Bb]usy[Bb]ox/{p;q;}')"
    echo "=== end conditions rc=0"
}

# dd_write DIRECTORY BYTES [SECONDS]
dd_write() {
    prepare_dd "$1" "$2" new
    case $filesystem in
    tmpfs | ramfs) print_conditions write cached "no: not for writing" ;;
    *) print_conditions write "${direct:-fdatasync}" "no: not for writing" ;;
    esac
    copy_chunks write "$source_mib" "${3:-}"
}

# Sets dropped to "yes", or to "no: " and the reason. Only the page cache goes; dentries and inodes stay.
drop_caches() {
    case $filesystem in
    tmpfs | ramfs) dropped="no: the file system is in memory" && return ;;
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

# dd_read DIRECTORY BYTES [SECONDS]: reads what dd_write left, or writes it first.
dd_read() {
    prepare_dd "$1" "$2" keep
    if [ ! -s "$target" ]; then copy_chunks write "$source_mib" "${3:-}" > /dev/null; fi
    wanted_mib=$(($(stat -c %s -- "$target") / MIB))
    drop_caches
    conditions=${direct:-cached}
    if [ -z "$direct" ] && { [ "$dropped" = yes ] || [ "$wanted_mib" -ge $((2 * $(meminfo_mib MemTotal))) ]; }; then
        conditions=fdatasync
    fi
    case $filesystem in tmpfs | ramfs) conditions=cached ;; esac
    print_conditions read "$conditions" "$dropped"
    copy_chunks read 256 "${3:-}"
}

# ---- inventory ------------------------------------------------------------------------------------------------------

# As root, or through sudo when that needs no password.
privileged() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# cpu.max of our cgroup and of every parent.
cgroup_limits() {
    path=$(sed -n 's/^0:://p' /proc/self/cgroup)
    while :; do
        cat "/sys/fs/cgroup$path/cpu.max" 2> /dev/null
        case $path in */*) path=${path%/*} ;; *) break ;; esac
    done
    quota=$(cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2> /dev/null) || return 0
    echo "$quota $(cat /sys/fs/cgroup/cpu/cpu.cfs_period_us)"
}

distinct_count() {
    cat "$@" 2> /dev/null | sort -u | grep -c .
}

# inventory [DIRECTORY …]: facts about the host, each collector on its own; what is missing is a section with rc != 0.
inventory() {
    topology=/sys/devices/system/cpu
    section uname uname -srm
    section os-release cat /etc/os-release
    section lscpu lscpu
    section cpuinfo sed '/^$/q' /proc/cpuinfo
    section online cat $topology/online
    section siblings cat $topology/cpu0/topology/thread_siblings_list
    section smt cat $topology/smt/active
    section governor cat $topology/cpu0/cpufreq/scaling_governor
    section meminfo cat /proc/meminfo
    section loadavg cat /proc/loadavg
    section virtualization systemd-detect-virt --vm
    section container systemd-detect-virt --container
    section dmi cat /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name
    section lsblk lsblk -b -J -o NAME,TYPE,SIZE,ROTA,MODEL,TRAN,MOUNTPOINT
    section partitions cat /proc/partitions
    own_section packages distinct_count $topology/cpu*/topology/physical_package_id
    own_section nodes distinct_count /sys/devices/system/node/node*/cpulist
    own_section cgroup cgroup_limits
    own_section dmidecode privileged dmidecode -t memory
    for directory in "$@"; do
        section "df $directory" df -Pk -- "$directory"
        look_up_mount "$directory"
        section "mount $directory" echo "$mount_point $filesystem $mount_options"
    done
}

if [ "${1:-}" = call ]; then
    shift
    LIMIT=
    # Old busybox wants `timeout -t 3`; without a working timeout the whole step's limit has to do.
    if timeout 3 true 2> /dev/null; then LIMIT='timeout 3'; fi
    "$@"
else
    main
fi
