# Sourced by the other scripts of the bundle; works with dash, bash and busybox ash, without root.
# shellcheck shell=sh disable=SC2034
#
# Exit codes of a step follow probe.h: 0 ok, 2 usage, 3 resource, 4 check failed, 5 no space left, 6 output,
# 7 not available here. What a step prints is framed: "=== NAME", the text, "=== end NAME rc=N".
set -u
umask 077
LC_ALL=C
export LC_ALL
MIB=1048576
SHELL_COMMAND=${RUNNER_SHELL:-sh}
RUN_DIR=$(cd "$(dirname "$0")" && pwd -P) || exit 2
RUN_NAME=${RUN_DIR##*/}
LIMIT=

# Sets now_cs: hundredths of a second since boot. A leading 1 keeps "08" from being read as octal.
read_clock() {
    read -r uptime _ < /proc/uptime
    now_cs=$((${uptime%.*} * 100 + 1${uptime#*.} - 100))
}

# Everything between "=== NAME" and "=== end NAME rc=N" is what one tool printed.
section() {
    section_name=$1
    shift
    echo "=== $section_name"
    # shellcheck disable=SC2086
    $LIMIT "$@" 2>&1
    printf '\n=== end %s rc=%d\n' "$section_name" $?
}

# Sets LIMIT, the time that one section may take. Old busybox wants `timeout -t 3`; without a working timeout the whole
# step's limit has to do.
look_up_limit() {
    if timeout 3 true 2> /dev/null; then LIMIT='timeout 3'; fi
}

# A section from one of our functions: `timeout` takes programs only.
own_section() {
    own_name=$1
    shift
    # shellcheck disable=SC2086
    section "$own_name" $SHELL_COMMAND "$0" "$@"
}

# A path of the table of mounts, which writes a blank and a backslash as octal numbers.
plain_path() {
    case $1 in *\\*) printf '%s\n' "$1" | sed 's/\\040/ /g; s/\\134/\\/g' ;; *) printf '%s\n' "$1" ;; esac
}

# Sets mount_point, mount_device, filesystem and mount_options of a directory.
look_up_mount() {
    mount_point=$(df -P -- "$1" 2> /dev/null | sed -n '2s/^.*% *//p' | sed 's/\\/\\134/g; s/ /\\040/g')
    filesystem=unknown mount_options=unknown mount_device=unknown
    while read -r device point type options _; do
        if [ "$point" = "$mount_point" ]; then filesystem=$type mount_options=$options mount_device=$device; fi
    done < /proc/mounts
}

# Sets in_memory, yes where memory keeps or caches what is written to a directory whatever a program asks for, and
# stored_on and stored_as, the device and the file system that keep it in the end.
look_up_storage() {
    read -r in_memory stored_as stored_on << END
$(directory_storage "$1" 8)
END
    look_up_root
}

# Sets root_on, the device that the machine runs from: the disk that an offer sells.
look_up_root() {
    root_on=$(directory_storage / 8)
    root_on=${root_on##* }
}

# Prints `yes|no FILE_SYSTEM DEVICE`, followed through at most LEVELS layers: directory_storage DIRECTORY LEVELS. It runs
# in a shell of its own, so it may call itself.
directory_storage() {
    look_up_mount "$1"
    case $filesystem in
    tmpfs | ramfs) echo "yes $filesystem $filesystem" ;;
    overlay)
        upper=$(upper_directory "$1")
        if [ -n "$upper" ] && [ "$2" -gt 0 ]; then
            directory_storage "$upper" $(($2 - 1))
        else
            echo "no overlay ${mount_options##*upperdir=}" | sed 's/,.*//'
        fi
        ;;
    *)
        node=$(readlink -f -- "$mount_device" 2> /dev/null)
        case $node in
        /dev/*) below=$(device_storage "${node##*/}" "$2") ;;
        *)
            below="no $mount_device"
            # Of a server a number that tells it from others, as its name is nobody else's business.
            case $mount_device in *:* | //*) below="no server/$(printf '%s' "$mount_device" | cksum | sed 's/ .*//')" ;; esac
            ;;
        esac
        echo "${below%% *} $filesystem ${below#* }"
        ;;
    esac
}

# Block size, blocks and inodes of the file system of a directory: overlayfs answers with those of its upper directory.
fs_numbers() {
    stat -f -c '%S %b %c' -- "$1" 2> /dev/null
}

# The upper directory of the overlayfs of a directory, or the mount that holds it where that path lies outside; nothing
# when neither is seen from here.
upper_directory() {
    numbers=$(fs_numbers "$1")
    case $mount_options in *upperdir=*) ;; *) return ;; esac
    upper=${mount_options##*upperdir=}
    upper=$(plain_path "${upper%%,*}")
    # A container has other files below the same path.
    if [ -d "$upper" ] && [ "$(fs_numbers "$upper")" = "$numbers" ]; then echo "$upper" && return; fi
    while read -r _ point type _; do
        case $type in overlay | proc | sysfs | cgroup*) continue ;; esac
        point=$(plain_path "$point")
        if [ "$(fs_numbers "$point")" = "$numbers" ]; then echo "$point" && return; fi
    done < /proc/mounts
}

