# The part of disk.sh that measures a local disk of a rented machine, sourced by it. Clouds attach these empty, for the life
# of the machine; on a host of somebody's own an empty disk is not ours to take, and the plan never comes here.
#
#   https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ssd-instance-store.html
#   https://cloud.google.com/compute/docs/disks/add-local-ssd#formatandmount
#   https://learn.microsoft.com/azure/virtual-machines/enable-nvme-temp-faqs
#
# shellcheck shell=sh disable=SC2154

LOCAL_MOUNT=$RUN_DIR/local
LOCAL_LABEL=rackrate-local

# Whether a controller of this model has disks that end with the machine. Volumes over the network are named much alike:
# Google calls its persistent disks nvme_card-pd.
is_local_model() {
    case $1 in
    'Amazon EC2 NVMe Instance Storage' | nvme_card | nvme_card[0-9] | nvme_card[0-9][0-9]) ;;
    'Microsoft NVMe Direct Disk' | 'Microsoft NVMe Direct Disk v'[0-9]) ;;
    *) return 1 ;;
    esac
}

# Lines `NAME BYTES MODEL` of the local disks that nothing is on: no file system, no partition, no device of another kind
# that is made of it, not mounted.
list_local_disks() {
    listed=$(lsblk -b -P -o NAME,TYPE,SIZE,FSTYPE,PTTYPE,MOUNTPOINT,PKNAME,MODEL 2> /dev/null | sed 's/^NAME="//; s/" [A-Z]*="/|/g; s/"$//')
    parents=$(printf '%s\n' "$listed" | while IFS='|' read -r _ _ _ _ _ _ parent _; do printf ' %s ' "$parent"; done)
    printf '%s\n' "$listed" | while IFS='|' read -r name type bytes signature table point parent model; do
        case $parents in *" $name "*) continue ;; esac
        model=${model%"${model##*[! ]}"} # older versions of lsblk fill it with blanks
        if [ "$type|$signature$table$point$parent" = "disk|" ] && is_local_model "$model"; then
            echo "$name $bytes $model"
        fi
    done
}

# Whether a low-level look at the disk finds no signature of anything; blkid has a status of its own for that.
is_blank() {
    privileged blkid -p "/dev/$1" > /dev/null 2>&1 < /dev/null
    [ $? -eq 2 ]
}

# Sets local_name, local_bytes and local_model to those of the disk that this run has formatted; `local_disk` has them.
format_local_disk() {
    if [ -r "$RUN_DIR/local_disk" ]; then
        read -r local_count local_name local_bytes local_model < "$RUN_DIR/local_disk"
        return
    fi
    list_local_disks > "$RUN_DIR/local_disks"
    read -r local_name local_bytes local_model < "$RUN_DIR/local_disks" || unavailable "this machine has no empty local disk"
    local_count=$(grep -c . "$RUN_DIR/local_disks")
    privileged true 2> /dev/null || unavailable "formatting a local disk needs root, or sudo without a password"
    is_blank "$local_name" || unavailable "/dev/$local_name is not seen to be empty, and stays as it is"
    # Without what a journal or the late writing of tables would do beside the measurement.
    privileged mkfs.ext4 -q -F -L $LOCAL_LABEL -m 0 -T largefile4 -O ^has_journal -E nodiscard,lazy_itable_init=0 \
        "/dev/$local_name" >&2 < /dev/null || unavailable "/dev/$local_name could not be formatted"
    echo "$local_count $local_name $local_bytes $local_model" > "$RUN_DIR/local_disk"
}

# Until the step ends; what a step that was killed has left, the teardown unmounts.
mount_local_disk() {
    mkdir -p "$LOCAL_MOUNT"
    trap 'privileged umount "$LOCAL_MOUNT"' EXIT
    trap 'exit 143' TERM INT
    privileged mount -o noatime,nodev,nosuid "/dev/$local_name" "$LOCAL_MOUNT" >&2 || {
        trap - EXIT
        unavailable "/dev/$local_name could not be mounted"
    }
    privileged chown "$(id -u)" "$LOCAL_MOUNT"
}

# fio_local BYTES WORK BLOCK DEPTH RUNTIME_S RAMP_S
fio_local() {
    look_up_limit
    look_up_fio || unavailable "$no_fio"
    format_local_disk
    mount_local_disk
    choose_work "$LOCAL_MOUNT" "$2" "$3" "$4" 1 "$5" "$6"
    prepare_fio local "$1"
    measure_fio
    print_fio_conditions
    printf 'volume %s\nvolume_bytes %d\nvolume_count %d\n' "$local_model" "$local_bytes" "$local_count"
    echo "=== end conditions rc=0"
    print_fio fio
}
