# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems whose nodes authenticate their control messages: with the same key, with another, with
none, and while keys are changed."""

import contextlib
import os

import chaos_forge
import evbtest
from evbtest import check, check_equal
from faults import Trial

OLD, NEW, OTHER = "1a" * 32, "2b" * 32, "3c" * 32
REFUSED = ("without_key", "with_key", "old_session", "replayed", "forged")


class Keyed(Trial):
    """Context manager: a system whose nodes have a key file each; None: no key."""

    def __init__(self, work, mode, **others):
        super().__init__(work, mode, heartbeat_timeout="2s")
        self.keys = {node: others.get(node, (OLD,)) for node in self.nodes}
        for node, keys in self.keys.items():
            if keys:
                self.give(node, *keys)

    def path(self, node):
        return self.work.path(f"{node}.key")

    def give(self, node, *keys):
        """Replaces the node's key file."""
        new = f"{self.path(node)}.new"
        with open(os.open(new, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write("# a test\n" + "\n".join(keys) + "\n")
        os.replace(new, self.path(node))

    def launch(self, node, *arguments):
        if self.keys[node]:
            arguments += ("--set", f"event_manager.key_file={self.path(node)}")
        return super().launch(node, *arguments)

    def refused(self, node):
        """{cause: frames of all others that the node has refused}"""
        control = [self.client(node).query("/evb/control/info", other)
                   for other in self.nodes if other != node]
        return {cause: sum(peer[cause] for peer in control) for cause in REFUSED}

    def told(self, node, *words):
        """Waits for a line of the log with these words."""
        process = self.processes[node]
        process.wait_until(
            lambda: any(all(word in line for word in words)
                        for line in process.errors().splitlines()), f"{node} says {words}")

    def secrets(self):
        """Nobody has written a key."""
        for process in self.processes.values():
            for key in (OLD, NEW, OTHER):
                check(key not in process.errors() + process.output(), "a key is in the log")


def test_key():
    """All is as without one, and nothing is refused."""
    with evbtest.Workspace() as work, Keyed(work, "pull") as trial:
        trial.begin()
        trial.more(100)
        refused = [trial.refused(node) for node in trial.nodes]
        verdict, _ = trial.finish()
        trial.secrets()
    verdict.check_exact()
    check_equal(refused, [dict.fromkeys(REFUSED, 0)] * len(refused), "frames refused")


def test_key_changed_while_running():
    with evbtest.Workspace() as work, Keyed(work, "push") as trial:
        trial.begin()
        for keys in ((OLD, NEW), (NEW, OLD), (NEW,)):
            for node in trial.nodes:
                before = trial.processes[node].errors().count("was read again")
                trial.give(node, *keys)
                trial.processes[node].wait_until(
                    lambda: trial.processes[node].errors().count("was read again") > before,
                    f"{node} reads its keys")
                trial.more(5)
        refused = [trial.refused(node) for node in trial.nodes]
        restarts = [trial.client(node).query("/evb/control/info", "m")["restarts"]
                    for node in trial.nodes if node != "m"]
        verdict, _ = trial.finish()
        trial.secrets()
    verdict.check_exact()
    check_equal(refused, [dict.fromkeys(REFUSED, 0)] * len(refused), "frames refused")
    check_equal(restarts, [0] * len(restarts), "sessions that began again")


def test_stranger():
    """Recorded frames, also of a process that has died, altered ones and forged ones change
    nothing: all events are built, and all nodes stay in session."""
    with evbtest.Workspace() as work, Keyed(work, "pull") as trial:
        with contextlib.closing(chaos_forge.Forger(trial, 1)) as forger:
            trial.begin()
            for part in range(2):
                for _ in range(100):
                    forger.record()
                    forger.replay(10)
                    forger.alter(10)
                    forger.control(10)
                trial.more()
                if part == 0:
                    trial.kill("b1")
                    trial.back("b1")
            lost = [trial.client("m").query("/evb/control/info", node)["lost"]
                    for node in ("r0", "r1", "b0")]
            refused = trial.refused("m")
            verdict, _ = trial.finish()
    check_equal(dict(verdict.incomplete), {}, "incomplete events")
    check_equal(lost, [0, 0, 0], "times that a node was lost")
    check(all(refused[cause] > 0 for cause in REFUSED if cause != "with_key"), f"{refused}")


def test_another_version():
    """Frames of another version of the protocol change nothing, and the log says whose they are."""
    with evbtest.Workspace() as work, Trial(work, "pull") as trial:
        with contextlib.closing(chaos_forge.Forger(trial, 1)) as forger:
            trial.begin()
            for _ in range(3):
                forger.version("r1", "m")
            trial.until(lambda: trial.client("m").query("/evb/control/info", "r1")["other_version"] == 3,
                        "the frames are counted")
            process = trial.processes["m"]
            process.wait_until(lambda: "node r1: it speaks another version of the control protocol"
                               in process.errors(), "m names the node")
            trial.more()
            verdict, _ = trial.finish()
    verdict.check_exact()


def wrong_node(keys, here, there):
    """r1 is refused, both sides say so, and it takes part as soon as it has the key."""
    with evbtest.Workspace() as work, Keyed(work, "push", r1=keys) as trial:
        trial.start()
        trial.told("r1", "node m: ", here, "event_manager.key_file")
        trial.told("m", "node r1: ", there, "event_manager.key_file")
        check(not trial.member("r1")["registered"], "r1 has been accepted")
        if keys:
            trial.give("r1", OLD)
        else:
            trial.kill("r1")
            trial.keys["r1"] = (OLD,)
            trial.give("r1", OLD)
            trial.start("r1")
        trial.until(lambda: trial.member("r1")["registered"], "r1 is accepted")
        trial.secrets()


def test_another_key():
    wrong_node((OTHER,), "another key", "another key")


def test_no_key():
    wrong_node(None, "sends with a key", "sends without a key")


def test_key_file_is_spoilt():
    """A run goes on with the keys that it has; another does not start with such a file."""
    with evbtest.Workspace() as work, Keyed(work, "push") as trial:
        trial.begin()
        trial.give("r1", OLD + "0")
        trial.told("r1", "event_manager.key_file: ", "line 2 is no key",
                   "the keys stay as they were")
        trial.more()
        trial.kill("r1")
        process = trial.launch("r1")
        process.finish()
        check_equal(process.status, 1, process.describe())
        check("line 2 is no key" in process.errors(), process.describe())
        trial.give("r1", OLD)
        os.chmod(trial.path("r1"), 0o644)
        told = work.evb("host", "check", trial.file, "--node", "r1", "--set",
                        f"event_manager.key_file={trial.path('r1')}")
        check("fail  keys" in told.output() and "chmod 600" in told.output(), told.describe())
        trial.secrets()


def test_without_a_key_it_is_said():
    with evbtest.Workspace() as work, Trial(work, "push") as trial:
        trial.start("m")
        trial.processes["m"].wait_until(
            lambda: "control messages are not authenticated" in trial.processes["m"].errors(),
            "the warning")


if __name__ == "__main__":
    evbtest.main()
