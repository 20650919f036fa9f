"""The shell texts that a run sends to its machines: POSIX sh, for dash, bash and busybox ash.

Every script is sent on the standard input of /bin/sh, so that nothing shows in the process list;
its values come as arguments, never within the text.
"""

# The line after which an answer begins: what stands before it, the login shell's start-up files have
# printed.
BEGIN = "=== rackrate begins"
READS_INPUT = "the login shell's start-up file reads standard input, which is ours: have it do so only in a terminal"
STARTS_SHELL = (
    "the login shell's start-up file starts another shell in place of the command: have it do so only in "
    "a terminal"
)
# Of all commands that we run: a PATH may lack the tools that every system has.
FULL_PATH = '[ -z "$PATH" ] || PATH=$PATH:; PATH=$PATH/usr/sbin:/usr/bin:/sbin:/bin; export PATH'
# Shells keep their own files at 10 and above: with fewer they can redirect nothing, so that awk has to say it.
FEW_FILES = """case $(ulimit -n) in
[0-9] | 1[0-5])
    awk -v n="$(ulimit -n)" 'BEGIN {{
        print "the login may open only " n " files at once: raise its limit (ulimit -n) to 16" > "/dev/stderr"
    }}'
    exit 1
    ;;
esac"""
# The whole script is one function, read to its end before it starts: nothing it runs can eat it.
# What the login shell does before reaches us, too: it may read some of the script, of which the first
# line is there to be missed, or start another shell, which then has no arguments.
WRAPPER = f"""is_whole=yes
LC_ALL=C; export LC_ALL; umask 077
{FULL_PATH}
lock=${{{{TMPDIR:-/tmp}}}}/rackrate-host.lock
main() {{{{
{{}}
}}}}
echo '{BEGIN}'
{FEW_FILES}
[ -n "${{{{is_whole:-}}}}" ] || {{{{ echo "{READS_INPUT}" >&2; exit 1; }}}}
[ $# -gt 0 ] || {{{{ echo "{STARTS_SHELL}" >&2; exit 1; }}}}
main "$@" </dev/null
"""

# IDENTIFY NAME. The run lives where programs run, and on a disk where there is such a place: hardened
# hosts mount /tmp noexec, and many keep it in memory. TMPDIR was chosen by somebody, who knows why.
# /var/tmp comes before the home directory, which may lie on a network.
# A leftover is a directory of a run that has not been touched for a day.
IDENTIFY = r"""
name=$1
runs_programs() {
    try=$1/$name.try
    (printf '#!/bin/sh\nexit 0\n' >"$try" && chmod 700 "$try" && "$try") 2>/dev/null
    tried=$?
    rm -f "$try"
    return $tried
}
lies_in_memory() {
    case $(stat -f -c %T -- "$1" 2>/dev/null) in tmpfs | ramfs) ;; *) return 1 ;; esac
}
set -- /tmp /var/tmp "${HOME:-/tmp}" "${XDG_RUNTIME_DIR:-/run/user/$(id -u)}"
[ -z "${TMPDIR:-}" ] || set -- "$TMPDIR" "$@"
parent=
for place in "$@"; do
    [ -d "$place" ] && runs_programs "$place" || continue
    if [ "$place" = "${TMPDIR:-}" ] || ! lies_in_memory "$place"; then parent=$place; break; fi
    parent=${parent:-$place}
done
[ -n "$parent" ] || printf 'noexec %s\n' "$*"
directory=$parent/$name
printf 'directory %s\n' "$directory"
printf 'system %s\n' "$(uname -s)"
printf 'arch %s\n' "$(uname -m)"
printf 'boot_id %s\n' "$(cat /proc/sys/kernel/random/boot_id)"
printf 'seen_from %s\n' "${SSH_CONNECTION%% *}"
printf 'clock_s %s\n' "$(date +%s)"
df -Pk "${parent:-/tmp}" | { read -r _; read -r _ _ _ free _; printf 'free_kib %s\n' "$free"; }
for tool in uname sha256sum readlink mkdir; do
    command -v "$tool" >/dev/null || printf 'missing %s\n' "$tool"
done
command -v setsid >/dev/null || command -v nohup >/dev/null || echo 'missing nohup or setsid'
for place in "$@"; do
    for old in "$place"/rackrate-????????-????-????-????-????????????*; do
        [ -d "$old" ] && [ ! -L "$old" ] && [ -O "$old" ] && [ "$old" != "$directory" ] || continue
        pid=
        [ ! -r "$old/pid" ] || read -r pid <"$old/pid"
        [ -z "$pid" ] || [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" != "$old" ] || continue
        [ -z "$(find "$old" -prune -mtime +0 2>/dev/null)" ] || printf 'leftover %s\n' "$old"
    done
done
"""

