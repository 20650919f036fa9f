#!/bin/sh
# Network measurements of one run, each a function:
#
#   serve PORT SECONDS                                     on the peer: iperf3 servers of one test each, one after the
#                                                          other, on this port and those after it; `pid` is ours,
#                                                          `ready` is there while we serve
#   tcp ADDRESS PORT SECONDS STREAMS forward|reverse [BYTES]
#   udp ADDRESS PORT SECONDS BITS_PER_S forward|reverse [BYTES]
#                                                          BYTES: the most that either end may send in all tests
#   ping ADDRESS COUNT
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

RETRY_S=10
UDP_BYTES=1400 # fits the MTU of IPv6 and of most tunnels
# A process of iperf3 before 3.16 uses one CPU; from 40 Gbit/s on that one is the limit.
THREADED_SINCE=16
MOST_PROCESSES=4

pause() { sleep 0.2 2> /dev/null || sleep 1; }

# Sets tool, the version.
look_up_iperf3() {
    tool=$(iperf3 --version 2> /dev/null < /dev/null | sed -n '1{/^iperf 3/p;}')
    [ -n "$tool" ] || unavailable "iperf3 is not installed"
}

# Sets bound: the command that ends another one in time, also when we are killed. The next word is the seconds.
look_up_bound() {
    for bound in 'timeout -k 2' timeout 'timeout -t'; do
        if $bound 2 true 2> /dev/null; then return; fi
    done
    return 1
}

is_listening() {
    grep -q "^ *[0-9]*: [0-9A-F]*:$(printf '%04X' "$1") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6 2> /dev/null
}

end_serving() {
    # shellcheck disable=SC2086
    [ -z "$server$others" ] || kill -TERM $server $others 2> /dev/null
    rm -f ready pid
}

# Sets left_s, and fails once the time is over.
time_is_left() {
    read_clock
    left_s=$(((until_cs - now_cs + 99) / 100))
    [ "$left_s" -gt 0 ]
}

# serve_tests PORT LOG: one server after the other until the time is over.
serve_tests() {
    while time_is_left; do
        # shellcheck disable=SC2086
        $bound "$left_s" iperf3 -s -1 -p "$1" > "$2" 2>&1 < /dev/null &
        server=$!
        [ "$1" != "$port" ] || announce
        # A server that cannot run must not be started in a circle.
        wait "$server" || pause
        server=''
    done
}

announce() {
    until [ -e ready ] || ! kill -0 "$server" 2> /dev/null; do
        if is_listening "$port"; then : > ready; else pause; fi
    done
}

# The ports after the first, for tests by several processes; one that is taken is left to whoever has it.
serve_others() {
    n=1
    while [ "$n" -lt $MOST_PROCESSES ]; do
        if ! is_listening $((port + n)); then
            (
                server=''
                trap '[ -z "$server" ] || kill -TERM "$server" 2> /dev/null; exit 0' TERM INT
                serve_tests $((port + n)) /dev/null
            ) &
            others="$others $!"
        fi
        n=$((n + 1))
    done
}

serve() {
    port=$1 server='' others=''
    cd "$RUN_DIR" || exit 2
    # When memory runs out here the kernel ends this, and nobody else; steps of a run have it from observe.
    (echo 1000 > /proc/$$/oom_score_adj) 2> /dev/null
    look_up_iperf3
    look_up_bound || unavailable "no working timeout, so a server might outlive its time"
    read_clock
    until_cs=$((now_cs + $2 * 100))
    if is_listening "$port"; then unavailable "port $port is taken"; fi
    trap 'end_serving; exit 0' TERM INT
    echo $$ > pid
    serve_others
    serve_tests "$port" serve.log
    end_serving
}

# Sets mtu of the way to the peer, and congestion, the algorithm of TCP.
look_up_path() {
    device=$(ip route get "$peer" 2> /dev/null | sed -n '1s/.* dev \([^ ]*\).*/\1/p')
    mtu=$(cat "/sys/class/net/${device:-none}/mtu" 2> /dev/null) || mtu=unknown
    congestion=$(cat /proc/sys/net/ipv4/tcp_congestion_control 2> /dev/null) || congestion=unknown
}

choose_peer() {
    peer=$1
    case $peer in
    '' | -* | *[!0-9A-Za-z.:%_-]*)
        echo "not an address: $peer"
        exit 2
        ;;
    esac
}

