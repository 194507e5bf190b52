# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The order in which the nodes of a folded system send what they are granted, as it is on the wire."""

import contextlib
import socket

import cluster
import evb_decode
import evbtest
import test_cluster as systems
from evbtest import check, check_equal

EVENTS = 1500  # of each source, and of the sum of the builders
ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
DATA_PORT = 19522
RE_AT = 14 + 20 + 8  # of EJFAT's reassembly header: Ethernet, IPv4, UDP


def first_segments(taps):
    """{node: [(event id, address of the builder)]} in the order in which each node began to send
    its events, from the packets that were captured."""
    began = {}
    for node, tap in taps.items():
        seen = {}
        while True:
            try:
                frame, (_, _, direction, *_) = tap.recvfrom(RE_AT + 20)
            except BlockingIOError:
                break
            if direction == socket.PACKET_OUTGOING:
                continue  # on its way to the node
            if len(frame) < RE_AT + 20 or frame[12:14] != b"\x08\x00" or frame[23] != 17:
                continue
            if int.from_bytes(frame[36:38], "big") == DATA_PORT:
                event = int.from_bytes(frame[RE_AT + 12:RE_AT + 20], "big")
                seen.setdefault(event, socket.inet_ntoa(frame[30:34]))
        seen.pop(evb_decode.END_OF_RUN, None)
        began[node] = list(seen.items())
    return began


@contextlib.contextmanager
def tapped(system, nodes):
    """{node: socket} with what comes out of each node, from now on."""
    with contextlib.ExitStack() as stack:
        taps = {}
        for node in nodes:
            tap = stack.enter_context(system.bridge.bridge.socket(
                socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
            tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 256 << 20)
            tap.bind((system.bridge.port(node), ETH_P_ALL))
            tap.setblocking(False)
            taps[node] = tap
        yield taps


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
        with cluster.System(work, configuration) as system, tapped(system, names) as taps:
            system.start()
            systems.check_healthy(system.end(systems.PATIENCE_S))
            began = first_segments(taps)
    node_at = {node["ports"][0]["address"].split("/")[0]: node["name"]
               for node in configuration["nodes"]}
    for rank, node in enumerate(names):
        check_order(names, rank, [(event // systems.PACKING, node_at[to])
                                  for event, to in began[node]])


if __name__ == "__main__":
    evbtest.main()