# HASHES DIRECTORY
HASHES = r"""
mkdir -p -m 700 "$1" "$1/bin" || exit 1
[ -O "$1" ] || { echo "$1 belongs to somebody else" >&2; exit 1; }
cd "$1" && sha256sum -- *.sh bin/* 2>/dev/null
[ ! -e status.json ] || echo "began  status.json"
:
"""

# UNPACK DIRECTORY PACK (NAME BYTES MODE)…: the pack is the files one after the other.
UNPACK = r"""
cd "$1" || exit 1
pack=$2
shift 2
place=1
while [ $# -gt 0 ]; do
    tail -c "+$place" "$pack" | head -c "$2" >"$1.part" || exit 1
    chmod "$3" "$1.part" && mv -f "$1.part" "$1" || exit 1
    place=$((place + $2))
    shift 3
done
rm -f "$pack"
sha256sum -- *.sh bin/* 2>/dev/null
:
"""

# The lock of the machine is a link to the run's directory: made in one step, and its owner shows. It
# always lies in the usual place for temporary files, also where programs do not run from there.
# There nobody can take away the link of another user, also of a run that has died: whoever finds one
# adds a link of his own beside it, and everybody looks at all of them.
# One machine may be both ends of a run: both directories then count as one.
_BEGIN = r"""
# Of another user's directory only its time is seen: the status changes every second. It also tells of
# processes that are not seen because they are in another container.
is_measuring() {
    pid=$(cat "$1/pid" 2>/dev/null)
    [ -z "$pid" ] || [ ! -d "/proc/$pid" ] || return 0
    # By standard input, as the arguments of grep itself are searched, too.
    if grep -qsF -f - /proc/[0-9]*/cmdline <<END
$1/
END
    then return 0; fi
    changed_s=$(stat -c %Y -- "$1" 2>/dev/null) || return 1
    [ $(($(date +%s) - changed_s)) -lt 10 ]
}
is_same_run() {
    case $1 in "$run" | "${run%-peer}" | "$run-peer") ;; *) return 1 ;; esac
}
look_for_others() {
    for link in "$lock" "$lock".*; do
        other=$(readlink "$link" 2>/dev/null) || continue
        if ! is_same_run "$other" && is_measuring "$other"; then printf 'busy %s\n' "$other"; exit 0; fi
    done
}
take_lock() {
    run=$1
    look_for_others
    ! ln -sn "$run" "$lock" 2>/dev/null || return 0
    case $(readlink "$lock") in "$run" | "${run%-peer}") return ;; esac
    ln -sfn "$run" "$lock" 2>/dev/null || ln -sfn "$run" "$lock.$(id -u)" 2>/dev/null || return 0
    # Somebody else may have done the same at the same time.
    look_for_others
}

# Out of this session, so that it outlives the connection: a unit where systemd lets us.
detached() {
    if [ -d /run/systemd/system ] && [ "$(id -u)" -eq 0 ] && systemd-run --quiet --collect \
        --unit="${PWD##*/}" --working-directory="$PWD" --setenv=LC_ALL=C --setenv="PATH=$PATH" \
        /bin/sh -c 'umask 077; exec "$@" >>runner.log 2>&1 </dev/null' sh "$@" 2>/dev/null
    then return; fi
    detach=
    # Either is enough.
    for tool in setsid nohup; do
        if command -v $tool >/dev/null; then detach="$detach $tool"; fi
    done
    $detach "$@" >>runner.log 2>&1 &
}
cd "$1" || exit 1
take_lock "$1"
"""

# START DIRECTORY: the runner.
START = (
    _BEGIN
    + r"""
detached /bin/sh "$PWD/runner.sh"
tries=0
until [ -e status.json ] || [ $tries -ge 100 ]; do sleep 0.05; tries=$((tries + 1)); done
[ -e status.json ] || { tail -n 3 runner.log >&2; exit 1; }
echo started
"""
)

# SERVE DIRECTORY SECONDS install|- PORT…: the other end of the network tests, on the first port
# that nobody uses. Says `port N` once it listens, `waiting` while it is not that far.
SERVE = (
    _BEGIN
    + r"""
limit_s=$2 install=$3
shift 3
is_ours() {
    pid=
    [ ! -r pid ] || read -r pid <pid
    [ -n "$pid" ] && [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" = "$(pwd -P)" ]
}
is_used() {
    cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null |
        grep -q "^ *[0-9]*: [0-9A-F]*:$(printf %04X "$1") "
}
if ! is_ours; then
    rm -f ready pid
    : >runner.log
    for port in "$@"; do is_used "$port" || break; done
    echo "$port" >port
    detached /bin/sh -c '
        echo $$ >pid
        [ "$1" != install ] || sh packages.sh install iperf3
        exec sh "$PWD/network.sh" serve "$2" "$3"' serve "$install" "$port" "$limit_s"
    tries=0
    until [ -s pid ] || [ $tries -ge 100 ]; do sleep 0.05; tries=$((tries + 1)); done
fi
tries=0
until [ -e ready ] || ! is_ours || [ $tries -ge 100 ]; do sleep 0.1; tries=$((tries + 1)); done
if [ -e ready ] && is_ours; then
    read -r port <port
    echo "port $port"
elif is_ours; then
    echo waiting
elif grep -q '^=== failure unavailable: ' runner.log; then
    sed -n 's/^=== failure unavailable: /unavailable /p' runner.log | tail -n 1
else
    tail -n 3 runner.log >&2
    exit 1
fi
"""
)

