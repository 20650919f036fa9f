#!/bin/sh
# Installs tools by the host's package manager, and removes exactly what that brought:
#
#   install TOOL …      ends with 7 when a tool cannot be had; says so and does nothing when all are there
#   remove [SECONDS]    as long as that it waits for other package managers (300)
#
# A package manager that is ended halfway leaves the host broken. So it works in a session of its own, outside the run's
# directory where the teardown ends everything, and `remove` waits for it.
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

WAIT_S=300
LOCKED='ould not get lock\|nable to lock\|nable to acquire\|is locked\|was locked\|transaction lock'

is_present() {
    case $1 in
    fio) look_up_fio ;;
    *) $LIMIT "$1" --version > /dev/null 2>&1 < /dev/null ;;
    esac
}

# Sets absent: the tools of the arguments that are not there.
look_up_absent() {
    absent=
    for tool in "$@"; do is_present "$tool" || absent="$absent $tool"; done
}

# Sets manager, or fails.
look_up_manager() {
    for manager in apt-get dnf yum zypper apk pacman; do
        if command -v $manager > /dev/null; then return; fi
    done
    return 1
}

list_installed() {
    case $manager in
    apt-get) dpkg-query -W -f '${db:Status-Abbrev}|${binary:Package}\n' | sed -n 's/^.i *|//p' ;;
    dnf | yum | zypper) rpm -qa --qf '%{NAME}.%{ARCH}\n' | grep -v '^gpg-pubkey' ;;
    apk) apk info -q ;;
    pacman) pacman -Qq ;;
    esac
}

# What lay beside, such as the settings of a removed package.
list_remains() {
    [ "$manager" != apt-get ] || dpkg-query -W -f '${db:Status-Abbrev}|${binary:Package}\n' | sed -n 's/^.c *|//p'
}

install_one() {
    case $manager in
    apt-get)
        privileged env LC_ALL=C DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 NEEDRESTART_MODE=l apt-get -y -q \
            --no-install-recommends --no-remove -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
            -o APT::Keep-Downloaded-Packages=false install "$1"
        ;;
    dnf | yum) privileged env LC_ALL=C "$manager" -y install "$1" ;;
    zypper) privileged env LC_ALL=C zypper --non-interactive install --no-recommends "$1" ;;
    apk) privileged env LC_ALL=C apk add --no-cache "$1" ;;
    pacman) privileged env LC_ALL=C pacman -S --noconfirm --needed "$1" ;;
    esac < /dev/null
}

# The lists of an apt that never ran are empty, and those of an old one name files that are gone.
update_lists() {
    [ "$manager" = apt-get ] || return 1
    if grep -q 'Hash Sum mismatch' "$RUN_DIR/attempt"; then privileged rm -rf /var/lib/apt/lists/partial; fi
    attempt privileged env LC_ALL=C apt-get -q update
}

# attempt COMMAND …: again while another package manager has the lock, until until_cs. Its text is in `attempt`, and the
# names of what was installed before the last try in `before`: whoever held the lock may have installed more.
attempt() {
    while :; do
        list_installed > "$RUN_DIR/before"
        list_remains > "$RUN_DIR/remains"
        "$@" > "$RUN_DIR/attempt" 2>&1
        attempt_status=$?
        if [ $attempt_status -eq 0 ] || ! grep -q "$LOCKED" "$RUN_DIR/attempt"; then break; fi
        read_clock
        [ "$now_cs" -lt "$until_cs" ] || break
        echo "waiting for another package manager"
        sleep 1
    done
    cat "$RUN_DIR/attempt"
    return "$attempt_status"
}

# Adds what is new to `installed`: lines `MANAGER NAME`, or `dpkg-remove NAME` where settings lay before. The managers
# that wait for a lock by themselves work in one transaction, which tells theirs from others'.
record_new() {
    list_installed > "$RUN_DIR/after"
    case $manager in
    dnf | yum)
        transaction=$(rpm -q --qf '%{INSTALLTID}\n' "$1" | tail -n 1)
        rpm -qa --qf '%{NAME}.%{ARCH} %{INSTALLTID}\n' | sed -n "s/ $transaction\$//p" > "$RUN_DIR/after"
        ;;
    esac
    grep -vxFf "$RUN_DIR/before" "$RUN_DIR/after" | while read -r name; do
        way=$manager
        if grep -qxF "$name" "$RUN_DIR/remains"; then way=dpkg-remove; fi
        echo "$way $name"
    done >> "$RUN_DIR/installed"
    [ -s "$RUN_DIR/installed" ] || rm -f "$RUN_DIR/installed"
}

