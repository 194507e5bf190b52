# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Several runs in the same processes of a system of nodes: each run is exact, with an account and files
of its own, and nothing of one run reaches the next. Consumers stay attached."""

import contextlib
import glob
import json
import os
import signal
import time

import cluster
import evbtest
import judge
import telemetry
import test_host_sender as host
from evbtest import check, check_equal
from test_cluster import all_sent, base, check_healthy, check_refused, complete

COUNT = 600  # events of each source in a run: 1.5 s, so that a command reaches it
RATE = 400
HEAD_SIZE = 16  # of event_tap.c


def several(work, mode="push", **changes):
    return base(work, "cluster-folded.json", count=COUNT, rate=RATE, run_number=11,
                event_manager={"mode": mode, "start": "manual", "runs": "many"}, **changes)


def account(work, node, run):
    """What a process of a node wrote about one of its runs."""
    path, = glob.glob(work.path(f"summary-{node}-*-{run}.json"))
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def wait_until_ready(system, run):
    """Until all nodes are prepared for this run, and the manager has them."""
    for node in system.nodes:
        system.wait_for(lambda status: (status["state"], status["run"]) == ("ready", run),
                        f"{node} is ready for run {run}", node)


def built_on(work, node, run):
    """[(event id, {source: MFP})] of a node's files of a run."""
    return [event for path in judge.files(work.path(f"events-{node}"))
            if f"-run{run:06}-" in path for event in judge.read_meps(path)]


def built_in(work, system, run):
    """{event id: {source: MFP}} of all files of a run; no event may be there twice."""
    found = {}
    for node in system.nodes:
        for event, blocks in built_on(work, node, run):
            check(event not in found, f"run {run}: event {event} was built twice")
            found[event] = blocks
    return found


def check_run(work, system, run, expected, whole=True):
    """The files and accounts of a run have its events, and no others. Returns the accounts."""
    found = built_in(work, system, run)
    accounts = {node: account(work, node, run) for node in system.nodes}
    for event, blocks in found.items():
        for source, block in blocks.items():
            check(block == expected[event][source] or
                  (not whole and judge.is_error_mfp(block, judge.MISSING_TYPE)),
                  f"run {run}: event {event}: the MFP of source {source} differs")
    if whole:
        check_healthy(accounts)
        check_equal(sorted(found), sorted(expected), f"events of run {run}")
    for one in accounts.values():
        evbtest.check_identities(one)
    check_equal({one["run_number"] for one in accounts.values()}, {run}, "runs of the accounts")
    # Of those that a builder held at a stop, nobody sees any.
    counted = sum(sum(judge.event_counts(one)) for one in accounts.values())
    check(counted == len(found) or (not whole and counted > len(found)),
          f"run {run}: {counted} events in the accounts, {len(found)} in files")
    return accounts


def wait_for_events(system, run, n=1):
    """Until the manager's node has built so many events of this run."""
    system.wait_for(lambda status: status["run"] == run and
                    sum(judge.event_counts(status)) >= n, f"{n} events of run {run}")


def end_all(system):
    for node in reversed(system.nodes):
        system.processes[node].signal(signal.SIGTERM)
    for process in system.processes.values():
        check_equal(process.finish().status, 0, process.describe())


def change(system, what, run, *command):
    """A command that ends in this run being prepared; prints the time that it took."""
    begin = time.monotonic()
    if command:
        system.command(*command)
    wait_until_ready(system, run)
    print(f"  {what}: {time.monotonic() - begin:.2f} s until run {run} was prepared")


def run_to_the_end(system, run):
    """Starts a run that the sources end, and waits until the next one is prepared."""
    system.command("start")
    change(system, "run with its drain", run + 1)


def replace_b(system):
    """Kills a node between two runs, and starts it again with the number of the first run."""
    system.processes["b"].kill()
    system.wait_for(lambda status: any(node["lost"] for node in status["system"]["nodes"]), "b is away")
    check_refused(system, ("start",), "not all nodes are there")
    check_refused(system, ("start", "--run", "13"), "run numbers grow: the next one is 14 or more")
    system.start("b")