# Prints `yes|no DEVICE` of a block device as directory_storage does: device_storage NAME LEVELS
device_storage() {
    case $1 in ram[0-9]* | zram[0-9]*) echo "yes ${1%%[0-9]*}" && return ;; esac
    whole=$1
    [ ! -e "/sys/class/block/$1/partition" ] || whole=$(cd -P "/sys/class/block/$1/.." && basename "$(pwd)")
    case $whole in
    loop[0-9]*)
        file=$(cat "/sys/block/$whole/loop/backing_file" 2> /dev/null)
        below=unknown
        if [ -f "$file" ] && [ "$2" -gt 0 ]; then below=$(directory_storage "${file%/*}" $(($2 - 1))); fi
        # Without dio what is written to it is written to the page cache.
        if [ "$(cat "/sys/block/$whole/loop/dio" 2> /dev/null)" != 1 ]; then below="yes ${below#* }"; fi
        echo "${below%% *} loop/${below##* }"
        return
        ;;
    esac
    names='' kept=no
    for part in "/sys/class/block/$whole/slaves/"*; do
        [ -e "$part" ] && [ "$2" -gt 0 ] || continue
        below=$(device_storage "${part##*/}" $(($2 - 1)))
        names=$names+${below#* }
        case $below in yes*) kept=yes ;; esac
    done
    # Device mapper and RAID, by what they are made of.
    if [ -n "$names" ]; then echo "$kept ${whole%%[-0-9]*}/${names#+}"; else echo "no $1"; fi
}

lies_in_memory() {
    look_up_storage "$1"
    [ "$in_memory" = yes ]
}

# Sets directory to the one given; but where that is the run's own and /tmp is kept in memory, as many distributions do
# now, to one that the file hierarchy standard puts on a disk. Fails when there is none.
look_up_disk_directory() {
    directory=$1
    if [ "$(cd "$1" 2> /dev/null && pwd -P)" != "$RUN_DIR" ] || ! lies_in_memory "$1"; then return 0; fi
    for directory in /var/tmp "${HOME:-/}"; do
        if [ -d "$directory" ] && [ -w "$directory" ] && ! lies_in_memory "$directory"; then return 0; fi
    done
    directory=$1
    return 1
}

# Sets free_mib and size_mib of the file system that holds a directory.
look_up_space() {
    read -r blocks total size << END
$(stat -f -c '%a %b %S' -- "$1" 2> /dev/null || echo 0 0 1)
END
    free_mib=$((blocks * size / MIB)) size_mib=$((total * size / MIB))
}

meminfo_mib() {
    sed -n "s/^$1: *\([0-9]*\) kB/\1/p" /proc/meminfo | { read -r kib && echo $((kib / 1024)); } || echo 0
}

# Sets available_mib and memory_mib, what the machine or the tightest cgroup above us still gives and has, and spare_mib,
# what a measurement may take of it.
look_up_memory() {
    read -r available memory spare << END
$("$RUN_DIR/bin/observe" --memory)
END
    available_mib=$((available / MIB)) memory_mib=$((memory / MIB)) spare_mib=$((spare / MIB))
}

no_space() {
    echo "=== failure disk_full: $1"
    exit 5
}

# The step cannot be measured on this host, in plain words; the run goes on and does not fail because of it.
unavailable() {
    echo "=== failure unavailable: $1"
    exit 7
}

# Says with which command the host would have a tool: absent NAME PACKAGE [MANAGER=PACKAGE …]
absent() {
    name=$1 package=$2
    shift 2
    for manager in apt-get dnf yum zypper apk pacman; do
        command -v $manager > /dev/null || continue
        case $manager in apk) verb=add ;; pacman) verb=-S ;; *) verb=install ;; esac
        for other in "$@"; do
            case $other in "$manager"=*) package=${other#*=} ;; esac
        done
        unavailable "$name is not installed: $manager $verb $package"
    done
    unavailable "$name is not installed"
}

# Sets threads: choose_threads all|NUMBER
choose_threads() {
    threads=$1
    if [ "$threads" = all ]; then threads=$("$RUN_DIR/bin/observe" --cpus) || exit 3; fi
}

# Prints the conditions of a test, lines `KEY VALUE`.
print_conditions() {
    echo '=== conditions'
    for line in "$@"; do printf '%s\n' "$line"; done
    echo '=== end conditions rc=0'
}

lower() { if [ "$1" -lt "$2" ]; then echo "$1"; else echo "$2"; fi; }

# As root, or through sudo when that needs no password.
privileged() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

# Sets fio and fio_version, or fails and sets no_fio to the reason. Other programs have the same name, so the version
# decides.
look_up_fio() {
    rest=$PATH:
    no_fio="fio 3 is not installed"
    while [ -n "$rest" ]; do
        fio=${rest%%:*}/fio
        rest=${rest#*:}
        [ -x "$fio" ] || continue
        # shellcheck disable=SC2086
        fio_version=$($LIMIT "$fio" --version 2> /dev/null < /dev/null)
        fio_status=$?
        case $fio_version in fio-3.*) return 0 ;; esac
        # shellcheck disable=SC2086
        said=$($LIMIT "$fio" --version 2>&1 < /dev/null | head -n 1 | head -c 120)
        no_fio="fio 3 is not to be had: $fio --version ended with status $fio_status and said: ${said:-nothing}"
    done
    return 1
}
