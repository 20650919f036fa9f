#!/bin/sh
# Benchmarks a host, makes a change, benchmarks it again, and fails where the host got slower.
#
#   regression-gate.sh HOST COMMAND…
#
# Ends with 0 where all is fine, 1 where a metric lost 5 % or more, 2 where that is unclear. RACKRATE is
# the command line, BENCHMARK further arguments of its benchmark, LOSS another share than 5%.
set -eu
host=$1
shift

measured() {
    # shellcheck disable=SC2086 # several words each
    ${RACKRATE:-./rackrate manage} benchmark "$host" --quiet --json --label "gate=$1" ${BENCHMARK:-} |
        sed -n 's/.*"run": "\([0-9a-f-]*\)".*/\1/p'
}

before=$(measured before)
"$@"
after=$(measured after)
# What measured nothing ends its benchmark in an error; without an identifier nothing can be compared.
[ -n "$before" ] && [ -n "$after" ] || exit 2
# shellcheck disable=SC2086
${RACKRATE:-./rackrate manage} runs compare "$before" "$after" --fail-on-regression "${LOSS:-5%}"
