# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A host program with libevb-sender, over the sockets of its kernel: what it sends is built byte by
byte, as a node of a system and to a receiver that grants nothing."""

import contextlib
import os

import cluster
import evb_decode
import evbtest
import judge
import network
import test_cluster as systems
from evbtest import check, check_equal

EVENTS = 200
RATE = 300


def make_file(work, sources, packing, count):
    """The file that a sender plays, and {event id: {source: MFP}}."""
    path = work.path("host.mfp")
    process = work.evb("gen", "--out", path, "--sources", sources, "--events", str(count),
                       "--packing", str(packing), "--law", "gaussian",
                       "--mean", "500", "--sigma", "50", "--maximum", "800")
    check_equal(process.status, 0, process.describe())
    data = evb_decode.read(path)
    expected = {}
    for mfp in evb_decode.mfps(data):
        block = data[mfp.offset:mfp.offset + mfp.size]
        expected.setdefault(mfp.event_id, {})[mfp.source_id] = block
    return path, expected


@contextlib.contextmanager
def first_half(work, expected):
    """A pipe, which does not end, and a function that writes the first half of the events to it."""
    path = work.path("half.mfp")
    os.mkfifo(path)
    with open(path, "r+b", buffering=0) as pipe:
        yield path, lambda: pipe.write(b"".join(
            mfp for event in sorted(expected)[:EVENTS // 2] for mfp in expected[event].values()))


def two_nodes(work):
    """A builder node, which has the event manager, and a node without builders."""
    configuration = systems.base(work, "cluster-4x2.json", rate=RATE, mtu=9000,
                                 events={"deadline": "300ms"},
                                 event_manager={"mode": "push", "heartbeat": "20ms",
                                                "heartbeat_timeout": "300ms"})
    configuration = cluster.only_nodes(configuration, "ru0", "bu0")
    readout, builder = configuration["nodes"]
    builder["manager"] = True
    readout["generators"][0].update(kind="producer", events=0,
                                    producer={"size": "4MiB", "max_block": "64KiB"})
    del readout["generators"][0]["size"]
    return configuration


def kernel_node(system, node, address):
    """The node's namespace gets its address: its program uses the kernel's sockets."""
    namespace = system.bridge.nodes[node]
    namespace.set_checksum_offload(False)
    namespace.add_address(address)
    return namespace


def is_silent(status, name):
    return any(node["name"] == name and node["lost"] for node in status["system"]["nodes"])


def check_events(work, configuration, expected):
    """Complete events are as they were sent. Returns the ids of the incomplete and absent ones."""
    lost = set(expected)
    for _, event, blocks in systems.built(work, configuration):
        if any(judge.is_error_mfp(mfp, judge.MISSING_TYPE) for mfp in blocks.values()):
            continue
        check(event in lost, f"event {event} was not sent, or built twice")
        check(blocks == expected[event], f"event {event} differs from what was sent")
        lost.remove(event)
    return lost


def test_node_killed_once():
    """Granted. Only events that were announced and not released when the program was killed may be
    incomplete."""
    with evbtest.Workspace() as work:
        configuration = two_nodes(work)
        path, expected = make_file(work, "1-4", configuration["sources"]["packing"], EVENTS)
        with cluster.System(work, configuration) as system:
            namespace = kernel_node(system, "ru0", "10.77.2.10/24")
            command = (evbtest.program("example_sender"), path, system.file, "ru0")
            system.start("bu0")
            with first_half(work, expected) as (half, play):
                killed = work.start(command[0], half, *command[2:], namespace=namespace)
                play()
                before = system.wait_for(lambda status: systems.released(status) >= EVENTS // 4,
                                         "events")
                killed.kill()
            after = system.wait_for(lambda status: is_silent(status, "ru0"), "its silence")
            again = work.start(*command, namespace=namespace)
            check_equal(again.finish().status, 0, again.describe())
            summary = system.end(nodes=["bu0"])["bu0"]
        lost = check_events(work, configuration, expected)
        packing = configuration["sources"]["packing"]
        window = range(before["system"]["released"] * packing,
                       after["system"]["announced"] * packing)
        check(lost <= set(window), f"lost {sorted(lost)}, of {window} that were under way")
        evbtest.check_identities(summary)
        check_equal(summary["events"]["complete"], EVENTS - len(lost), "complete events")


def test_to_a_receiver():
    """Nobody grants: the receiver is an appliance that is no node of a system. Its run ends with the
    sender's end-of-run block."""
    with evbtest.Workspace() as work, network.Network() as net:
        path, expected = make_file(work, "5", 10, EVENTS)
        folder = work.folder("events")
        appliance = work.run({
            "name": work.name(), "memory": {"kind": "shm"},
            "ports": [{"name": "wire", "profile": "af_packet", "device": net.evb.device,
                       "address": network.EVB_ADDRESS + "/24"}],
            "sources": {"ids": [5], "packing": 10},
            "builders": [{"name": "b0", "slots": 512, "slot_size": "64KiB"}],
            "writers": [{"name": "files", "format": "mep", "directory": folder}],
        }, namespace=net.evb)
        with appliance:
            sender = work.start(evbtest.program("example_sender"), path, network.EVB_ADDRESS, "5",
                                "10", namespace=net.host)
            check_equal(sender.finish().status, 0, sender.describe())
            summary = appliance.end()
        found = {event: blocks for file in judge.files(folder)
                 for event, blocks in judge.read_meps(file)}
        check_equal(evbtest.drops(summary), {}, "drops")
        check(found == expected, f"{len(found)} of {len(expected)} events, or they differ")
        evbtest.check_identities(summary)


if __name__ == "__main__":
    evbtest.main()
