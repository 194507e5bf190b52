# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The order in which the nodes of a folded system send what they are granted, as it is on the wire."""

import cluster
import evbtest
import test_cluster as systems
import wire_tap
from evbtest import check, check_equal

EVENTS = 1500  # of each source, and of the sum of the builders


def began(packets):
    """[(event id, address of the builder)] in the order in which a node began to send its events."""
    seen = {}
    for packet in packets:
        seen.setdefault(packet.event, packet.builder)
    return list(seen.items())


def check_order(names, rank, sent):
    """sent: [(event index, builder)], of events that go to other nodes."""
    node = names[rank]
    check_equal(len(sent), EVENTS * 2 // 3, f"events that {node} sent to others")
    for index, to in sent:
        check_equal(to, names[index % 3], f"builder of event {index}")
    rounds = [index // 3 for index, _ in sent]
    check_equal(rounds, sorted(rounds), f"rounds as {node} sent them")
    wanted = [names[(rank + phase) % 3] for phase in (1, 2)]
    pairs = [[sent[i][1], sent[i + 1][1]] for i in range(0, len(sent), 2)]
    # A round of whose grants a node hears in two parts is sent as it is heard of.
    shifted = sum(pair == wanted for pair in pairs)
    check(shifted >= 0.9 * len(pairs),
          f"{node} sent {shifted} of {len(pairs)} rounds in shift order")


def test_shift_order():
    """Rounds one after the other, and within a round each node begins with its own position, so
    that no two send to one builder at one time."""
    with evbtest.Workspace() as work:
        configuration = systems.folded(work, "push", count=EVENTS, event_manager={
            "policy": "round-robin", "strict": True, "relax_after": "10s"})
        names = systems.builders(configuration)
        with cluster.System(work, configuration) as system, wire_tap.Tap(system, names) as tap:
            system.start()
            systems.check_healthy(system.end(systems.PATIENCE_S))
            sent = {node: began(packets) for node, packets in tap.packets().items()}
    node_at = {node["ports"][0]["address"].split("/")[0]: node["name"]
               for node in configuration["nodes"]}
    for rank, node in enumerate(names):
        check_order(names, rank, [(event // systems.PACKING, node_at[to])
                                  for event, to in sent[node]])


if __name__ == "__main__":
    evbtest.main()
