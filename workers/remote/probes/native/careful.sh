#!/bin/sh
# careful.sh COMMAND [ARGUMENT …]: runs one command of the plan on a host that is in production. Whoever else works there
# comes first: for the CPU, for the disk, for memory.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# The runner ends a run that leaves less than a fifth; what lies between gives others room to grow.
look_up_memory
spare_mib=$((available_mib - memory_mib / 4))
[ "$spare_mib" -ge 64 ] ||
    unavailable "a quarter of the memory has to stay available: of $memory_mib MiB only $available_mib MiB are"
case $1 in
bin/memory) set -- "$@" --bytes-max $((spare_mib * MIB)) ;;
esac
last='nice -n 19'
if ionice -c 3 true 2> /dev/null; then last="ionice -c 3 $last"; fi
# shellcheck disable=SC2086
exec $last "$@"