# print_conditions DIRECTION STREAMS SECONDS PROTOCOL
print_conditions() {
    look_up_path
    echo "=== conditions"
    echo "peer $peer"
    echo "direction $1"
    echo "streams $2"
    echo "seconds $3"
    echo "protocol $4"
    echo "mtu $mtu"
    echo "congestion $congestion"
    echo "tool $tool"
    echo "=== end conditions rc=0"
}

# The peer serves one test at a time and then starts anew, so it may be busy or absent for a moment.
is_worth_another_try() {
    grep -q '"error":.*\(busy\|refused\|unable to connect\|may not be available\|closed unexpectedly\)' "$1" || return 1
    read_clock
    [ "$now_cs" -lt "$until_cs" ]
}

# attempt FILE PORT STREAMS [OPTION OF IPERF3 …]: sets status.
attempt() {
    record=$1 at=$2 by=$3
    shift 3
    read_clock
    until_cs=$((now_cs + RETRY_S * 100))
    while :; do
        # In the background, so that `guard` knows whom to end.
        # shellcheck disable=SC2086
        $limit iperf3 -c "$peer" -p "$at" -J -t "$seconds" -P "$by" "$@" > "$record" < /dev/null &
        echo $! >> clients
        wait $!
        status=$?
        [ ! -e "spent.$direction" ] || break
        is_worth_another_try "$record" || break
        pause
    done
}

# iperf3 3.12 ends with 0 after an error; the record tells.
has_failed() { [ "$status" -ne 0 ] || grep -q '"error":' "$1"; }

print_record() {
    echo "=== iperf3"
    cat "$1"
    printf '\n=== end iperf3 rc=%d\n' "$status"
}

# Whether either side kept its one CPU busy, for 90 % of the time or more.
is_cpu_bound() {
    minor=${tool#iperf 3.}
    [ "${minor%%[!0-9]*}" -lt $THREADED_SINCE ] || return 1
    sed -n 's/.*"\(host\|remote\)_total":[^0-9]*\([0-9]*\).*/\2/p' "$1" | grep -q '^\(9[0-9]\|[1-9][0-9][0-9]\)'
}

# Sets processes: as many as there are CPUs, with the same number of streams each.
look_up_processes() {
    processes=$(lower "$streams" "$(grep -c '^processor' /proc/cpuinfo)")
    processes=$(lower "$processes" $MOST_PROCESSES)
    while [ "$processes" -gt 1 ] && [ $((streams % processes)) -ne 0 ]; do processes=$((processes - 1)); done
}

# The same streams once more, shared by several processes; fails where not all of them came through, as behind a
# firewall that opens one port.
run_processes() {
    look_up_processes
    [ "$processes" -gt 1 ] && look_up_bound || return 1
    # Another program may listen on the peer's next port, and never answer.
    limit="$bound $((seconds + 15))"
    n=0
    while [ "$n" -lt "$processes" ]; do
        (
            attempt "process.$n" $((port + n)) $((streams / processes)) "$@"
            ! has_failed "process.$n"
        ) &
        eval "child_$n=\$!"
        n=$((n + 1))
    done
    n=0 status=0
    while [ "$n" -lt "$processes" ]; do
        eval "wait \$child_$n" || status=3
        n=$((n + 1))
    done
    [ "$status" -eq 0 ]
}

# ---- bytes that cost money -------------------------------------------------------------------------------------------

# Sets counter, of what the device to the peer has sent, or received where the peer sends. Without `ip` the device of the
# default route is taken to be that one.
look_up_counter() {
    [ -n "$device" ] || device=$(sed -n 's/^\([^[:space:]]*\)[[:space:]]*00000000[[:space:]].*/\1/p' /proc/net/route | head -n 1)
    case $direction in forward) counter=tx_bytes ;; *) counter=rx_bytes ;; esac
    counter=/sys/class/net/${device:-none}/statistics/$counter
}

# Sets moved.
look_up_moved() {
    moved=0
    [ ! -r "$counter" ] || read -r moved < "$counter"
}

# Sets sent: what this direction has sent in the tests before.
look_up_sent() {
    sent=0
    [ ! -r "sent.$direction" ] || read -r sent < "sent.$direction"
}

# Ends the test as soon as all is sent that may be.
guard() {
    while look_up_moved && [ $((sent + moved - moved_before)) -lt "$most_bytes" ]; do pause; done
    : > "spent.$direction"
    while read -r client; do kill -TERM "$client"; done < clients 2> /dev/null
}