# READ DIRECTORY AFTER MANY MOST ROOM live|- ORDER…: every item is framed as `@ name size`, a line
# feed, that many bytes and a line feed. This runs every second beside a measurement: without news
# it starts one process besides its shell, and one more when the running series is asked for.
READ = r"""
text() { printf '@ %s %s\n%s\n' "$1" "${#2}" "$2"; }
file() {
    [ -s "$2" ] || return 0
    size=$(wc -c <"$2")
    [ "$size" -le "$most" ] || size=$most
    budget=$((budget - size))
    printf '@ %s %s\n' "$1" $((size)); head -c $((size)) "$2"; echo
}
directory=$1 after=$2 many=$3 most=$4 budget=$5 series=$6
shift 6
read -r boot_id </proc/sys/kernel/random/boot_id
text boot_id "$boot_id"
cd "$directory" 2>/dev/null || return 0
text directory "$directory"
for name in "$@"; do : >"$name"; done
pid= status= newest= is_alive=
[ ! -r pid ] || read -r pid <pid
[ -z "$pid" ] || [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" != "$(pwd -P)" ] || is_alive=yes
[ -z "$is_alive" ] || text alive "$pid"
# Orders are seen at once; a runner that reads none has its next tick.
[ -z "$is_alive" ] || [ $# -eq 0 ] || kill -USR1 "$pid" 2>/dev/null
[ ! -r status.json ] || IFS= read -r status <status.json
text status "$status"
for path in results/[0-9][0-9][0-9]-*.json results/[0-9][0-9][0-9][0-9]-*.json; do
    [ -e "$path" ] || continue
    name=${path##*/}
    name=${name%.json}
    [ "${name%%-*}" -gt "$after" ] || continue
    many=$((many - 1))
    [ $many -ge 0 ] && [ $budget -gt 0 ] || break
    file "$name.out" "results/$name.out"
    file "$name.err" "results/$name.err"
    file "$name.series" "results/$name.series"
    file "$name.json" "$path"
    newest=results/$name.out
done
[ -z "$newest" ] || text tail "$(tail -n 8 "$newest" | tail -c 2000)"
[ ! -e results/manifest.sha256 ] || file manifest results/manifest.sha256
[ "$series" = live ] || return 0
for path in results/*.series; do
    [ -s "$path" ] && [ ! -e "${path%.series}.json" ] && read -r header <"$path" || continue
    text live "$header
$(tail -n 60 "$path"; echo .)"
done
"""

# TEARDOWN DIRECTORY. Whatever of ours still runs has its working directory inside the run's.
TEARDOWN = r"""
directory=$1
ours() {
    ls -ld /proc/[0-9]*/cwd 2>/dev/null | while IFS= read -r line; do
        case $line in
        *" -> $real" | *" -> $real/"*) line=${line##* /proc/}; echo "${line%%/*}" ;;
        esac
    done
}
if real=$(cd "$directory" 2>/dev/null && pwd -P); then
    pid=$(cat "$directory/pid" 2>/dev/null)
    [ "$(readlink "/proc/${pid:-none}/cwd" 2>/dev/null)" != "$real" ] || kill -TERM "$pid" 2>/dev/null
    tries=0
    while [ -n "$(ours)" ] && [ $tries -lt 40 ]; do sleep 0.1; tries=$((tries + 1)); done
    for pid in $(ours); do kill -KILL "$pid" 2>/dev/null; done
    if [ -e "$directory/installed" ] || [ -e "$directory/working" ]; then
        sh "$directory/packages.sh" remove 40 >/dev/null 2>&1
    fi
    # A local disk that a step had no time to unmount: it is not emptied by what removes the directory.
    while read -r _ point _; do
        case $point in "$real"/*) umount "$point" || sudo -n umount "$point" ;; esac
    done </proc/mounts 2>/dev/null
    [ ! -r "$directory/files" ] || while IFS= read -r path; do
        case ${path##*/} in "${directory##*/}".*) rm -rf -- "$path" ;; esac
    done <"$directory/files"
    rm -rf -- "$directory" || { sleep 0.2; rm -rf -- "$directory"; }
    [ -z "$(ours)" ] || { echo "processes remain: $(ours)" >&2; exit 1; }
fi
for link in "$lock" "$lock".*; do
    [ "$(readlink "$link" 2>/dev/null)" != "$directory" ] || rm -f -- "$link"
done
if [ -e "$directory" ]; then echo "$directory remains" >&2; exit 1; fi
echo gone
"""
