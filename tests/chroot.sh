#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Tries evb on a fresh Debian: chroot.sh RELEASE [PART], with the names of the sources on standard
# input. It builds with warnings as errors, runs the unit tests, the demo for 3 s, and a capture, whose
# events go to HDF5 and back. The system is made by mmdebstrap in a scratch folder, and all of this runs
# in namespaces of its own, with a /dev/shm of its own: nothing stays, and several may run at once. Needs
# root and the Debian archive.
#
# The other parts are for themselves:
#   whole    runs all tests: also the functional ones, in network namespaces of this system's own, and those
#            with sanitizers. What the chroot lacks is skipped: docs/contributing/tests.md lists it.
#   arm64    builds for aarch64 and runs the unit tests. The kernel starts programs of aarch64 by QEMU,
#            in a user namespace of its own, so that the tests may start others; this needs Linux 6.7.
#   package  builds the Debian packages, installs them, and runs the demo and a capture with them.
# With EVB_CHROOT_GATE=FILE nothing is built before that file is there: meanwhile other tests can have the
# CPUs. The last line is "N passed, N failed, N skipped". Exit status: 0 all passed, 77 skipped, else failed.
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
        "$0" --inside "$scratch" "$@" </dev/null &
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

# Processes, devices and shared memory, as a program finds them on a machine. The root is a mount of its
# own: `ip netns exec` changes how it propagates.
mount_kernel() {
    local device
    mount --bind "$root" "$root"
    mount --types proc proc "$root/proc"
    mount --rbind --make-rslave /sys "$root/sys"
    mount --types tmpfs tmpfs "$root/dev"
    for device in full null random tty urandom zero; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s fd/0 "$root/dev/stdin"
    ln -s fd/1 "$root/dev/stdout"
    ln -s fd/2 "$root/dev/stderr"
    mkdir "$root/dev/shm"
    mount --types tmpfs tmpfs "$root/dev/shm"
    mount --types tmpfs tmpfs "$root/run"
}

# What the tests of the whole program need beside: terminals, taps, virtual machines and hugepages.
mount_devices() {
    local device
    mkdir "$root/dev/pts" "$root/dev/net" "$root/dev/hugepages"
    mount --types devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    mount --types hugetlbfs hugetlbfs "$root/dev/hugepages"
    for device in kvm net/tun; do
        [ -e "/dev/$device" ] || continue
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
}

# In the system that is made, entered by `chroot`, or by what $enter names.
within() {
    "${enter:-chroot}" "$root" /usr/bin/env --chdir=/src --ignore-environment CI=true HOME=/root \
        ${http_proxy:+http_proxy=$http_proxy} LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb "$@"
}

# As chroot, but the system is the root of a namespace of mounts: who enters that again (nsenter), as tests
# of such namespaces do, does not leave the system.
pivot() {
    # shellcheck disable=SC2016 # inside
    unshare --mount bash -c 'cd "$1" && pivot_root . mnt && umount --lazy /mnt && shift && exec "$@"' pivot "$@"
}

# versions GCC
versions() {
    # shellcheck disable=SC2016 # inside, the shell of the system expands it
    within GCC="$1" bash -c 'echo "chroot: $(. /etc/os-release && echo "$PRETTY_NAME")," \
        "DPDK $(dpkg-query -W -f "\${Version}" libdpdk-dev), $GCC $("$GCC" -dumpfullversion)," \
        "$(find /usr/bin -name "clang-[0-9]*" -printf "%f\n" | head -n 1)"'
}

# Captures are written by DPDK's library, whose interface has changed most, and read by evb's own code.
try_capture() {
    within "$1" record --pcap /tmp/copy.pcapng --profile pcap \
        --device examples/captures/segments.pcapng --packets 13 --duration 5 &&
        within "$1" replay --strict --out /tmp/copy /tmp/copy.pcapng
}

# The events of the capture to HDF5 and back.
try_convert() {
    # shellcheck disable=SC2016 # inside
    within EVB="$1" bash -ec 'events=(/tmp/copy/*.mep)
        "$EVB" convert --compression deflate "${events[0]}" /tmp/copy.h5
        "$EVB" convert /tmp/copy.h5 /tmp/back.mep
        cmp "${events[0]}" /tmp/back.mep'
}

# try_programs EVB
try_programs() {
    try_capture "$1" && try_convert "$1"
}

inside() {
    local root=$scratch/root status=0
    make_system
    mount_kernel
    mkdir "$root/src" "$root/shared"
    [ ! -d ../shared ] || mount --rbind ../shared "$root/shared" # captures that some tests read
    tar --extract --file="$scratch/sources.tar" --directory="$root/src"
    "try_${part:-all}"
    tail -n 1 "$scratch/tests.log"
    return "$status"
}

wait_at_gate() {
    until [ -z "${EVB_CHROOT_GATE:-}" ] || [ -e "$EVB_CHROOT_GATE" ]; do
        sleep 1
    done
}

try_all() {
    within ./dev install build unit
    wait_at_gate
    versions gcc
    within ./dev test unit | tee "$scratch/tests.log" || status=$?
    within ninja -C build --quiet programs benchmarks && within ./dev demo --duration 3 --strict &&
        try_programs build/evb || status=1
}

try_whole() {
    mount_devices
    within ./dev install build test
    versions gcc
    local enter=pivot
    within ./dev test | tee "$scratch/tests.log" || status=$?
}

# --- packages ---

# Their version is that of a commit.
try_package() {
    within ./dev install build package
    versions gcc
    within git init --quiet
    within git add --all
    within git -c user.name=chroot -c user.email=root@localhost commit --quiet --message sources
    within ./dev package
    # shellcheck disable=SC2016 # inside
    within bash -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        $(find build-package -name "*.deb" ! -name "*-dbgsym_*" -printf "./%p ")'
    within evb run /etc/evb/demo.json --duration 3 --strict && try_programs evb || status=1
    echo "$((1 - status)) passed, $status failed, 0 skipped" >"$scratch/tests.log"
}

# --- arm64 ---

try_arm64() {
    local holder map
    within ./dev install arm64
    versions aarch64-linux-gnu-gcc
    # The namespace has all users: tests have files and processes of others.
    unshare --user sleep infinity &
    holder=$!
    while [ "/proc/$holder/ns/user" -ef /proc/$$/ns/user ]; do
        sleep 0.1
    done
    for map in uid_map gid_map; do
        echo '0 0 4294967295' >"/proc/$holder/$map"
    done
    nsenter --user --target "$holder" unshare --mount "$0" --qemu "$scratch" "$release" "$part" |
        tee "$scratch/tests.log" || status=$?
    kill "$holder"
}

# The kernel has QEMU run each program whose header is that of an ELF file of aarch64.
qemu() {
    local elf='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    local of='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    local formats=$scratch/formats
    mkdir "$formats"
    mount --types binfmt_misc binfmt_misc "$formats" 2>/dev/null ||
        skip "the kernel has no formats of programs per user namespace (Linux 6.7)"
    echo ":evb-aarch64:M::$elf:$of:/usr/bin/qemu-aarch64:" >"$formats/register"
    within ./dev test arm64
}

case ${1:-} in
--inside)
    scratch=$2 release=$3 part=${4:-}
    inside
    exit
    ;;
--qemu)
    scratch=$2 root=$2/root
    qemu
    ;;
*)
    outside "$@"
    exit # nothing more is read: somebody may edit this file while it runs
    ;;
esac