def five_runs(mode):
    """The sources end runs 11, 12, 14 and 20, a command stops run 13. Node b dies between 13 and 14."""
    with evbtest.Workspace() as work:
        configuration = several(work, mode)
        if mode == "static":
            # Nobody holds sources back: room for all that a node sends while another does not run.
            configuration["builders"][0]["slots"] = 512
        expected = all_sent(work, configuration, COUNT)
        with cluster.System(work, configuration) as system:
            system.start()
            process = system.processes["a"]
            tap = work.start(evbtest.program("event_tap"), f"{system.name}-a", "tap",
                             work.path("tap"), "0", "heads")
            tap.wait_for_line("joined")
            wait_until_ready(system, 11)
            run_to_the_end(system, 11)
            run_to_the_end(system, 12)
            system.command("start")
            wait_for_events(system, 13, 20)
            change(system, "stop", 14, "stop")
            replace_b(system)
            wait_until_ready(system, 14)
            run_to_the_end(system, 14)
            system.command("start", "--run", "20")
            change(system, "run with another number", 21)
            check(process.running() and system.processes["a"] is process, "the process of node a")
            for run in (11, 12, 14, 20):
                check_run(work, system, run, expected)
            stopped = check_run(work, system, 13, expected, whole=False)
            check(complete(stopped) >= 20, "run 13 has no events")
            end_all(system)
            check_equal(tap.finish().status, 0, tap.describe())
        check_equal(os.path.getsize(work.path("tap")) // HEAD_SIZE,
                    sum(len(built_on(work, "a", run)) for run in (11, 12, 13, 14, 20)),
                    "events of all runs that the consumer of node a has seen")


def test_push():
    five_runs("push")


def test_pull():
    five_runs("pull")


def test_static():
    five_runs("static")


def two_runs(work, configuration):
    """The sources end both."""
    expected = all_sent(work, configuration, COUNT)
    with cluster.System(work, configuration) as system:
        system.start()
        for run in (11, 12):
            wait_until_ready(system, run)
            run_to_the_end(system, run)
        for run in (11, 12):
            check_run(work, system, run, expected)
        end_all(system)


def test_roce():
    """Connections are made anew for each run."""
    with evbtest.Workspace() as work:
        two_runs(work, several(work, transport={"kind": "roce"}))


def test_standby():
    """Each run elects its event manager."""
    with evbtest.Workspace() as work:
        configuration = several(work)
        configuration["nodes"][1]["manager"] = True
        # No node takes over because the other one waits for the CPU: data would be sent twice.
        configuration["event_manager"]["heartbeat_timeout"] = "5s"
        two_runs(work, configuration)


def test_command_while_no_manager_is_in_office():
    """A command waits until one is elected: a node without the others' votes is not in office."""
    with evbtest.Workspace() as work:
        configuration = several(work)
        configuration["nodes"][1]["manager"] = True
        configuration["event_manager"].update(heartbeat="50ms", heartbeat_timeout="1s")
        with cluster.System(work, configuration) as system:
            system.start()
            wait_until_ready(system, 11)
            status = system.wait_for(lambda status: status["office"].get("manager"),
                                     "a or b is in office", "a")
            manager = status["office"]["manager"]
            others = [node for node in system.nodes if node != manager]
            for node in others:
                system.processes[node].signal(signal.SIGSTOP)
            system.wait_for(lambda status: "system" not in status, "its term ends", manager)
            check_refused(system, ("pause",), "no event manager is in office", node=manager)
            check_equal(cluster.ask(evbtest.control_socket(f"{system.name}-{manager}"), "pause"),
                        {"ok": False, "not_manager": True,
                         "error": "pause: no event manager is in office"}, "what a program is told")
            start = system.launch_ctl("start")
            for node in others:
                system.processes[node].signal(signal.SIGCONT)
            check_equal((start.finish().status, start.output()), (0, ""), start.describe())
            wait_until_ready(system, 12)
            end_all(system)


def test_producers():
    """A producer of each node opens the ring of each run."""
    with evbtest.Workspace() as work:
        configuration = several(work)
        expected = all_sent(work, configuration, COUNT)
        files = {}
        for node in configuration["nodes"]:
            generator = node["generators"][0]
            files[node["name"]] = work.path(f"{node['name']}.mfp")
            with open(files[node["name"]], "wb") as file:
                for blocks in expected.values():
                    file.write(b"".join(blocks[source] for source in sources_of(generator)))
            node["generators"] = [{**{key: generator[key] for key in ("name", "port", "ids")},
                                   "kind": "producer"}]
        with cluster.System(work, configuration) as system:
            system.start()
            for run in (11, 12):
                wait_until_ready(system, run)
                producers = [work.start(evbtest.program("example_producer"), f"{system.name}-{node}",
                                        "boards", path) for node, path in files.items()]
                run_to_the_end(system, run)
                for producer in producers:
                    check_equal(producer.finish().status, 0, producer.describe())
                check_run(work, system, run, expected)
            end_all(system)


