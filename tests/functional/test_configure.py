# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Another configuration between two runs of the same processes (`evb ctl configure`): all nodes take
it, or none."""

import copy

import appliance
import cluster
import evbtest
from evbtest import check, check_equal
from test_cluster import all_sent, check_refused
from test_runs import (COUNT, account, check_run, end_all, run_to_the_end, several, wait_for_events,
                       wait_until_ready)

PUSHED, PULLED = 300, 200  # events of each source in the runs of the second and third file
# Launches a node; node b sees nothing of the folder.
HIDDEN_FROM_B = 'case "$*" in *"--node b "*) mount -t tmpfs none "$0";; esac; exec "$@"'


def with_generators(configuration, **keys):
    changed = copy.deepcopy(configuration)
    for node in changed["nodes"]:
        node["generators"][0].update(copy.deepcopy(keys))
    return changed


class Changed:
    """A system, and the files that it takes one after the other. hidden: a folder that node b does
    not see."""

    def __init__(self, work, system, hidden):
        self.work, self.system, self.hidden = work, system, hidden
        self.files = 0

    def write(self, configuration, hidden=False):
        self.files += 1
        name = f"file{self.files}.json"
        return self.work.write(f"hidden/{name}" if hidden else name, cluster.frugal(configuration))

    def configure(self, configuration, run):
        """All nodes are prepared with it for the run. Returns the file."""
        file = self.write(configuration)
        self.system.command("configure", file)
        for process in self.system.processes.values():
            process.wait_until(lambda process=process: f"the next run is that of {file}"
                               in process.errors(), f"it takes {file}")
        wait_until_ready(self.system, run)
        return file

    def refuse(self, file, why):
        check_refused(self.system, ("configure", file), why)
        for process in self.system.processes.values():
            check(f"the next run is that of {file}" not in process.errors(), process.describe())


def check_wrong_files(changed, configuration):
    """Nobody takes them: each is refused with the node and the key, or what else is wrong."""
    at_b, at_all, nodes = (copy.deepcopy(configuration) for _ in range(3))
    at_b["nodes"][1]["ports"][0]["mtu"] = 1400
    at_all["sources"]["packing"] += 1
    del nodes["nodes"][2]
    nodes["sources"]["ids"] = [ids for node in nodes["nodes"]
                               for ids in node["generators"][0]["ids"]]
    restart = "cannot change between two runs: start the nodes again"
    for wrong, why in (
            (at_b, f": ports[0].mtu: {restart}"), (at_all, f": sources.packing: {restart}"),
            (nodes, f": sources.ids: {restart}"),
            (with_generators(configuration, size={"law": "fixed", "mean": 60000}, variants=1024),
             ": generators: they need "),
            (appliance.merged(configuration, {"event_manager": {"policy": "fair"}}),
             "event_manager.policy: ")):
        changed.refuse(changed.write(wrong), why)
    check("node b: " in changed.system.ctl("configure", changed.write(at_b)).errors(), "node b")
    changed.refuse(changed.write(with_generators(configuration, seed=9), hidden=True),
                   "cannot be opened: No such file or directory")
    changed.refuse(changed.work.path("missing.json"), "cannot be opened")
    changed.refuse(changed.work.path("x" * 300), "has more than 255 characters")


def check_stranger(system, node):
    """A process of the node that has the file of before is refused."""
    refused = system.launch(node)
    check_equal(refused.finish().status, 1, refused.describe())
    check("its configuration is not the manager's" in refused.errors(), refused.describe())


def test_three_configurations():
    """Runs 11, 12 and 13 have one each, and are exact; wrong files between them change nothing. Node b
    dies behind run 12: its next process needs the file of the others."""
    with evbtest.Workspace() as work:
        hidden = work.folder("hidden")
        first = several(work)
        second = with_generators(
            appliance.merged(first, {"events": {"deadline": "20s"}, "event_manager": {
                "policy": "occupancy", "shaping": "none", "credits": 4, "heartbeat": "10ms"}}),
            size={"law": "fixed", "mean": 60, "sigma": 0, "maximum": 60}, events=PUSHED, rate=200)
        third = with_generators(appliance.merged(first, {"event_manager": {"mode": "pull"}}),
                                events=PULLED, rate=150)
        expected = {11: all_sent(work, first, COUNT), 12: all_sent(work, second, PUSHED),
                    13: all_sent(work, third, PULLED)}
        with cluster.System(work, first, launcher=("unshare", "-m", "sh", "-c", HIDDEN_FROM_B,
                                                   hidden)) as system:
            system.start()
            changed = Changed(work, system, hidden)
            wait_until_ready(system, 11)
            system.command("configure", system.file)  # changes nothing
            check_wrong_files(changed, first)
            system.command("start")
            wait_for_events(system, 11)
            changed.refuse(changed.write(second), "the system is not ready for another run")
            wait_until_ready(system, 12)
            taken = changed.configure(second, 12)
            run_to_the_end(system, 12)
            system.processes["b"].kill()
            check_stranger(system, "b")
            system.file = taken
            system.start("b")
            wait_until_ready(system, 13)
            changed.configure(third, 13)
            run_to_the_end(system, 13)
            for run, events in expected.items():
                check_run(work, system, run, events)
            check_equal(account(work, "a", 12)["events"]["incomplete"], 0, "incomplete events")
            end_all(system)


def test_node_away():
    """A node that is not there keeps the others from another file, unless it is excluded."""
    with evbtest.Workspace() as work:
        first = several(work)
        second = with_generators(first, events=PUSHED)
        with cluster.System(work, first) as system:
            system.start()
            changed = Changed(work, system, None)
            wait_until_ready(system, 11)
            system.processes["c"].kill()
            system.wait_for(lambda status: any(node["lost"] for node in status["system"]["nodes"]),
                            "c is away")
            changed.refuse(changed.write(second), "not all nodes are there: start them, or exclude them")
            check_refused(system, ("configure", system.file), "not the event manager", node="b")
            for process in system.processes.values():
                process.kill()


def elected(work):
    """Two of three nodes can be the manager. Neither takes over because the other one waits for the CPU."""
    configuration = several(work)
    configuration["nodes"][1]["manager"] = True
    configuration["event_manager"]["heartbeat_timeout"] = "2s"
    return configuration


def test_elected():
    """The manager is elected: all nodes take another file, whoever is in office. A file that a node
    refuses is forgotten by the others: a process that has it changes nothing. A node that was not
    there is refused with the file of before."""
    with evbtest.Workspace() as work:
        first = elected(work)
        second = with_generators(first, events=PUSHED, rate=200)
        third = with_generators(appliance.merged(first, {"event_manager": {"mode": "pull"}}),
                                events=PULLED, rate=150)
        expected = {11: all_sent(work, second, PUSHED), 12: all_sent(work, third, PULLED)}
        hidden = work.folder("hidden")
        with cluster.System(work, first, launcher=("unshare", "-m", "sh", "-c", HIDDEN_FROM_B,
                                                   hidden)) as system:
            system.start()
            changed = Changed(work, system, hidden)
            wait_until_ready(system, 11)
            changed.refuse(changed.write(with_generators(first, seed=9), hidden=True),
                           "cannot be opened: No such file or directory")
            taken = changed.configure(second, 11)
            run_to_the_end(system, 11)
            system.processes["a"].kill()
            system.nodes.remove("a")
            wait_until_ready(system, 12)
            system.wait_for(lambda status: "system" in status, "b is in office", "b")
            check_stranger(system, "a")
            system.nodes.insert(0, "a")
            system.file = taken
            system.start("a")
            wait_until_ready(system, 12)
            changed.configure(third, 12)
            run_to_the_end(system, 12)
            for run, events in expected.items():
                check_run(work, system, run, events)
            end_all(system)


def killed_in_the_change(system, file, node):
    """The manager's process dies in the change to a file: when this node has begun to use it. Returns the
    file of the two that remain."""
    begun = f"the next run is that of {file}"
    with system.launch_ctl("configure", file) as command:
        while begun not in system.processes[node].errors():
            check(command.running() or command.status == 0, command.describe())
        system.processes["a"].kill()
    system.nodes.remove("a")
    # A manager registers nodes with its own file only.
    system.wait_for(lambda status: "system" in status and all(
        node["registered"] and not node["lost"] for node in status["system"]["nodes"][1:]),
        "b is in office, for itself and c", "b")
    have = [begun in system.processes[other].errors() for other in ("b", "c")]
    check(have[0] == have[1], f"who has the file of b and c: {have}")
    check(node != "b" or have[0], "b and c have gone back to the file of before")
    return file if have[0] else system.file


def test_manager_dies_in_the_change():
    """The others have one file, whichever; the next process of the manager's node takes part with it, and
    the run is exact."""
    for node in ("a", "b"):
        with evbtest.Workspace() as work:
            first = elected(work)
            second = with_generators(first, events=PUSHED, rate=200)
            with cluster.System(work, first) as system:
                system.start()
                wait_until_ready(system, 11)
                files = {system.file: (first, COUNT)}
                new = Changed(work, system, None).write(second)
                files[new] = (second, PUSHED)
                system.file = killed_in_the_change(system, new, node)
                system.nodes.insert(0, "a")
                system.start("a")
                wait_until_ready(system, 11)
                run_to_the_end(system, 11)
                check_run(work, system, 11, all_sent(work, *files[system.file]))
                end_all(system)


def test_fixed():
    """One run."""
    with evbtest.Workspace() as work:
        one = several(work)
        one["event_manager"]["runs"] = "one"
        with cluster.System(work, one) as system:
            system.start()
            check_refused(system, ("configure", system.file), "event_manager.runs many is needed",
                          node="a")
            for process in system.processes.values():
                process.kill()


if __name__ == "__main__":
    evbtest.main()
