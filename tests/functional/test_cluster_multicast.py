# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Grants by multicast, to four readout nodes: what a node lacks it gets alone, and each event is
built once, exact. Bridges that forward multicast to members only know the readout nodes."""

import json
import subprocess

import evbtest
from evbtest import check, check_equal
from faults import Trial

GROUP = "239.255.19.1"
READOUTS = 4


def multicast(work, **more):
    # No readout is taken for silent while the machine is busy: all grants are shared then.
    return Trial(work, "push", readouts=READOUTS, heartbeat_timeout="5s", multicast=GROUP, **more)


def at_manager(trial, node):
    """What the event manager's node says of a node's control frames."""
    return trial.client("m").query("/evb/control/info", node)


def own(trial, node):
    """What a node says of the event manager's control frames."""
    return trial.client(node).query("/evb/control/info", "m")


def until_shared(trial, n):
    """Each readout node has got n more frames by multicast."""
    def counts():
        return {node: (at_manager(trial, node)["shared_sent"], own(trial, node)["shared_received"])
                for node in trial.readouts}

    before = counts()
    trial.until(lambda: all(now >= then + n for node, both in counts().items()
                            for now, then in zip(both, before[node])),
                f"each readout node has got {n} frames by multicast")
    check(at_manager(trial, "m")["shared_frames"] >= n, "fewer frames were sent")


def test_frames_are_lost():
    """One of ten, for each node separately."""
    with evbtest.Workspace() as work, multicast(work, injected=True) as trial:
        trial.injector.lose_shared(0.1)
        trial.begin()
        until_shared(trial, 200)
        counts = trial.injector.counts()
        check(counts["shared"] > 400, f"control frames: {counts}")
        check(0.05 < counts["shared_lost"] / counts["shared"] < 0.15, f"control frames: {counts}")
        repeated = {node: at_manager(trial, node)["shared_repeated"] for node in trial.readouts}
        check(all(repeated.values()), f"frames that were repeated: {repeated}")
        verdict, summaries = trial.finish()
    verdict.check_exact()
    for node, summary in summaries.items():
        check_equal(evbtest.drops(summary), {}, f"drops of {node}")
        check_equal(summary["losses"], False, f"losses of {node}")


def members(trial):
    """The ports of the bridge that lead to members of the group."""
    done = subprocess.run(["bridge", "-n", trial.bridge.bridge.name, "-j", "mdb", "show"],
                          capture_output=True, text=True, check=True)
    return {entry["port"] for table in json.loads(done.stdout) for entry in table.get("mdb", ())
            if entry["grp"] == GROUP}


def watch_members(trial):
    """Makes the bridge ask for members, and forward multicast to them only."""
    subprocess.run(["ip", "-n", trial.bridge.bridge.name, "link", "set", "bridge", "type",
                    "bridge", "mcast_snooping", "1", "mcast_querier", "1",
                    "mcast_query_response_interval", "10"], check=True)


def test_bridge_that_watches_members():
    with evbtest.Workspace() as work, multicast(work) as trial:
        watch_members(trial)
        trial.begin()
        ports = {trial.bridge.port(node) for node in trial.readouts}
        trial.until(lambda: members(trial) == ports, "the readout nodes are members")
        until_shared(trial, 100)
        verdict, _ = trial.finish()
    verdict.check_exact()


def test_network_without_multicast():
    """It carries none of these frames: the nodes get them alone."""
    with evbtest.Workspace() as work, multicast(work, injected=True) as trial:
        trial.injector.lose_shared(1)
        trial.begin()
        trial.more(100)
        counts = trial.injector.counts()
        check(counts["shared"] > 0, f"control frames: {counts}")
        check_equal(counts["shared_lost"], counts["shared"], "frames by multicast that were lost")
        verdict, _ = trial.finish()
    verdict.check_exact()


if __name__ == "__main__":
    evbtest.main()
