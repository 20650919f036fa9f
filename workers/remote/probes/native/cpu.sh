#!/bin/sh
# CPU measurements of one run by tools that everybody has, each a function; THREADS is `all` or a number:
#
#   stress_ng_div16 THREADS SECONDS
#   openssl_sha256 THREADS SECONDS
#   sysbench_cpu THREADS SECONDS
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

choose_threads() {
    threads=$1
    if [ "$threads" = all ]; then threads=$("$RUN_DIR/bin/observe" --cpus) || exit 3; fi
}

# Says with which command the host would have the tool: absent NAME PACKAGE
absent() {
    for manager in apt-get dnf yum zypper apk pacman; do
        command -v $manager > /dev/null || continue
        case $manager in apk) verb=add ;; pacman) verb=-S ;; *) verb=install ;; esac
        unavailable "$1 is not installed: $manager $verb $2"
    done
    unavailable "$1 is not installed"
}

# print_result NAME: the conditions, then what the tool printed and how it ended. Fails as the tool did.
print_result() {
    printf '=== conditions\nthreads %d\nseconds %d\ntool %s\n=== end conditions rc=0\n' "$threads" "$seconds" "$tool"
    printf '=== %s\n%s\n=== end %s rc=%d\n' "$1" "$output" "$1" "$status"
    [ "$status" -eq 0 ] || exit 3
}

stress_ng_div16() {
    choose_threads "$1"
    seconds=$2
    tool=$(stress-ng --version 2> /dev/null < /dev/null | sed -n '1s/^stress-ng, version \([^ ]*\).*/stress-ng \1/p')
    [ -n "$tool" ] || absent stress-ng stress-ng
    cd "$RUN_DIR" || exit 2 # it keeps files where it starts
    output=$(stress-ng --cpu "$threads" --cpu-method div16 --timeout "$seconds" --metrics-brief 2>&1 < /dev/null)
    status=$?
    case $output in *'cpu-method must be one of'*) unavailable "$tool has no method div16; a newer one has" ;; esac
    print_result stress-ng
}

openssl_sha256() {
    choose_threads "$1"
    seconds=$2
    tool=$(openssl version 2> /dev/null < /dev/null | sed -n '1s/^\(OpenSSL [^ ]*\).*/\1/p')
    [ -n "$tool" ] || absent OpenSSL openssl
    # Without -elapsed a second is one of CPU time, and what the host was not given would not show.
    output=$(openssl speed -mr -elapsed -seconds "$seconds" -bytes 16384 -multi "$threads" -evp sha256 < /dev/null)
    status=$?
    print_result openssl
}

sysbench_cpu() {
    choose_threads "$1"
    seconds=$2
    tool=$(sysbench --version 2> /dev/null < /dev/null | sed -n '1s/^\(sysbench 1[^ ]*\).*/\1/p')
    [ -n "$tool" ] || absent "sysbench 1" sysbench
    output=$(sysbench cpu --cpu-max-prime=10000 --threads="$threads" --time="$seconds" run 2>&1 < /dev/null)
    status=$?
    print_result sysbench
}

case ${1:-} in
stress_ng_div16 | openssl_sha256 | sysbench_cpu) "$@" ;;
*) exit 2 ;;
esac
