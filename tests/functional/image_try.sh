#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the container image and tries it where no container engine is set up: podman runs with its
# storage in a scratch folder and in namespaces of its own, on a base image that debootstrap makes.
# Needs root, the Debian archive and some minutes, so only EVB_TEST_IMAGE=1 runs it; where CI is set it
# leaves out the unit tests, which have run there already. Leaves nothing.
# Exit status and lines as evbtest.py says: 0 all passed, 1 a failure, 77 skipped.
set -euo pipefail

base=docker.io/library/debian:bookworm-slim

skip() {
    echo "skip: $*"
    exit 77
}

# --- outside: the scratch folder and the namespaces ---

clean_up() {
    kill %1 2>/dev/null || true
    wait
    find /sys/fs/cgroup -depth -type d -path "*/${scratch##*/}*" -exec rmdir {} +
    rm -rf --one-file-system "$scratch"
    [ -z "$made" ] || rmdir "$made"
}

outside() {
    local tool
    [ "${EVB_TEST_IMAGE:-}" = 1 ] || skip "takes minutes; ./dev image --try runs it"
    [ "$(id -u)" = 0 ] || skip "needs root"
    for tool in debootstrap ip podman runc; do
        [ "$(command -v "$tool")" ] || skip "needs $tool; ./dev install image_try brings it"
    done
    scratch=$(mktemp -d /tmp/evb-image-XXXXXX)
    made=
    trap clean_up EXIT
    trap 'exit 1' INT TERM
    # Where podman was never used before, what it writes to beside its storage is not there.
    [ -d /var/lib/containers ] || { mkdir /var/lib/containers && made=/var/lib/containers; }
    # What is mounted and started inside ends with it.
    unshare --mount --pid --fork --kill-child --mount-proc "$0" --inside "$scratch" &
    wait %1
}

# --- inside: podman and its base image ---

set_up_podman() {
    local folder
    for folder in /run /dev/shm /var/lib/containers; do
        mount -t tmpfs tmpfs "$folder"
    done
    mkdir "$scratch/tmp" "$scratch/networks"
    # Limits that need no right to be raised; no systemd, no bridges, no cgroup v2.
    cat >"$scratch/containers.conf" <<EOF
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
netns = "host"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
[network]
network_backend = "netavark"
network_config_dir = "$scratch/networks"
EOF
    cat >"$scratch/storage.conf" <<EOF
[storage]
driver = "overlay"
graphroot = "$scratch/graph"
runroot = "$scratch/run"
EOF
    export BUILDAH_FORMAT=docker BUILDAH_ISOLATION=chroot TMPDIR=$scratch/tmp
    export CONTAINERS_CONF=$scratch/containers.conf CONTAINERS_STORAGE_CONF=$scratch/storage.conf
}

# As slim as Debian's own image of that name: no documentation, no caches.
make_base() {
    debootstrap --variant=minbase bookworm "$scratch/base" >"$scratch/debootstrap.log" 2>&1 ||
        skip "debootstrap: $(tail -n 1 "$scratch/debootstrap.log")"
    rm -rf "$scratch"/base/var/{cache/apt,lib/apt/lists}/* \
        "$scratch"/base/usr/share/{doc,info,locale,man}/*
    tar -C "$scratch/base" -c . | podman import --quiet - "$base" >/dev/null
}

# --- the tests ---

# The healthcheck asks for systemd's timers, which a scratch engine has not: run it by hand instead.
run_evb() {
    podman run --cgroup-parent "/${scratch##*/}" --no-healthcheck --network "${network:-host}" \
        --shm-size 1g "$@"
}

check_summary() {
    python3 - "$1" <<'EOF'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    summary = json.load(file)
events, segments = summary["events"], summary["segments"]
assert events["complete"] > 0, events
assert events["incomplete"] == events["discarded"] == 0, events
assert segments["received"] == segments["placed"] > 0, segments
assert sum(segments["dropped"].values()) == 0, segments
EOF
}