def test_host_program():
    """A program with libevb-sender opens again for each run."""
    with evbtest.Workspace() as work:
        configuration = host.two_nodes(work)
        configuration["run_number"] = 11
        configuration["event_manager"].update(start="manual", runs="many")
        path, expected = host.make_file(work, "1-4", configuration["sources"]["packing"], host.EVENTS)
        with cluster.System(work, configuration) as system:
            namespace = host.kernel_node(system, "ru0", "10.77.2.10/24")
            system.start("bu0")
            for run in (11, 12):
                program = work.start(evbtest.program("example_sender"), path, system.file, "ru0",
                                     namespace=namespace)
                system.wait_for(lambda status: (status["state"], status["run"]) == ("ready", run),
                                f"bu0 is ready for run {run}")
                system.command("start")
                wait_for_events(system, run)
                check_equal(program.finish().status, 0, program.describe())
                system.wait_for(lambda status: status["run"] == run + 1, f"the end of run {run}")
                check_equal(dict(built_on(work, "bu0", run)), expected, f"events of run {run}")
            system.processes["bu0"].signal(signal.SIGTERM)
            check_equal(system.processes["bu0"].finish().status, 0, "status of bu0")


@contextlib.contextmanager
def endless(work):
    """A system in run 11, whose sources do not end it."""
    configuration = several(work)
    for node in configuration["nodes"]:
        node["generators"][0]["events"] = 0
    with cluster.System(work, configuration) as system:
        system.start()
        wait_until_ready(system, 11)
        system.command("start")
        wait_for_events(system, 11)
        yield system


def test_manager_killed():
    """In the second run: its next process, which is configured for the first one, goes on with it."""
    with evbtest.Workspace() as work, endless(work) as system:
        change(system, "stop", 12, "stop")
        system.command("start")
        wait_for_events(system, 12)
        system.processes["a"].kill()
        system.start("a")
        wait_for_events(system, 12)
        change(system, "drain", 13, "drain")
        check(built_on(work, "a", 12), "run 12 has no events of a")
        end_all(system)


SEND = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as board:
    for _ in range(5):
        board.sendto(b"a segment of some run", ("10.77.1.1", 19522))
"""


def test_data_between_runs():
    """It is dropped, and counted as that and not as a loss."""
    with evbtest.Workspace() as work:
        configuration = several(work)
        expected = all_sent(work, configuration, COUNT)
        with cluster.System(work, configuration) as system:
            namespace = host.kernel_node(system, "c", "10.77.1.99/24")
            system.start()
            wait_until_ready(system, 11)
            board = work.start("/usr/bin/python3", "-c", SEND, namespace=namespace)
            check_equal(board.finish().status, 0, board.describe())
            with telemetry.Telemetry(f"{system.name}-a") as client:
                system.wait_for(lambda _: client.query("/evb/drops")["segment_drop_outside_run"] == 5,
                                "the datagrams are dropped")
            run_to_the_end(system, 11)
            run_to_the_end(system, 12)
            end_all(system)
        first = account(work, "a", 11)
        check_equal(evbtest.drops(first), {"outside_run": 5}, "drops")
        check_equal(first["losses"], False, "losses")
        check_equal(built_in(work, system, 11), expected, "events of run 11")
        check_run(work, system, 12, expected)


def sources_of(generator):
    first, last = map(int, generator["ids"][0].split("-"))
    return range(first, last + 1)


def test_exclusion_stays():
    """Until the node is included, in a later run."""
    with evbtest.Workspace() as work, endless(work) as system:
        system.command("exclude", "c")
        system.wait_for(lambda status: status["node"]["excluded"], "c is told", "c")
        system.command("stop")
        for node in "ab":
            system.wait_for(lambda status: (status["state"], status["run"]) == ("ready", 12),
                            f"{node} is ready for run 12", node)
        system.wait_for(lambda status: status["run"] == 12 and status["node"]["excluded"],
                        "c is prepared, and excluded", "c")
        system.command("start")
        wait_for_events(system, 12)
        check_equal(system.ask("c")["node"]["grants"], 0, "grants of c")
        system.command("include", "c")
        system.wait_for(lambda status: status["state"] == "running" and
                        status["node"]["grants"] > 0, "c takes part", "c")
        system.command("stop")
        wait_until_ready(system, 13)
        end_all(system)


def test_consumer_that_holds_events():
    """The rings are replaced, as it does not give its events back in time; the next run has all."""
    with evbtest.Workspace() as work:
        configuration = several(work, events={"deadline": "30s", "drain_timeout": "1s"})
        expected = all_sent(work, configuration, COUNT)
        with cluster.System(work, configuration) as system:
            system.start()
            slow = work.start(evbtest.program("slow_consumer"), f"{system.name}-a", "slow", "100000")
            slow.wait_for_line("joined")
            wait_until_ready(system, 11)
            system.command("start")
            wait_for_events(system, 11, 30)
            change(system, "stop, with a consumer that holds events", 12, "stop")
            check("the event rings are replaced" in system.processes["a"].errors(),
                  system.processes["a"].describe())
            check_equal(slow.finish().status, 0, slow.describe())
            run_to_the_end(system, 12)
            check_run(work, system, 12, expected)
            end_all(system)


if __name__ == "__main__":
    evbtest.main()
