#!/bin/sh
# CPU measurements of one run by tools that everybody has, each a function; THREADS is `all` or a number:
#
#   stress_ng_div16 THREADS SECONDS
#   openssl_sha256 THREADS SECONDS
#   openssl_algorithms THREADS SECONDS     each of ALGORITHMS for so long, in blocks of 16 kB
#   sysbench_cpu THREADS SECONDS
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

ALGORITHMS="sha256 sha512 blake2b512 sha3-256 sha3-512 shake128 shake256 aes-256-cbc aria-256-cbc camellia-256-cbc sm4-cbc"

# print_result NAME: the conditions, then what the tool printed and how it ended. Fails as the tool did.
print_result() {
    print_conditions "threads $threads" "seconds $seconds" "tool $tool"
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

# Sets tool, the version.
look_up_openssl() {
    tool=$(openssl version 2> /dev/null < /dev/null | sed -n '1s/^\([^ ]* [^ ]*\).*/\1/p')
    case $tool in
    'OpenSSL '*) ;;
    '') absent OpenSSL openssl ;;
    *) unavailable "openssl is $tool here, whose figures do not compare with those of OpenSSL" ;;
    esac
}

# Sets output and status: openssl_speed ALGORITHM
openssl_speed() {
    # Without -elapsed a second is one of CPU time, and what the host was not given would not show.
    output=$(openssl speed -mr -elapsed -seconds "$seconds" -bytes 16384 -multi "$threads" -evp "$1" < /dev/null)
    status=$?
}

openssl_sha256() {
    choose_threads "$1"
    seconds=$2
    look_up_openssl
    openssl_speed sha256
    print_result openssl
}

openssl_algorithms() {
    choose_threads "$1"
    seconds=$2
    look_up_openssl
    print_conditions "threads $threads" "seconds $seconds" "tool $tool"
    for algorithm in $ALGORITHMS; do
        openssl_speed "$algorithm"
        [ "$status" -eq 0 ] || unavailable "$tool has no $algorithm here, and all of these are needed: $ALGORITHMS"
        printf '=== %s\n%s\n=== end %s rc=%d\n' "$algorithm" "$output" "$algorithm" "$status"
    done
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
stress_ng_div16 | openssl_sha256 | openssl_algorithms | sysbench_cpu) "$@" ;;
*) exit 2 ;;
esac