# Other tests run beside it.
test_build() {
    setsid --wait tests/behind.sh podman build --network host --tag evb \
        --build-arg "UNIT_TESTS=$([ "${CI:-}" ] && echo no || echo yes)" . >"$scratch/build.log" 2>&1 ||
        { tail -n 50 "$scratch/build.log" && return 1; }
    local size
    size=$(podman image inspect --format '{{.Size}}' evb)
    echo "image: $((size / 1000000)) MB, of them" \
        "$(($(podman image inspect --format '{{.Size}}' "$base") / 1000000)) MB base"
    [ "$size" -lt 250000000 ]
    podman image inspect --format '{{json .HealthCheck}}' evb | grep -q '"evb","stat","/evb/summary"'
}

# The default command for 3 s, with no right at all, as nobody, on a read-only file system.
test_demo_without_rights() {
    mkdir -m 0777 "$scratch/out"
    run_evb --rm --cap-drop all --user 65534 --read-only --tmpfs /run --tmpfs /tmp \
        --volume "$scratch/out:/out" evb \
        run /etc/evb/demo.json --duration 3 --summary /out/summary.json
    check_summary "$scratch/out/summary.json"
}

# Alive, healthy, and gone with status 0 when it is told to stop.
test_stop_drains() {
    local tries=0 status
    run_evb --detach --name demo evb >/dev/null
    until podman exec demo evb stat /evb/summary >/dev/null 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" = 600 ]; then
            podman logs demo
            return 1
        fi
        sleep 0.1
    done
    podman stop --time 30 demo >/dev/null
    status=$(podman inspect --format '{{.State.ExitCode}}' demo)
    podman logs demo | tail -n 20
    podman rm demo >/dev/null
    [ "$status" = 0 ]
}

# A container's evb receives as nobody, with what docs/container.md lists for the driver and no other
# right, and says so in JSON lines. receives_as_nobody PROFILE OPTION...
receives_as_nobody() {
    local network=ns:/run/netns/evbimage profile=$1 tries=0 out="$scratch/$1"
    ip netns add evbimage
    ip link add evb0 netns evbimage type veth peer name evb1 netns evbimage
    ip -n evbimage link set evb0 up
    ip -n evbimage link set evb1 up
    mkdir -m 0777 "$out"
    run_evb --detach --name receiver --user 65534 --cap-drop all "${@:2}" --read-only --tmpfs /run \
        --tmpfs /tmp --volume "$out:/out" evb \
        run /etc/evb/single-node.json --set ports[0].device=evb1 \
        --set "ports[0].profile=$profile" --set writers=[] \
        --set memory.kind=shm --log json --summary /out/summary.json >/dev/null
    until podman logs receiver 2>&1 | grep -q '"message":"running"'; do
        tries=$((tries + 1))
        if [ "$tries" = 600 ]; then
            podman logs receiver
            return 1
        fi
        sleep 0.1
    done
    run_evb --rm --cap-add NET_RAW --cap-add NET_ADMIN --cap-add IPC_LOCK evb gen --device evb0 \
        --address 10.0.0.3/24 --to 10.0.0.2 --packing 10 --rate 500 --events 500 --quiet
    podman wait receiver >/dev/null
    podman logs receiver 2>&1 | tail -n 3 | cut -c 1-200
    podman rm receiver >/dev/null
    ip netns delete evbimage
    check_summary "$out/summary.json"
}

test_receives_by_af_packet() {
    receives_as_nobody af_packet --cap-add NET_RAW --cap-add NET_ADMIN --cap-add IPC_LOCK
}

test_receives_by_af_xdp() {
    receives_as_nobody af_xdp --cap-add BPF --cap-add PERFMON --cap-add NET_ADMIN \
        --cap-add NET_RAW --cap-add IPC_LOCK --security-opt seccomp=unconfined
}

run_test() {
    # In a shell of its own with -e of its own, which `if` and `||` would turn off.
    set +e
    (
        set -e
        "$1"
    )
    local status=$?
    set -e
    if [ "$status" = 0 ]; then
        echo "ok: $1"
    else
        echo "FAIL: $1: status $status"
        failed=1
    fi
}

inside() {
    failed=0
    set_up_podman
    make_base
    run_test test_build
    if [ "$failed" = 0 ]; then
        run_test test_demo_without_rights
        run_test test_stop_drains
        run_test test_receives_by_af_packet
        run_test test_receives_by_af_xdp
    fi
    return "$failed"
}

cd "$(dirname "$(readlink -f "$0")")/../.."
if [ "${1:-}" = --inside ]; then
    scratch=$2
    inside
else
    outside
fi
