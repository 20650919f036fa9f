#!/bin/sh
# Facts about the host of one run: sh inventory.sh inventory [DIRECTORY …]
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

# The lowest CPU limit of the cgroups above us, as quota and period; 0 for none.
cgroup_limits() {
    echo "$("$RUN_DIR/bin/observe" --quota) 1000"
}

# The lowest memory limit of the cgroups above us, or the memory of the machine.
cgroup_memory() {
    look_up_memory
    echo "$memory"
}

distinct_count() {
    cat "$@" 2> /dev/null | sort -u | grep -c .
}

# `name: content` of each file that can be read, the name without what all share; 1 when there is none.
named() {
    shared=$1
    found=1
    shift
    for file in "$@"; do
        content=$(cat "$file" 2> /dev/null) || continue
        [ -n "$content" ] || continue
        printf '%s: %s\n' "${file#"$shared"}" "$content"
        found=0
    done
    return $found
}

# What the machine says of its maker, and cloud-init of the provider; nothing is asked over the network.
cloud() {
    id=/sys/class/dmi/id
    named $id/ $id/sys_vendor $id/product_name $id/product_version $id/board_vendor $id/bios_vendor $id/chassis_asset_tag \
        /sys/hypervisor/type
    named /run/cloud-init/ /run/cloud-init/cloud-id
    sed -n 's/^ *"\(cloud_name\|platform\|region\|availability_zone\|instance[-_]type\|machine[-_]type\)": "\(.*\)",*$/\1: \2/p' \
        /run/cloud-init/instance-data.json 2> /dev/null | sort -u
}

# One line for each disk: `name key=value …`.
block_devices() {
    for device in /sys/block/*; do
        case ${device##*/} in loop* | ram* | zram* | sr* | fd*) continue ;; esac
        line=${device##*/}
        for key in scheduler rotational write_cache nr_requests discard_max_bytes physical_block_size; do
            value=$(cat "$device/queue/$key" 2> /dev/null) || continue
            case $value in *\[*\]*) value=${value#*\[} && value=${value%%\]*} ;; esac
            line="$line $key=$(printf '%s' "$value" | tr ' ' '-')"
        done
        echo "$line"
    done
}

# One line for each interface that is up: `name key=value …`.
network_interfaces() {
    for device in /sys/class/net/*; do
        [ "$(cat "$device/operstate" 2> /dev/null)" = up ] || continue
        line=${device##*/}
        for key in mtu speed duplex tx_queue_len; do
            value=$(cat "$device/$key" 2> /dev/null) || continue
            line="$line $key=$value"
        done
        driver=$(readlink "$device/device/driver") && line="$line driver=${driver##*/}"
        echo "$line"
    done
}

# zfs DIRECTORY: `property value` of its data set and ashift of its pool.
zfs_of() {
    look_up_mount "$1"
    [ "$filesystem" = zfs ] || return 1
    zfs get -H -o property,value recordsize,compression,sync,primarycache,atime,dedup "$mount_device"
    echo "ashift $(zpool get -H -o value ashift "${mount_device%%/*}")"
}

# inventory [DIRECTORY …]: facts about the host, each collector on its own; what is missing is a section with rc != 0.
inventory() {
    look_up_limit
    topology=/sys/devices/system/cpu
    section uname uname -srm
    section os-release cat /etc/os-release
    section lscpu lscpu
    section cpuinfo sed '/^$/q' /proc/cpuinfo
    # All of them, as one machine may have several models; names of the kernel's list alone.
    section cpus sed -n '/^\(processor\|model name\|Processor\|cpu\|CPU implementer\|CPU part\)[[:space:]]*:/p' /proc/cpuinfo
    section online cat $topology/online
    section allowed sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
    section siblings cat $topology/cpu0/topology/thread_siblings_list
    section smt cat $topology/smt/active
    section scheduling cat /proc/self/stat
    section ionice ionice
    section governor cat $topology/cpu0/cpufreq/scaling_governor
    own_section frequency named $topology/ $topology/cpu0/cpufreq/scaling_driver $topology/cpu0/cpufreq/scaling_max_freq \
        $topology/cpu0/cpufreq/energy_performance_preference $topology/cpufreq/boost $topology/intel_pstate/no_turbo
    section microcode cat $topology/cpu0/microcode/version
    own_section vulnerabilities named $topology/vulnerabilities/ $topology/vulnerabilities/*
    section meminfo cat /proc/meminfo
    section hugepages cat /sys/kernel/mm/transparent_hugepage/enabled
    section loadavg cat /proc/loadavg
    section virtualization systemd-detect-virt --vm
    section container systemd-detect-virt --container
    section dmi cat /sys/class/dmi/id/sys_vendor /sys/class/dmi/id/product_name
    own_section cloud cloud
    section lsblk lsblk -b -J -o NAME,TYPE,SIZE,ROTA,MODEL,TRAN,MOUNTPOINT
    section partitions cat /proc/partitions
    own_section block block_devices
    section mdstat cat /proc/mdstat
    own_section network network_interfaces
    section congestion cat /proc/sys/net/ipv4/tcp_congestion_control
    own_section packages distinct_count $topology/cpu*/topology/physical_package_id
    own_section nodes distinct_count /sys/devices/system/node/node*/cpulist
    own_section cgroup cgroup_limits
    own_section cgroup-memory cgroup_memory
    own_section dmidecode privileged dmidecode -t memory
    section fio fio --version
    section iperf3 iperf3 --version
    for directory in "$@"; do
        look_up_disk_directory "$directory" || :
        section "df $directory" df -Pk -- "$directory"
        look_up_mount "$directory"
        section "mount $directory" echo "$mount_point $filesystem $mount_options"
        section "device $directory" echo "$mount_device"
        if [ "$filesystem" = zfs ]; then own_section "zfs $directory" zfs_of "$directory"; fi
    done
}

case ${1:-} in
inventory | cgroup_limits | cgroup_memory | named | cloud | block_devices | network_interfaces | zfs_of | distinct_count | \
    privileged) "$@" ;;
*) exit 2 ;;
esac
