# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Chains of two and three stages: the events that an appliance builds are the blocks of the next one,
and at the end of a system of nodes, which gives each of them to one of two filter nodes. The node
that sends them is killed and started again, or another one goes on; a filter node stops. The events
of two appliances with the same ids become one. The filter nodes' decisions go back to the first
stage."""

import signal

import appliance
import cluster
import evb_decode
import evbtest
import judge
import test_cluster as systems
import test_decide as filtering
from evbtest import check, check_equal

EVENTS = 400
FEWER = 200
RATE = 400  # events a second
HELD = 24   # events that the second stage holds
PACKING = 10
GROUP = "egress"


def first_stage(work, count=EVENTS, **changes):
    return appliance.generated(work, **appliance.merged({
        "sources": 4, "packing": PACKING, "count": count, "size": 200, "generator": {"rate": RATE},
        "event_ring": {"groups": [GROUP]}, "memory": {"kind": "shm"},
        "events": {"deadline": "30s", "drain_timeout": "30s"}}, changes))


def middle_stage(work, first):
    """One process that sends the events of `first` to itself."""
    stage = first_stage(work, count=0, writer=None, generator=egress_of(first, rate=0))
    stage["sources"] = {"ids": [7], "payload": "opaque", "packing": 1}
    stage["builders"] = [{"name": "b0", "slots": 64, "slot_size": "20KiB"}]
    return stage


def egress_of(first, **keys):
    return {"name": "built", "port": "wire", "kind": "event_ring", **keys,
            "event_ring": {"appliance": first["name"], "group": GROUP, "max_event": "32KiB"}}


def node(name, number, **parts):
    return {"name": name, "ports": [{"name": "wire", "profile": "af_packet", "device": "eth1",
                                     "mtu": 9000, "address": f"10.77.3.{number}/24"}], **parts}


def filter_node(work, name, number, **parts):
    writer = {"name": "files", "format": "mep", "directory": work.folder(f"events-{name}")}
    return node(name, number, writers=[writer], **parts,
                builders=[{"name": "b0", "slots": 2 * HELD, "slot_size": "32KiB"}])


def last_stage(work, first, senders=("egress",)):
    """The system that gets the events of `first`, of which each sender has a part: two filter nodes,
    one of them the manager."""
    return {
        "name": work.name(),
        "sources": {"ids": [1], "payload": "opaque", "packing": 1},
        "events": {"deadline": "100ms", "on_incomplete": "discard"},
        "memory": {"kind": "shm"},
        "event_manager": {"mode": "push", "source_buffer": HELD},
        "nodes": [filter_node(work, "f0", 1, manager=True), filter_node(work, "f1", 2),
                  *(node(name, 3 + index, generators=[egress_of(first)])
                    for index, name in enumerate(senders))],
    }


def combining_stage(work, one, two):
    """The system that makes an event of each of `one` and that of `two` with the same id: a node sends
    the events of `one` and builds, another one sends those of `two`."""
    def sender(first, source):
        return appliance.merged(egress_of(first, ids=[source]),
                                {"event_ring": {"number_by": "event_id"}})

    return {
        "name": work.name(),
        "sources": {"ids": [1, 2], "payload": "opaque", "packing": PACKING},
        "events": {"deadline": "30s"},
        "memory": {"kind": "shm"},
        "event_manager": {"mode": "push", "source_buffer": HELD, "on_source_silent": "pause"},
        "nodes": [filter_node(work, "f0", 1, manager=True, generators=[sender(one, 1)]),
                  node("e1", 2, generators=[sender(two, 2)])],
    }


def event_of(blocks, stages):
    """Event id and {source: MFP} of the first of so many stages, from the one block of the last."""
    for _ in range(stages - 1):
        [block] = blocks.values()
        payload = evb_decode.Mfp(block, 0, len(block)).opaque_payload
        mep = evb_decode.Mep(payload, 0, from_file=False)
        blocks = {mfp.source_id: payload[mfp.offset:mfp.offset + mfp.size] for mfp in mep.mfps}
    return mep.event_id, blocks


def check_forwarded(work, nodes, stages):
    """Each event of the first stage is in the files of the last, byte by byte. Returns how many
    events each of the nodes has, and how many are there twice."""
    expected = judge.read_directory(work.path("events"))
    found, counts, twice = {}, dict.fromkeys(nodes, 0), 0
    for node in nodes:
        for path in judge.files(work.path(f"events-{node}")):
            for _, blocks in judge.read_meps(path):
                event, inner = event_of(blocks, stages)
                check_equal(found.setdefault(event, inner) == inner, True, f"event {event} again")
                counts[node] += 1
    twice = sum(counts.values()) - len(found)
    judge.check_events(found, expected)
    return counts, twice


def test_egress_killed():
    """The sender is killed, and its packets get lost: it sends the events again that the next system has
    discarded."""
    with evbtest.Workspace() as work:
        first = first_stage(work)
        stage = last_stage(work, first)
        stage["nodes"][-1]["generators"][0]["faults"] = {"loss": 0.01}
        with cluster.System(work, stage) as system:
            system.start()
            egress = system.processes["egress"]
            egress.wait_until(lambda: "waits for the built events" in egress.errors(), "a notice")
            evb = work.run(first)
            system.wait_for(lambda status: systems.released(status) >= EVENTS // 4, "events")
            egress.kill()
            system.start("egress")
            evb.end()
            summaries = system.end()
        counts, twice = check_forwarded(work, ("f0", "f1"), 2)
        print(f"events of each node {counts}, {twice} of them twice")
        check(all(count > EVENTS // 10 for count in counts.values()), f"events: {counts}")
        check(twice <= HELD, f"{twice} events were sent twice")
        for node, summary in summaries.items():
            evbtest.check_identities(summary)
            check_equal(evbtest.drops(summary), {}, f"drops of {node}")


def test_three_stages():
    """Two nodes send the events of the second stage, and one of them is killed. A filter node that does
    not go on gets no events, and stops nobody."""
    with evbtest.Workspace() as work:
        first = first_stage(work, FEWER, generator={"rate": RATE // 2})
        middle = middle_stage(work, first)
        with cluster.System(work, last_stage(work, middle, ("one", "two"))) as system:
            system.start()
            system.wait_for_state("running")
            system.processes["f1"].signal(signal.SIGSTOP)
            between = work.run(middle)
            evb = work.run(first)
            system.wait_for(lambda status: systems.released(status) >= FEWER // 4, "events")
            system.processes["two"].kill()
            evb.end()
            check_equal(judge.event_counts(between.end()), (FEWER, 0), "events of the second stage")
            system.command("exclude", "two")  # the run waits for what it may have
            system.end(nodes=("f0", "one"))
            system.processes["f1"].kill()
        _, twice = check_forwarded(work, ("f0",), 3)
        check(twice <= HELD, f"{twice} events were sent twice")


def test_super_events():
    """Each event of the second stage has those of both appliances with its id. One of these has two
    builders, whose events come in any order; the node that sends those of the other one is killed."""
    with evbtest.Workspace() as work:
        builders = [{"name": f"b{i}", "slots": 64, "slot_size": "16KiB"} for i in range(2)]
        writer = {"name": "files", "format": "mep", "directory": work.folder("events-two")}
        one = first_stage(work, FEWER, builders=builders)
        two = first_stage(work, FEWER, generator={"seed": 2}, writers=[writer])
        with cluster.System(work, combining_stage(work, one, two)) as system:
            system.start()
            processes = [work.run(one), work.run(two)]
            system.wait_for(lambda status: systems.released(status) >= FEWER // 4, "events")
            system.processes["e1"].kill()
            system.start("e1")
            for process in processes:
                process.end()
            summary = system.end()["f0"]
        check_equal(judge.event_counts(summary), (FEWER, 0), "super-events")
        evbtest.check_identities(summary)
        expected = {source: judge.read_directory(work.path(folder))
                    for source, folder in ((1, "events"), (2, "events-two"))}
        found = judge.read_directory(work.path("events-f0"))
        check_equal(found.keys(), expected[1].keys(), "ids")
        for event, blocks in found.items():
            check_equal({source: event_of({source: block}, 2) for source, block in blocks.items()},
                        {source: (event, events[event]) for source, events in expected.items()},
                        f"super-event {event}")


def as_system(configuration):
    """The same as a system of one node."""
    parts = {key: configuration.pop(key) for key in ("ports", "builders", "generators", "results")}
    return {**configuration, "nodes": [{"name": "all", "manager": True, **parts}]}


def test_decisions_go_back():
    """The first stage, whose manager tells which events there are, writes what the filter nodes
    decide, which the second stage puts into a ring."""
    with evbtest.Workspace() as work:
        ring, ledger = work.name(), work.path("ledger")
        first = first_stage(work, FEWER, writer=None, results=[
            {"name": "back", "from": ring, "directory": work.folder("results"), "timeout": "60s"}])
        first = as_system(first)
        stage = last_stage(work, {"name": f"{first['name']}-all"})
        stage["groups"] = [{"name": "filter", "decides": True}]
        stage["nodes"][0]["results"] = [
            {"name": "all", "group": "filter", "origin_packing": filtering.PACKING, "to": "ring",
             "ring": {"name": ring, "groups": ["back"]}, "timeout": "60s"}]
        with cluster.System(work, stage) as system:
            system.start()
            members = [work.start(filtering.decider(), system.processes[node].name, "filter",
                                  str(filtering.PACKING), "6", ledger) for node in ("f0", "f1")]
            for member in members:
                member.wait_for_line("joined")
            summary = work.run(first).end()
            system.end()
            for member in members:
                member.finish()
        events = [filtering.PACKING * n for n in range(FEWER)]
        filtering.check_results(filtering.file_results(work.path("results")), events)
        check_equal((summary["results"]["records"], summary["results"]["timed_out"]), (FEWER, 0), "results")


if __name__ == "__main__":
    evbtest.main()
