#!/bin/sh
# Servers and their clients on one machine:
#
#   set PIPELINE SECONDS    a Redis or Valkey server and a client on each usable CPU; SET, so many requests at a time
#
# The servers listen on the loopback only, know no command but those needed here, keep nothing on a disk and have a limit
# of memory each. They work in the run's directory, where the teardown ends whatever a killed run left.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

CONNECTIONS=50
VALUE_BYTES=32
# As many as the published runs use, where memory allows it; a key with its value and its share of the table takes
# BYTES_A_KEY at most.
KEYS_MAX=10000000
BYTES_A_KEY=160
SERVER_MIB_MAX=1024
SERVER_MIB_MIN=32
SERVER_OWN_MIB=16
WARM_S=1
FIRST_PORT=20000
PORT_COUNT=10000

pause() { sleep 0.1 2> /dev/null || sleep 1; }

# Sets flavour, server, client, cli and tool.
look_up_tools() {
    for flavour in redis valkey; do
        client=$(command -v $flavour-benchmark) || continue
        cli=$(command -v $flavour-cli) || continue
        # The tools of Debian have the server, too, which knows itself by its name; their package starts no service.
        if ! command -v $flavour-server > /dev/null && command -v $flavour-check-rdb > /dev/null; then
            ln -sf "$(command -v $flavour-check-rdb)" "$RUN_DIR/$flavour-server"
            PATH=$PATH:$RUN_DIR
        fi
        server=$(command -v $flavour-server) || continue
        version=$("$server" --version 2> /dev/null < /dev/null | sed -n '1s/.* v=\([0-9][0-9.]*\).*/\1/p')
        [ -n "$version" ] || continue
        [ "${version%%.*}" -ge 6 ] || unavailable "$flavour $version is too old: 6 or newer is needed"
        case $flavour in redis) tool=Redis ;; *) tool=Valkey ;; esac
        tool="$tool $version by $flavour-benchmark"
        return
    done
    absent "Redis with redis-benchmark" redis apt-get=redis-tools pacman=valkey
}

# Sets keys and server_mib, what each server may take of the memory to spare.
share_memory() {
    look_up_memory
    server_mib=$(lower $((spare_mib / 2 / threads)) $SERVER_MIB_MAX)
    [ "$server_mib" -ge $SERVER_MIB_MIN ] ||
        unavailable "$threads servers need $((2 * SERVER_MIB_MIN * threads)) MiB to spare, and $spare_mib MiB are"
    keys=$(lower $(((server_mib - SERVER_OWN_MIB) * MIB / BYTES_A_KEY)) $KEYS_MAX)
}

# start_server PORT: on standard input, so that no file is left.
start_server() {
    "$server" - > /dev/null 2>&1 << END &
bind 127.0.0.1
port $1
save ""
appendonly no
maxmemory ${server_mib}mb
maxmemory-policy noeviction
user default on nopass ~* -@all +set +ping +info +time
END
    server_pid=$!
}

# Fails unless the server at the port is ours: whoever was there first keeps the port.
is_ours() {
    "$cli" -h 127.0.0.1 -p "$1" info server 2> /dev/null < /dev/null | grep -q "^process_id:$2.\{0,1\}$"
}

# Sets ports and servers: one for each thread, at ports that nobody uses.
start_servers() {
    ports='' started=0 tries=0
    next=$((FIRST_PORT + $$ % PORT_COUNT))
    while [ $started -lt "$threads" ]; do
        tries=$((tries + 1)) next=$((next + 1))
        [ $tries -le $((threads + 50)) ] || fail_step "no server started at the ports up to $next"
        start_server $next
        servers="$servers $server_pid"
        looks=0
        while kill -0 "$server_pid" 2> /dev/null && [ $looks -lt 100 ]; do
            if is_ours $next "$server_pid"; then
                ports="$ports $next" started=$((started + 1))
                break
            fi
            looks=$((looks + 1))
            pause
        done
    done
}

fail_step() {
    echo "$1" >&2
    exit 3
}

start_clients() {
    clients=
    for port in $ports; do
        # So many requests that no client ends before it is stopped.
        "$client" -h 127.0.0.1 -p "$port" -t set -c $CONNECTIONS -d $VALUE_BYTES -r "$keys" -P "$pipeline" -q \
            -n $(((seconds + 10) * 3000000)) > /dev/null 2>&1 < /dev/null &
        clients="$clients $!"
    done
}

# count_sets NAME: by each server's own clock what it has done so far.
count_sets() {
    counting=
    for port in $ports; do
        printf 'TIME\nINFO commandstats\n' | "$cli" -h 127.0.0.1 -p "$port" 2> /dev/null |
            tr -d '\r' | grep -E '^[0-9]+$|^cmdstat_set:' > "$RUN_DIR/redis-$port.$1" &
        counting="$counting $!"
    done
    # shellcheck disable=SC2086
    wait $counting
}

end_all() {
    # bash says of each that it was killed.
    # shellcheck disable=SC2086
    {
        kill -KILL $clients $servers
        wait
    } 2> /dev/null
    rm -f "$RUN_DIR"/redis-*.before "$RUN_DIR"/redis-*.after "$RUN_DIR/$flavour-server"
}

measure_set() {
    pipeline=$1 seconds=$2 clients='' servers=''
    choose_threads all
    look_up_tools
    share_memory
    cd "$RUN_DIR" || exit 2
    trap end_all EXIT
    trap 'exit 3' TERM INT HUP PIPE
    start_servers
    start_clients
    sleep $WARM_S
    count_sets before
    sleep "$seconds"
    count_sets after
    for pid in $clients; do
        kill -0 "$pid" 2> /dev/null || fail_step "a client ended early"
    done
    print_conditions "threads $threads" "seconds $seconds" "tool $tool" "pipeline $pipeline" \
        "connections $CONNECTIONS" "value_bytes $VALUE_BYTES" "keys $keys" "memory_mib $server_mib"
    for port in $ports; do
        printf '=== server %d\n' "$port"
        cat "$RUN_DIR/redis-$port.before" "$RUN_DIR/redis-$port.after"
        printf '=== end server %d rc=0\n' "$port"
    done
}

case ${1:-} in
set)
    shift
    measure_set "$@"
    ;;
*) exit 2 ;;
esac
