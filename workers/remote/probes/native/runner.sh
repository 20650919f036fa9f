#!/bin/sh
# Runs the plan of one benchmark run on the target and records it; works with dash, bash and busybox ash, without root.
#
#   sh runner.sh             executes plan.sh beside it; a second start adopts the first: it says so and exits 0
#
# plan.sh is sourced and may say:
#   quiet_budget SECONDS                    all waiting for a quiet host together
#   careful                                 the host is in production: see careful.sh; what is not idle is left alone
#   on_disk PROBE …                         those that are left out once the target's disk is full
#   expected PROBE VARIANT SECONDS          what one repeat takes, for the progress (else a third of its timeout)
#   step PROBE VARIANT REPEAT TIMEOUT COMMAND [ARGUMENT …]    a COMMAND that ends in .sh is a script beside this one
#
# The controller may create `cancel` (end now) and `stop/PROBE-VARIANT` (leave out that series' remaining repeats), and
# send USR1 to have it seen at once.
# Exit codes of a step's command follow probe.h; 5 = no space left.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# ---- time and status ----------------------------------------------------------------------------------------------

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
        # The reserve makes room for the message that there is no room. A probe that goes on writing takes that
        # room, too; at the end its program does as well.
        rm -f reserve
        [ "$1" = running ] || rm -f bin/*
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

# await PID COMMAND …: waits for a process and calls the command every second. The ticker wakes us (a sleep here would
# delay the end of every step instead), and its signal ends `wait` early, so ask again until the process is gone.
await() {
    awaited=$1
    shift
    while kill -0 "$awaited" 2> /dev/null; do
        wait "$awaited"
        if [ -n "$ticked" ]; then
            ticked=
            "$@"
        fi
    done
}

# ---- plan -----------------------------------------------------------------------------------------------------------

quiet_budget() {
    budget_cs=$((${1%.*} * 100))
}

careful() {
    careful=yes
}

on_disk() {
    disk_probes=" $* "
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
    if ! is_left_out "$1" "$2"; then
        step_cs=$expected_cs
        run_step "$@"
    fi
    done_cs=$((done_cs + expected_cs))
}

# Told to stop, not available on this host, or without room on the target directory.
is_left_out() {
    [ ! -e "stop/$1-$2" ] || return 0
    case $unavailable in *" $1-$2 "*) return 0 ;; esac
    [ "$failure" = '"disk_full"' ] || return 1
    case $disk_probes in *" $1 "*) return 0 ;; *) return 1 ;; esac
}

run_step() {
    probe_json=\"$1\" variant_json=\"$2\" repeat_json=$3
    name=results/$(printf '%03d' "$step")-$1-$2-$3
    probe=$1 variant=$2 repeat=$3 timeout=$4
    shift 4
    # RUNNER_SHELL may be two words ("busybox sh").
    # shellcheck disable=SC2086
    case $1 in
    *.sh)
        script=$RUN_DIR/$1
        shift
        set -- $SHELL_COMMAND "$script" "$@"
        ;;
    esac
    only_quiet=$careful
    budget_left_cs=$((budget_cs - waited_cs))
    case $probe in inventory | packages) budget_left_cs=0 only_quiet= ;; esac
    # On a host in production a fifth of the memory is left to those whom it is for, or the run ends.
    memory_percent=${careful:+20}
    [ "$budget_left_cs" -ge 0 ] || budget_left_cs=0
    if [ -n "$only_quiet" ]; then
        # A look is always taken, or nothing would be measured once the budget is spent.
        [ "$budget_left_cs" -ge 200 ] || budget_left_cs=200
        # shellcheck disable=SC2086
        set -- $SHELL_COMMAND "$RUN_DIR/careful.sh" "$@"
    fi
    # At most 3600 lines.
    every_s=$((${timeout%.*} / 3600))
    [ "$every_s" -ge 1 ] || every_s=1
    read_clock
    step_started_cs=$now_cs
    bin/observe --probe "$probe" --variant "$variant" --repeat "$repeat" --timeout "$timeout" \
        --quiet-budget "$(printf '%d.%02d' $((budget_left_cs / 100)) $((budget_left_cs % 100)))" \
        --known-quiet "$known_quiet" --only-quiet "${only_quiet:-no}" --since "$started_s" --series "$name.series" --series-every "$every_s" \
        --memory-percent "${memory_percent:-0}" --out "$name.out" --err "$name.err" --json "$name.json" -- "$@" >> runner.log 2>&1 < /dev/null &
    child=$!
    [ ! -e cancel ] || tick
    write_status running
    await "$child" tick
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
    # A full target directory ends the series that write to it; without room for results nothing more can be measured.
    case $record in
    *'"exit_code":5,'*) failure='"disk_full"' ;;
    *'"exit_code":7,'*) unavailable="$unavailable$probe-$variant " ;;
    *'"memory_short":true,'*)
        [ -z "$careful" ] || fail '"memory"'
        unavailable="$unavailable$probe-$variant "
        ;;
    esac
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
    while IFS= read -r path; do
        case ${path##*/} in "$RUN_NAME".*) rm -rf -- "$path" ;; esac
    done < files
}

# What our package manager brought goes again. That may take a while, so the status keeps changing.
remove_packages() {
    [ -e installed ] || [ -e working ] || return 0
    # shellcheck disable=SC2086
    $SHELL_COMMAND "$RUN_DIR/packages.sh" remove >> runner.log 2>&1 < /dev/null &
    await $! write_status running
}

finish() {
    remove_packages
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
    budget_cs=0 waited_cs=0 known_quiet=no expectations=' ' disk_probes=' ' unavailable=' '
    child='' ticker='' ticked='' final='' failure=null
    probe_json=null variant_json=null repeat_json=null careful=''
    read_clock
    started_cs=$now_cs started_s=$uptime
    read -r boot_id < /proc/sys/kernel/random/boot_id
    mkdir "$RUN_DIR/lock" 2> /dev/null || adopt
    cd "$RUN_DIR" || exit 2
    trap 'ticked=1' USR1
    trap on_terminate TERM INT
    echo $$ > pid
    mkdir -p results stop
    printf '%8192s' '' > reserve || fail '"disk_full"'
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

main
