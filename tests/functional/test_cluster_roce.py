# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems of several nodes whose readouts send by RoCE: each event is built once, on one builder,
byte by byte as it was sent, in push and in pull; what is lost on the way is sent again; a builder
that dies loses nothing and is connected anew when it is back.

EVB_LONG_TESTS: 10^5 events in the place of 2000.
"""

import copy

import appliance
import cluster
import evbtest
import telemetry
import test_cluster as cases
from evbtest import check, check_equal
from faults import Trial
from test_cluster import LONG, PATIENCE_S, run_to_the_end

EVENTS = 100_000 if LONG else 2000
PACKING = 6  # MFPs of some 700 bytes: three packets at the path MTU of these tests
# Connections and nodes survive that a busy machine lets a node wait for some seconds.
ROCE = {"transport": {"kind": "roce"}, "roce": {"path_mtu": 256, "timeout": 17},
        "event_manager": {"heartbeat_timeout": "20s"}}


def split(work, mode, operation="write_imm", **changes):
    """The manager, two readout nodes with two sources each, and two builder nodes."""
    configuration = cases.base(
        work, "cluster-roce.json", packing=PACKING,
        **appliance.merged(appliance.merged(ROCE, {"event_manager": {"mode": mode},
                                                   "roce": {"operation": operation}}), changes))
    ids = iter(range(1, 5))
    for node in configuration["nodes"]:
        for generator in node.get("generators", ()):
            generator["ids"] = [next(ids), next(ids)]
    configuration["sources"]["ids"] = ["1-4"]
    return configuration


# --- whole runs ----------------------------------------------------------------------------------


def test_push_by_write():
    with evbtest.Workspace() as work:
        run_to_the_end(work, split(work, "push", count=EVENTS), EVENTS)


def test_pull_by_send():
    with evbtest.Workspace() as work:
        run_to_the_end(work, split(work, "pull", "send", count=EVENTS), EVENTS)


def test_pull_by_read():
    """Builders read what they are offered."""
    with evbtest.Workspace() as work:
        run_to_the_end(work, split(work, "pull", "read", count=EVENTS), EVENTS)


def test_static():
    """Without grants a WRITE goes to where the connection says."""
    with evbtest.Workspace() as work:
        configuration = split(work, "static", "write", count=EVENTS // 10, rate=1000,
                              events={"deadline": "2s"})
        cases.check_turns(configuration,
                                 run_to_the_end(work, configuration, EVENTS // 10))


def test_unreliable():
    """UC: nobody acknowledges, and where nothing is lost nothing is missing."""
    with evbtest.Workspace() as work:
        run_to_the_end(work, split(work, "push", "send_imm", count=EVENTS // 10, rate=500,
                                   roce={"service": "uc"}), EVENTS // 10)


def test_folded():
    """Nodes that send and build: the answers to what they send come to the port that receives."""
    with evbtest.Workspace() as work:
        configuration = cases.folded(work, "push", count=EVENTS // 5, packing=PACKING,
                                            **appliance.merged(ROCE, {"roce": {
                                                "operation": "write"}}))
        run_to_the_end(work, configuration, EVENTS // 5)


def test_folded_by_read():
    with evbtest.Workspace() as work:
        configuration = cases.folded(work, "pull", count=EVENTS // 5, packing=PACKING,
                                     **appliance.merged(ROCE, {"roce": {"operation": "read"}}))
        run_to_the_end(work, configuration, EVENTS // 5)


def test_several_builders():
    """Each builder of a node has connections of its own."""
    with evbtest.Workspace() as work:
        configuration = split(work, "push", count=EVENTS // 5)
        for node in configuration["nodes"]:
            if "builders" in node:
                node["builders"] = [{**node["builders"][0], "name": name}
                                    for name in ("b0", "b1", "b2")]
        run_to_the_end(work, configuration, EVENTS // 5)


# --- losses --------------------------------------------------------------------------------------


def lossy(work, mode, operation):
    """1 % of the data packets do not leave, and some overtake others."""
    configuration = split(work, mode, operation, count=EVENTS)
    for node in configuration["nodes"]:
        for generator in node.get("generators", ()):
            generator["faults"] = {"loss": 0.01, "duplicate": 0.002}
    with cluster.System(work, configuration) as system:
        system.start()
        summaries = system.end(PATIENCE_S)
    for node, summary in summaries.items():
        evbtest.check_identities(summary)
        check_equal(summary["events"]["incomplete"], 0, f"incomplete events of {node}")
        # What is sent again on another connection may have been there.
        check(evbtest.drops(summary).keys() <= {"late", "duplicate"},
              f"drops of {node}: {evbtest.drops(summary)}")
    cases.check_built(work, configuration,
                             cases.all_sent(work, configuration, EVENTS))
    for node in ("ru0", "ru1"):
        check(summaries[node]["sent"]["lost"] > EVENTS // 100,
              f"packets that {node} lost: {summaries[node]['sent']}")


def test_loss_push():
    with evbtest.Workspace() as work:
        lossy(work, "push", "write_imm")


def test_loss_pull():
    with evbtest.Workspace() as work:
        lossy(work, "pull", "send")


def test_what_is_told():
    """Readouts tell of a queue pair to each builder, of what was lost and sent again; builders of one
    from each readout."""
    with evbtest.Workspace() as work:
        configuration = split(work, "push", rate=400)
        for node in configuration["nodes"]:
            for generator in node.get("generators", ()):
                generator["faults"] = {"loss": 0.02}
        with cluster.System(work, configuration) as system:
            system.start()
            cases.wait_for_more(system, 1000)
            with telemetry.Telemetry(f"{system.name}-ru0") as client:
                readout = client.query("/evb/readout/info", "boards")
                peers = [client.query("/evb/control/info", name)
                         for name in client.query("/evb/control/list")]
                check_equal(sum(peer["self"] for peer in peers), 1, f"nodes that are itself: {peers}")
                check(all(peer["frames_received"] > 0 for peer in peers if not peer["self"]),
                      f"nothing was received of a peer: {peers}")
                pairs = [client.query("/evb/qp/info", name)
                         for name in client.query("/evb/qp/list")]
            with telemetry.Telemetry(f"{system.name}-bu1") as client:
                own = client.query("/evb/roce/info", "wire")
            system.command("drain")
            cases.check_healthy(system.end())
        check_equal((readout["builders_connected"], readout["connections_lost"]), (2, 0),
                    "connections of ru0")
        check(readout["messages_completed"] > 1000 and readout["messages_failed"] == 0,
              f"messages of ru0: {readout}")
        check_equal(sorted(pair["peer"] for pair in pairs), ["10.77.4.100", "10.77.4.101"],
                    "peers of ru0")
        for pair in pairs:
            check(pair["retransmissions"] > 0 and pair["nak_received_sequence"] > 0,
                  f"nothing was sent again: {pair}")
        check_equal((own["queue_pairs"], own["nak_sent_access"], own["messages_put_off"]),
                    (2, 0, 0), "queue pairs of bu1, refusals, messages put off")
        cases.check_generated(work, configuration)


def test_loss_read():
    with evbtest.Workspace() as work:
        lossy(work, "pull", "read")


# --- builders that die ---------------------------------------------------------------------------


class RoceTrial(Trial):
    """The same system, by RoCE."""

    def __init__(self, work, mode, operation="write_imm", **more):
        super().__init__(work, mode, **more)
        self.configuration.update(transport={"kind": "roce"},
                                  roce={"path_mtu": 512, "operation": operation})
        self.file = work.write("system.json", cluster.frugal(self.configuration))


def killed(mode, operation, heartbeat_timeout):
    """With a builder's death its events go to the other; when it is back there are connections to
    it, and it gets its share."""
    with evbtest.Workspace() as work, RoceTrial(work, mode, operation,
                                                heartbeat_timeout=heartbeat_timeout) as trial:
        trial.begin()
        with trial.stopped_while_it_builds("b1", 4):
            trial.kill("b1")
        life = trial.life("b1")
        trial.more()
        trial.back("b1")
        trial.until(lambda: len(trial.life("b1").events()) >= 20, "20 events on b1")
        trial.more()
        verdict, _ = trial.finish()
    check_equal(dict(verdict.incomplete), {}, "incomplete events")
    events = life.events()
    check_equal(verdict.twice, set(events[len(events) - len(verdict.twice):]),
                "events published twice, that it could not tell")


def test_builder_killed_push():
    killed("push", "write_imm", "2s")


def test_builder_killed_pull():
    killed("pull", "send", "2s")


def test_builder_killed_read():
    killed("pull", "read", "2s")


def test_builder_back_at_once():
    """Another process of it is there before its silence is noticed."""
    with evbtest.Workspace() as work, RoceTrial(work, "push", heartbeat_timeout="30s") as trial:
        trial.begin()
        with trial.stopped_while_it_builds("b1", 4):
            trial.kill("b1")
        trial.back("b1")
        trial.until(lambda: len(trial.life("b1").events()) >= 20, "20 events on b1")
        verdict, _ = trial.finish()
    check_equal(dict(verdict.incomplete), {}, "incomplete events")


def readout_back(mode, operation):
    """A readout that restarts connects anew; what it held is incomplete, nothing else."""
    with evbtest.Workspace() as work, RoceTrial(work, mode, operation, deadline="1s",
                                                heartbeat_timeout="2s") as trial:
        trial.begin()
        trial.kill("r1")
        trial.until(lambda: trial.sched()["events_incomplete"] >= 20, "incomplete events")
        trial.back("r1")
        trial.until(lambda: trial.member("r1")["registered"], "r1 is back")
        # It begins behind what has been announced.
        announced = trial.sched()["events_announced"]
        trial.until(lambda: trial.sched()["events_released"] >= announced + 20,
                    "events of its own")
        incomplete = trial.sched()["events_incomplete"]
        trial.more()
        check_equal(trial.sched()["events_incomplete"], incomplete,
                    "incomplete events after the source was back")
        verdict, _ = trial.finish()
    check_equal(verdict.twice, set(), "events published twice")


def test_readout_back_push():
    readout_back("push", "write_imm")


def test_readout_back_read():
    readout_back("pull", "read")


def test_builder_excluded_included_and_gone():
    """By the operator, and by its own leave: its events go to the other; nothing is lost."""
    with evbtest.Workspace() as work:
        configuration = split(work, "push", rate=200)
        with cluster.System(work, configuration) as system:
            system.start()
            cases.wait_for_more(system)
            system.command("exclude", "bu1")
            system.wait_for(lambda status: status["node"]["excluded"], "bu1 is told", "bu1")
            cases.wait_for_more(system)
            grants = system.status("bu1")["node"]["grants"]
            system.command("include", "bu1")
            system.wait_for(lambda status: status["node"]["grants"] > grants + 20, "grants",
                            "bu1")
            check_equal(system.processes["bu1"].stop(), 0, "status of the one that leaves")
            cases.wait_for_more(system)
            system.command("drain")
            summaries = system.end(nodes=("manager", "ru0", "ru1", "bu0"))
        for summary in summaries.values():
            evbtest.check_identities(summary)
        where = cases.check_generated(work, configuration)
        check_equal(set(where.values()), {"bu0", "bu1"}, "builders")


# --- configurations ------------------------------------------------------------------------------


def test_what_is_refused():
    """Each is one line that says what, and how to mend it."""
    with evbtest.Workspace() as work:
        for changes, why in (
                ({"roce": {"connection": "static"}}, "roce.connection: readouts of a cluster"),
                ({"roce": {"connection": "feroce"}}, "roce.connection: readouts of a cluster"),
                ({"roce": {"service": "ud", "operation": "send"}}, "roce.service: an MFP"),
                ({"roce": {"operation": "read"}}, "roce.operation: builders read"),
                ({"sources": {"payload": "opaque"}}, "sources.payload: RoCE messages are MFPs")):
            configuration = appliance.merged(copy.deepcopy(cluster.shipped("cluster-roce.json")),
                                             changes)
            file = work.write("refused.json", configuration)
            process = work.evb("check", file, "--node", "ru0")
            check_equal(process.status, 1, process.describe())
            check(why in process.errors() and process.errors().count("\n") == 0,
                  process.describe())


if __name__ == "__main__":
    evbtest.main()