install_and_record() {
    attempt install_one "$1"
    record_new "$1"
    return "$attempt_status"
}

begin_work() {
    echo $$ > "$RUN_DIR/working"
    cd / || exit 2
    read_clock
    until_cs=$((now_cs + ${1:-$WAIT_S} * 100))
}

end_work() {
    rm -f "$RUN_DIR/working" "$RUN_DIR/attempt" "$RUN_DIR/before" "$RUN_DIR/after" "$RUN_DIR/remains"
}

work_install() {
    begin_work
    for tool in "$@"; do
        package=$tool
        case $manager-$tool in
        zypper-iperf3) package=iperf ;;
        # With the server, as another name of redis-check-rdb, and without a service that starts.
        apt-get-redis-cli) package=redis-tools ;;
        pacman-redis-cli) package=valkey ;;
        *-redis-cli) package=redis ;;
        esac
        echo "installing $package by $manager"
        install_and_record "$package" || { update_lists && install_and_record "$package"; }
    done
    end_work
}

# Removes by means that refuse to take anything else along. remove_by WAY NAME …
remove_by() {
    way=$1
    shift
    case $way in
    apt-get) privileged env LC_ALL=C DEBIAN_FRONTEND=noninteractive dpkg --purge "$@" ;;
    dpkg-remove) privileged env LC_ALL=C DEBIAN_FRONTEND=noninteractive dpkg --remove "$@" ;;
    dnf | yum | zypper) privileged env LC_ALL=C rpm -e "$@" ;;
    apk) privileged env LC_ALL=C apk del "$@" ;;
    pacman) privileged env LC_ALL=C pacman -Rn --noconfirm "$@" ;;
    esac < /dev/null
}

# Without the lock everything stays recorded; what somebody else has come to need stays on the host.
work_remove() {
    begin_work "$1"
    left=
    for way in apt-get dpkg-remove dnf yum zypper apk pacman; do
        # shellcheck disable=SC2046
        set -- $(sed -n "s/^$way //p" "$RUN_DIR/installed")
        [ $# -gt 0 ] || continue
        echo "removing $*"
        if ! attempt remove_by $way "$@"; then
            if grep -q "$LOCKED" "$RUN_DIR/attempt"; then left=yes; else echo "not removed by $way: see above"; fi
        fi
    done
    [ -n "$left" ] || rm -f "$RUN_DIR/installed"
    end_work
}

# run_apart FUNCTION ARGUMENT …: in a session of its own; waits for it and prints what it said.
run_apart() {
    apart=
    if command -v setsid > /dev/null; then apart=setsid; fi
    # shellcheck disable=SC2086
    $apart $SHELL_COMMAND "$RUN_DIR/packages.sh" "$@" > "$RUN_DIR/packages.log" 2>&1 < /dev/null &
    worker=$!
    echo $worker > "$RUN_DIR/working"
    wait "$worker"
    cat "$RUN_DIR/packages.log"
}

# Waits for whoever is at work, until until_cs.
await_worker() {
    while [ -r "$RUN_DIR/working" ]; do
        worker=
        read -r worker < "$RUN_DIR/working"
        kill -0 "${worker:-0}" 2> /dev/null || break
        read_clock
        [ "$now_cs" -lt "$until_cs" ] || return 1
        sleep 0.2 2> /dev/null || sleep 1
    done
}

install() {
    look_up_limit
    look_up_absent "$@"
    if [ -z "$absent" ]; then
        echo "=== packages"
        echo "nothing to do: $* found"
        echo "=== end packages rc=0"
        return
    fi
    privileged true 2> /dev/null || unavailable "no${absent}, and neither root nor sudo without a password to install it"
    look_up_manager || unavailable "no${absent}, and no known package manager"
    echo "=== packages"
    # shellcheck disable=SC2086
    run_apart work_install $absent
    echo "=== end packages rc=0"
    look_up_absent "$@"
    [ -z "$absent" ] || unavailable "could not install${absent}: $(grep . "$RUN_DIR/packages.log" | tail -n 1)"
}

remove() {
    read_clock
    until_cs=$((now_cs + ${1:-$WAIT_S} * 100))
    if ! await_worker; then
        echo "a package manager that we started is still at work"
        exit 1
    fi
    [ -s "$RUN_DIR/installed" ] || return 0
    read_clock
    run_apart work_remove $(((until_cs - now_cs + 99) / 100))
    if [ -e "$RUN_DIR/installed" ]; then
        echo "another package manager is still at work"
        exit 1
    fi
}

case ${1:-} in
install | remove) "$@" ;;
work_install | work_remove)
    look_up_manager
    "$@"
    ;;
*) exit 2 ;;
esac
