#!/bin/sh
# A web server and its client on one machine: web.sh 1|64 SECONDS, the size of the static file in KiB.
#
# nginx with a worker on each usable CPU, on the loopback only, with a configuration and files of its own in the run's
# directory: those of the host and its service stay as they are. wrk with a thread on each CPU counts the answers.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# Connections of each CPU, a test with each, and of all: a process may have 1024 open files by default.
CONNECTIONS='4 16 64'
CONNECTIONS_MAX=800
THREAD_MIB=32
FIRST_PORT=20000
PORT_COUNT=10000

# Debian has servers where only root looks.
PATH=$PATH:/usr/local/sbin:/usr/sbin

# Sets tool. An nginx before 1.19.5 opens the log of the host whatever it is told.
look_up_tools() {
    command -v wrk > /dev/null || absent "wrk" wrk
    command -v nginx > /dev/null || absent "nginx" nginx apt-get=nginx-light
    server=$(nginx -v 2>&1 < /dev/null | sed -n 's|^nginx version: nginx/\([0-9][0-9.]*\).*|\1|p')
    client=$(wrk -v 2>&1 < /dev/null | sed -n '1s|^wrk \(debian/\)\{0,1\}\([0-9][0-9.]*\).*|\2|p')
    case $server in
    '') unavailable "nginx does not say its version" ;;
    0.* | 1.?.* | 1.1[0-8].* | 1.19.[0-4]) unavailable "nginx $server is too old: 1.19.5 or newer is needed" ;;
    esac
    tool="nginx $server by wrk ${client:-unknown}"
}

write_files() {
    mkdir -p "$RUN_DIR/web/files" || exit 6
    dd if=/dev/zero of="$RUN_DIR/web/files/$file_kib" bs=1024 count="$file_kib" 2> /dev/null || exit 6
}

# start_server PORT: `user` is for a run as root, whose files nobody else may read.
start_server() {
    cat > "$RUN_DIR/web/conf" << END || exit 6
user root root;
daemon off;
worker_processes $threads;
pid pid;
events { worker_connections 1024; }
http {
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    open_file_cache max=8;
    client_body_temp_path temp;
    proxy_temp_path temp;
    fastcgi_temp_path temp;
    uwsgi_temp_path temp;
    scgi_temp_path temp;
    server {
        listen 127.0.0.1:$1;
        root files;
    }
}
END
    nginx -p "$RUN_DIR/web" -c "$RUN_DIR/web/conf" -e stderr > "$RUN_DIR/web/log" 2>&1 < /dev/null &
    server_pid=$!
}

# Sets port. The server writes its pid once it listens, so the port is ours and nobody else's.
look_up_port() {
    port=$((FIRST_PORT + $$ % PORT_COUNT))
    for try in 1 2 3 4 5; do
        port=$((port + try))
        start_server $port
        looks=0
        while kill -0 "$server_pid" 2> /dev/null && [ $looks -lt 100 ]; do
            if [ -s "$RUN_DIR/web/pid" ]; then return; fi
            looks=$((looks + 1))
            sleep 0.1 2> /dev/null || sleep 1
        done
        end_all
    done
    echo "nginx did not start at the ports up to $port" >&2
    exit 3
}

# The workers outlive a server that is killed, so it is asked to end first.
end_all() {
    # shellcheck disable=SC2086
    {
        kill -KILL $client_pid
        kill -TERM $server_pid
        wait
    } 2> /dev/null
    client_pid='' server_pid=''
    rm -f "$RUN_DIR/web/pid" "$RUN_DIR/web/log"
}

measure() {
    file_kib=$1 seconds=$2 client_pid='' server_pid=''
    choose_threads all
    look_up_tools
    look_up_memory
    [ $((spare_mib / 2)) -ge $((THREAD_MIB * threads)) ] ||
        unavailable "$threads workers need $((2 * THREAD_MIB * threads)) MiB to spare, and $spare_mib MiB are"
    cd "$RUN_DIR" || exit 2
    trap 'end_all; rm -rf "$RUN_DIR/web"' EXIT
    trap 'exit 3' TERM INT HUP PIPE
    write_files
    look_up_port
    print_conditions "threads $threads" "seconds $seconds" "kib $file_kib" "tool $tool"
    for each in $CONNECTIONS; do
        connections=$(lower $((each * threads)) $CONNECTIONS_MAX)
        echo "=== wrk $connections"
        wrk -t "$threads" -c "$connections" -d "${seconds}s" "http://127.0.0.1:$port/$file_kib" 2>&1 < /dev/null &
        client_pid=$!
        wait $client_pid
        status=$? client_pid=''
        printf '\n=== end wrk %d rc=%d\n' "$connections" $status
    done
}

case ${1:-} in
1 | 64) measure "$@" ;;
*) exit 2 ;;
esac
