# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Nodes of a shipped system that do not get the CPU for a moment."""

import chaos_stops
import evbtest


def test_stopped_node():
    """For longer than heartbeat_timeout: no event is incomplete, and nothing is sent again."""
    wrong = chaos_stops.run_stops("cluster-folded.json", (0.3,), times=1, only=("a", "b"))
    evbtest.check(not wrong, "\n".join(wrong))


if __name__ == "__main__":
    evbtest.main()
