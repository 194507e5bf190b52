# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The order in which nodes send what they are granted, as it is on the wire."""

import signal
import time

import bottleneck
import cluster
import evbtest
import test_cluster as systems
import wire_tap
from evbtest import check, check_equal

EVENTS = 1500  # of each source, and of the sum of the builders
IN_BUNDLE = 16  # blocks in a packet, at most


def began(packets):
    """[(event id, address of the builder)] in the order in which a node began to send its events."""
    seen = {}
    for packet in packets:
        seen.setdefault(packet.event, packet.builder)
    return list(seen.items())


def check_builders(names, node, sent):
    """sent: [(event index, builder)], of events that go to other nodes."""
    check_equal(len(sent), EVENTS * 2 // 3, f"events that {node} sent to others")
    for index, to in sent:
        check_equal(to, names[index % 3], f"builder of event {index}")


def check_order(names, rank, sent):
    node = names[rank]
    check_builders(names, node, sent)
    rounds = [index // 3 for index, _ in sent]
    check_equal(rounds, sorted(rounds), f"rounds as {node} sent them")
    wanted = [names[(rank + phase) % 3] for phase in (1, 2)]
    pairs = [[sent[i][1], sent[i + 1][1]] for i in range(0, len(sent), 2)]
    # A round of whose grants a node hears in two parts is sent as it is heard of.
    shifted = sum(pair == wanted for pair in pairs)
    check(shifted >= 0.9 * len(pairs),
          f"{node} sent {shifted} of {len(pairs)} rounds in shift order")


def check_turns(names, rank, sent):
    """A packet has blocks of several rounds for one builder: nothing is further ahead than that."""
    node = names[rank]
    check_builders(names, node, sent)
    rounds = [index // 3 for index, _ in sent]
    check(rounds != sorted(rounds), f"no packet of {node} has blocks of two rounds")
    newest = 0
    for number in rounds:
        newest = max(newest, number)
        check(number >= newest - IN_BUNDLE, f"{node} sent round {number} behind round {newest}")
    for name in names:
        events = [index for index, to in sent if to == name]
        check_equal(events, sorted(events), f"events for {name} as {node} sent them")


def run_in_shift(check_sent, size):
    """A run of three folded nodes in a strict linear shift, with fragments of this size."""
    with evbtest.Workspace() as work:
        configuration = systems.folded(work, "push", count=EVENTS, event_manager={
            "policy": "round-robin", "strict": True, "relax_after": "10s"})
        for node in configuration["nodes"]:
            node["generators"][0]["size"] = {"law": "fixed", "mean": size, "sigma": 0, "maximum": size}
        names = systems.builders(configuration)
        with cluster.System(work, configuration) as system, wire_tap.Tap(system, names) as tap:
            system.start()
            systems.check_healthy(system.end(systems.PATIENCE_S))
            sent = {node: began(packets) for node, packets in tap.packets().items()}
    node_at = {node["ports"][0]["address"].split("/")[0]: node["name"]
               for node in configuration["nodes"]}
    for rank, node in enumerate(names):
        check_sent(names, rank, [(event // systems.PACKING, node_at[to])
                                 for event, to in sent[node]])


def test_shift_order():
    """Rounds one after the other, and within a round each node begins with its own position, so
    that no two send to one builder at one time. Blocks are larger than a packet."""
    run_in_shift(check_order, 900)


def test_turns_of_small_blocks():
    """Small blocks of several rounds share a packet, whose length is a builder's turn then."""
    run_in_shift(check_turns, 60)


SPAN_S = 2
IN_STEP = 0.02  # of the busy milliseconds; 0.7 % are those in which a node follows another one
PAUSE_S = 0.05
HEALED_S = 60  # it takes 4 s where the nodes get their CPU


def shared(tap, seconds=SPAN_S):
    """Share of the busy milliseconds in which several nodes send to one builder, from now on until
    each node has sent for so long."""
    seen = {node: [] for node in tap.packets()}

    def are_seen():
        for node, packets in tap.packets().items():
            seen[node] += packets
        return all(sent and sent[-1].time - sent[0].time >= seconds for sent in seen.values())

    evbtest.wait_until(are_seen, f"{seconds} s of packets of each node")
    return wire_tap.shared_milliseconds(seen)


def test_out_of_step_heals():
    """4 nodes send to 4 builders, each event for 69 ms. One is stopped for most of that time; it
    meets another one at each builder then, and comes back into step."""
    layout = bottleneck.Layout(readouts=4, builders=4, packing=1000, queue=1_000_000, changes={
        "events": {"deadline": "30s"},
        "event_manager": {"shaping": "linear-shift", "target_utilisation": 0.95,
                          "heartbeat_timeout": "10s"}})
    with bottleneck.ahead_of_others(), evbtest.Workspace() as work, bottleneck.Farm(work, layout) as farm:
        farm.start()
        farm.wait_for_events(20)
        with wire_tap.Tap(farm, farm.readouts) as tap:
            evbtest.wait_until(lambda: shared(tap) < IN_STEP, "nodes are in step", HEALED_S)
            farm.processes["r1"].suspend()
            time.sleep(PAUSE_S)  # by which it is late
            farm.processes["r1"].signal(signal.SIGCONT)
            late = shared(tap, SPAN_S / 4)
            check(late > 2 * IN_STEP, f"a pause changes nothing: {late:.1%}")
            evbtest.wait_until(lambda: shared(tap) < IN_STEP, "nodes are in step again", HEALED_S)
        drops = sum(farm.link(node)["drops"] for node in farm.builders)
        summaries = farm.stop()
    check_equal(drops, 0, "packets that the narrow links dropped")
    for node, summary in summaries.items():
        check_equal(bottleneck.losses(summary), 0, f"losses of {node}")


if __name__ == "__main__":
    evbtest.main()
