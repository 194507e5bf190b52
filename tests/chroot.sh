#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tries evb on a fresh Debian: chroot.sh RELEASE, with the names of the sources on standard input. It
# builds with warnings as errors, runs the unit tests, the demo for 3 s, and a capture. The system is
# made by mmdebstrap in a scratch folder, and all of this runs in namespaces of its own, with a /dev/shm
# of its own: nothing stays, and several may run at once. Needs root and the Debian archive.
# The last line is "N passed, N failed, N skipped". Exit status: 0 all passed, 77 skipped, else failed.
set -euo pipefail

skip() {
    echo "skip: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}

# --- outside: the scratch folder and the namespaces ---

# Everything inside ends with the process that waits for it there, some moments later.
clean_up() {
    local tries=0
    { kill -KILL %1 && wait %1; } 2>/dev/null || true
    until rm -rf --one-file-system "$scratch" 2>/dev/null || [ "$tries" = 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    [ ! -e "$scratch" ] || echo "chroot: $scratch could not be removed" >&2
}

outside() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    [ "$(command -v mmdebstrap)" ] || skip "needs mmdebstrap; ./dev install chroot brings it"
    scratch=$(mktemp -d /tmp/evb-chroot-XXXXXX)
    trap clean_up EXIT
    trap 'exit 1' HUP INT TERM
    chmod 0755 "$scratch"
    tar --create --file="$scratch/sources.tar" --files-from=-
    unshare --mount --pid --ipc --fork --kill-child --mount-proc \
        "$0" --inside "$scratch" "$1" </dev/null &
    wait %1
}

# --- inside: the system and what runs in it ---

make_system() {
    echo "chroot: making $release"
    mmdebstrap --variant=minbase --aptopt='Acquire::Languages "none"' \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' \
        "$release" "$root" >"$scratch/mmdebstrap.log" 2>&1 ||
        skip "mmdebstrap $release: $(grep '^E: ' "$scratch/mmdebstrap.log" | head -n 1)"
}

# Processes, devices and shared memory, as a program finds them on a machine.
mount_kernel() {
    local device
    mount --types proc proc "$root/proc"
    mount --rbind --make-rslave /sys "$root/sys"
    mount --types tmpfs tmpfs "$root/dev"
    for device in full null random tty urandom zero; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir "$root/dev/shm"
    mount --types tmpfs tmpfs "$root/dev/shm"
    mount --types tmpfs tmpfs "$root/run"
}

within() {
    chroot "$root" /usr/bin/env --chdir=/src --ignore-environment CI=true HOME=/root \
        ${http_proxy:+http_proxy=$http_proxy} LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@"
}

versions() {
    # shellcheck disable=SC2016 # inside, the shell of the system expands it
    within bash -c 'echo "chroot: $(. /etc/os-release && echo "$PRETTY_NAME")," \
        "DPDK $(pkg-config --modversion libdpdk), gcc $(gcc -dumpfullversion)," \
        "$(find /usr/bin -name "clang-[0-9]*" -printf "%f\n" | head -n 1)"'
}

# Captures are written by DPDK's library, whose interface has changed most, and read by evb's own code.
try_capture() {
    within build/evb record --pcap /tmp/copy.pcapng --profile pcap \
        --device examples/captures/segments.pcapng --packets 13 --duration 5 &&
        within build/evb replay --strict --out /tmp/copy /tmp/copy.pcapng
}

try_programs() {
    within build/evb run configs/demo.json --duration 3 --strict && try_capture
}

inside() {
    local root=$scratch/root status=0
    make_system
    mount_kernel
    mkdir "$root/src" "$root/shared"
    [ ! -d ../shared ] || mount --rbind ../shared "$root/shared" # captures that some tests read
    tar --extract --file="$scratch/sources.tar" --directory="$root/src"
    within ./dev install build unit
    versions
    within ./dev test unit | tee "$scratch/tests.log" || status=$?
    try_programs || status=1
    tail -n 1 "$scratch/tests.log"
    return "$status"
}

if [ "${1:-}" = --inside ]; then
    scratch=$2 release=$3
    inside
else
    outside "$1"
fi
