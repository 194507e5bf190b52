# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Nodes of a shipped system that do not get the CPU for a moment."""

import bottleneck
import chaos_stops
import evbtest


def test_stopped_node():
    """For longer than heartbeat_timeout: no event is incomplete, and nothing is sent again."""
    # Other tests have real-time priority: without it, a node would wait for them, too, and be away for
    # longer than it is stopped.
    with bottleneck.ahead_of_others():
        wrong = chaos_stops.run_stops("cluster-folded.json", (0.3,), times=1, only=("a", "b"))
    evbtest.check(not wrong, "\n".join(wrong))


def test_stopped_manager():
    """Two of three nodes can be the event manager. Each node is stopped for longer than heartbeat_timeout,
    and the other one takes over from the one in office: no event is incomplete."""
    with bottleneck.ahead_of_others():
        wrong = chaos_stops.run_stops("cluster-ha.json", (0.3,), times=1)
    # What is dropped and sent again depends on the load of the machine.
    wrong = [text for text in wrong if "incomplete" in text]
    evbtest.check(not wrong, "\n".join(wrong))


if __name__ == "__main__":
    evbtest.main()
