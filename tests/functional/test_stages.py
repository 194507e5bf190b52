# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Two stages: the events that an appliance builds are the blocks of a system of nodes, which gives
each of them to one of two filter nodes. The node that sends them is killed and started again."""

import appliance
import cluster
import evb_decode
import evbtest
import judge
import test_cluster as systems
from evbtest import check, check_equal

EVENTS = 600
RATE = 300  # events a second
HELD = 24   # events that the second stage holds
GROUP = "egress"


def first_stage(work, **changes):
    return appliance.generated(work, sources=4, count=EVENTS, size=200, generator={"rate": RATE},
                               event_ring={"groups": [GROUP]}, memory={"kind": "shm"},
                               events={"deadline": "30s", "drain_timeout": "30s"}, **changes)


def second_stage(work, first):
    """The system that gets the events of `first`: two filter nodes, one of them the manager."""
    def node(name, number, **parts):
        return {"name": name, "ports": [{"name": "wire", "profile": "af_packet", "device": "eth1",
                                         "mtu": 9000, "address": f"10.77.3.{number}/24"}], **parts}

    def filter_node(name, number, **parts):
        writer = {"name": "files", "format": "mep", "directory": work.folder(f"events-{name}")}
        return node(name, number, writers=[writer], **parts,
                    builders=[{"name": "b0", "slots": 2 * HELD, "slot_size": "32KiB"}])

    generator = {"name": "built", "port": "wire", "kind": "event_ring",
                 "event_ring": {"appliance": first["name"], "group": GROUP, "max_event": "32KiB"}}
    return {
        "name": work.name(),
        "sources": {"ids": [1], "payload": "opaque", "packing": 1},
        "events": {"deadline": "2s", "on_incomplete": "discard"},
        "memory": {"kind": "shm"},
        "event_manager": {"mode": "push", "source_buffer": HELD},
        "nodes": [filter_node("f0", 1, manager=True), filter_node("f1", 2),
                  node("egress", 3, generators=[generator])],
    }


def events_of(blocks):
    """{event id: {source: MFP}} of the built event in the one block of the second stage."""
    [block] = blocks.values()
    payload = evb_decode.Mfp(block, 0, len(block)).opaque_payload
    mep = evb_decode.Mep(payload, 0, from_file=False)
    return mep.event_id, {mfp.source_id: payload[mfp.offset:mfp.offset + mfp.size]
                          for mfp in mep.mfps}


def check_forwarded(work, first, nodes):
    """Each event of the first stage is in the files of the second, byte by byte. Returns how many
    times each of the nodes has an event, and how many are there twice."""
    expected = judge.read_directory(first)
    found, counts, twice = {}, dict.fromkeys(nodes, 0), 0
    for node in nodes:
        for path in judge.files(work.path(f"events-{node}")):
            for _, blocks in judge.read_meps(path):
                event, inner = events_of(blocks)
                check_equal(found.setdefault(event, inner) == inner, True, f"event {event} again")
                counts[node] += 1
    twice = sum(counts.values()) - len(found)
    judge.check_events(found, expected)
    return counts, twice


def test_egress_killed():
    with evbtest.Workspace() as work:
        first = first_stage(work)
        with cluster.System(work, second_stage(work, first)) as system:
            system.start()
            egress = system.processes["egress"]
            egress.wait_until(lambda: "waits for the built events" in egress.errors(), "a notice")
            evb = work.run(first)
            system.wait_for(lambda status: systems.released(status) >= EVENTS // 4, "events")
            egress.kill()
            system.start("egress")
            evb.end()
            summaries = system.end()
        counts, twice = check_forwarded(work, work.path("events"), ("f0", "f1"))
        print(f"events of each node {counts}, {twice} of them twice")
        check(all(count > EVENTS // 10 for count in counts.values()), f"events: {counts}")
        check(twice <= HELD, f"{twice} events were sent twice")
        for node, summary in summaries.items():
            evbtest.check_identities(summary)
            check_equal(evbtest.drops(summary), {}, f"drops of {node}")


if __name__ == "__main__":
    evbtest.main()
