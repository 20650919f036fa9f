#!/bin/sh
# Network measurements of one run, each a function:
#
#   serve PORT SECONDS                                     on the peer: iperf3 servers of one test each, one after the
#                                                          other; `pid` is ours, `ready` is there while we serve
#   tcp ADDRESS PORT SECONDS STREAMS forward|reverse
#   udp ADDRESS PORT SECONDS BITS_PER_S forward|reverse
#   ping ADDRESS COUNT
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

RETRY_S=10
UDP_BYTES=1400 # fits the MTU of IPv6 and of most tunnels

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
    unavailable "no working timeout, so a server might outlive its time"
}

is_listening() {
    grep -q "^ *[0-9]*: [0-9A-F]*:$(printf '%04X' "$1") [0-9A-F]*:0000 0A " /proc/net/tcp /proc/net/tcp6 2> /dev/null
}

end_serving() {
    [ -z "$server" ] || kill -TERM "$server" 2> /dev/null
    rm -f ready pid
}

# Sets left_s, and fails once the time is over.
time_is_left() {
    read_clock
    left_s=$(((until_cs - now_cs + 99) / 100))
    [ "$left_s" -gt 0 ]
}

serve() {
    port=$1 server=''
    cd "$RUN_DIR" || exit 2
    look_up_iperf3
    look_up_bound
    read_clock
    until_cs=$((now_cs + $2 * 100))
    if is_listening "$port"; then unavailable "port $port is taken"; fi
    trap 'end_serving; exit 0' TERM INT
    echo $$ > pid
    while time_is_left; do
        # shellcheck disable=SC2086
        $bound "$left_s" iperf3 -s -1 -p "$port" > serve.log 2>&1 < /dev/null &
        server=$!
        until [ -e ready ] || ! kill -0 "$server" 2> /dev/null; do
            if is_listening "$port"; then : > ready; else pause; fi
        done
        # A server that cannot run must not be started in a circle.
        wait "$server" || pause
        server=''
    done
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
    grep -q '"error":.*\(busy\|refused\|unable to connect\|may not be available\|closed unexpectedly\)' iperf3.part || return 1
    read_clock
    [ "$now_cs" -lt "$until_cs" ]
}

# iperf3 3.12 ends with 0 after an error; the record tells.
run_iperf3() {
    read_clock
    until_cs=$((now_cs + RETRY_S * 100))
    case $(iperf3 --help 2>&1) in *--connect-timeout*) set -- "$@" --connect-timeout 3000 ;; esac
    while :; do
        iperf3 -c "$peer" -p "$port" -J "$@" > iperf3.part < /dev/null
        status=$?
        is_worth_another_try || break
        pause
    done
    echo "=== iperf3"
    cat iperf3.part
    printf '\n=== end iperf3 rc=%d\n' "$status"
    said=$(sed -n 's/.*"error":[^"]*"\(.*\)".*/\1/p' iperf3.part)
    rm -f iperf3.part
    if [ -n "$said" ] || [ "$status" -ne 0 ]; then
        echo "iperf3: ${said:-status $status}" >&2
        exit 3
    fi
}

# run_test ADDRESS PORT SECONDS STREAMS DIRECTION PROTOCOL [OPTION OF IPERF3 …]
run_test() {
    choose_peer "$1"
    look_up_iperf3
    cd "$RUN_DIR" || exit 2
    port=$2 seconds=$3 streams=$4 direction=$5 protocol=$6
    shift 6
    case $direction in
    forward) ;;
    reverse) set -- "$@" -R ;;
    *) exit 2 ;;
    esac
    # The first second belongs to the slow start.
    if [ "$seconds" -gt 3 ]; then set -- "$@" -O 1; fi
    print_conditions "$direction" "$streams" "$seconds" "$protocol"
    run_iperf3 -t "$seconds" -P "$streams" "$@"
}

tcp() { run_test "$1" "$2" "$3" "$4" "$5" tcp; }

udp() { run_test "$1" "$2" "$3" 1 "$5" udp -u -b "$4" -l $UDP_BYTES; }

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