begin_counting() {
    look_up_sent
    [ "$most_bytes" -eq 0 ] || [ "$sent" -lt "$most_bytes" ] || nothing_left
    : > clients
    guarding=''
    look_up_counter
    look_up_moved
    moved_before=$moved
    [ "$most_bytes" -eq 0 ] || {
        guard &
        guarding=$!
    }
}

# Keeps what was sent, for the tests to come and for the bill: with headers, and what was sent again.
end_counting() {
    [ -z "$guarding" ] || kill -TERM "$guarding" 2> /dev/null
    look_up_moved
    echo $((sent + moved - moved_before)) > "sent.$direction"
    rm -f clients
    echo "=== sent"
    echo "bytes $((moved - moved_before))"
    echo "=== end sent rc=0"
}

nothing_left() {
    unavailable "all $most_bytes bytes are sent that one end of this run may send ($direction)"
}

run_iperf3() {
    case $(iperf3 --help 2>&1) in *--connect-timeout*) set -- "$@" --connect-timeout 3000 ;; esac
    limit=''
    attempt iperf3.part "$port" "$streams" "$@"
    if [ -e "spent.$direction" ]; then
        rm -f iperf3.part
        end_counting
        nothing_left
    fi
    if has_failed iperf3.part; then
        print_record iperf3.part
        end_counting
        said=$(sed -n 's/.*"error":[^"]*"\(.*\)".*/\1/p' iperf3.part)
        rm -f iperf3.part
        echo "iperf3: ${said:-status $status}" >&2
        exit 3
    fi
    if [ "$streams" -gt 1 ] && is_cpu_bound iperf3.part && run_processes "$@" && [ ! -e "spent.$direction" ]; then
        n=0
        while [ "$n" -lt "$processes" ]; do
            print_record "process.$n"
            n=$((n + 1))
        done
    else
        status=0
        print_record iperf3.part
    fi
    rm -f iperf3.part process.*
    end_counting
}

# run_test ADDRESS PORT SECONDS STREAMS DIRECTION BYTES PROTOCOL [OPTION OF IPERF3 …]
run_test() {
    choose_peer "$1"
    look_up_iperf3
    cd "$RUN_DIR" || exit 2
    port=$2 seconds=$3 streams=$4 direction=$5 most_bytes=$6 protocol=$7
    shift 7
    case $direction in
    forward) ;;
    reverse) set -- "$@" -R ;;
    *) exit 2 ;;
    esac
    # The first second belongs to the slow start.
    if [ "$seconds" -gt 3 ]; then set -- "$@" -O 1; fi
    print_conditions "$direction" "$streams" "$seconds" "$protocol"
    begin_counting
    run_iperf3 "$@"
}

tcp() { run_test "$1" "$2" "$3" "$4" "$5" "${6:-0}" tcp; }

udp() { run_test "$1" "$2" "$3" 1 "$5" "${6:-0}" udp -u -b "$4" -l $UDP_BYTES; }

# run_ping COUNT INTERVAL_S: sets answer and status.
run_ping() {
    answer=$(ping -n -c "$1" -i "$2" -W 2 "$peer" 2>&1 < /dev/null)
    status=$?
}

ping_peer() {
    choose_peer "$1"
    command -v ping > /dev/null || unavailable "ping is not installed"
    count=$2 seconds=$((($2 + 4) / 5))
    run_ping "$count" 0.2
    case $answer in
    *'time='* | *'packets transmitted'*) ;;
    *'not permitted'* | *'ermission denied'*) unavailable "this user may not use ping" ;;
    *) # Old versions take whole seconds only.
        count=$(lower "$count" 20)
        seconds=$count
        run_ping "$count" 1
        ;;
    esac
    case $answer in
    *'time='*) ;;
    *)
        printf '%s\n' "$answer" >&2
        unavailable "$peer does not answer to ping"
        ;;
    esac
    tool=$(ping -V 2>&1 | sed -n '/iputils\|[Bb]usy[Bb]ox/{p;q;}')
    print_conditions forward 1 "$seconds" ping
    printf '=== ping\n%s\n=== end ping rc=%d\n' "$answer" "$status"
}

case ${1:-} in
serve | tcp | udp) "$@" ;;
ping) shift && ping_peer "$@" ;;
*) exit 2 ;;
esac
