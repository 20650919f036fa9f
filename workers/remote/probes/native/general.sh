#!/bin/sh
# What general performance is the mean of: general.sh REDIS_SECONDS OPENSSL_SECONDS
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# Redis first: it is the tool that may be missing.
for pipeline in 1 16; do
    # shellcheck disable=SC2086
    $SHELL_COMMAND "$RUN_DIR/redis.sh" set $pipeline "$1" || exit $?
done
# shellcheck disable=SC2086
exec $SHELL_COMMAND "$RUN_DIR/cpu.sh" openssl_algorithms all "$2"
