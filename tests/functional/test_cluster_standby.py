# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Two nodes can be the event manager: the one in office is stopped or killed, and the other takes
over. No event is lost, and none is published twice unless consumers are told so.

EVB_LONG_TESTS, and in CI: more take-overs."""

import dataclasses

import chaos_standby
import evbtest
import faults
from evbtest import check, check_equal


@dataclasses.dataclass
class Layout(faults.Layout):
    """Builder b1 can manage, too."""

    def configuration(self, name):
        result = super().configuration(name)
        for node in result["nodes"]:
            if node["name"] == "b1":
                node["manager"] = True
        return result


class Standby(faults.Trial):
    """Context manager; asks the node that was seen in office last."""

    layout_of = Layout

    def start(self, *nodes, arguments=()):
        """The others elect m while b1 is not there."""
        super().start(*(nodes or (node for node in self.nodes if node != "b1")),
                      arguments=arguments)
        if not nodes:
            self.until(lambda: self.own("m", "manager") == "m", "m is in office")
            super().start("b1", arguments=arguments)
            self.until_in_office("m")

    def until_in_office(self, node):
        self.until(lambda: self.own(node, "manager") == node, f"{node} is in office")
        self.until(lambda: "system" in self.state(node), f"{node} manages")
        self.manager = node

    def sched(self):
        return self.client(self.manager).query("/evb/sched/info", self.manager)


def test_manager_stopped_and_killed():
    """m is stopped, and is no manager any more when it goes on; then b1 dies, with its builder."""
    with evbtest.Workspace() as work, Standby(work, "push", heartbeat_timeout="1s") as trial:
        trial.begin()
        with trial.stopped("m"):
            trial.until_in_office("b1")
            trial.more()
        trial.until(lambda: trial.own("m", "manager") == "b1" and trial.own("m", "registered"),
                    "m follows b1")
        check("system" not in trial.state("m"), "m and b1 are in office")
        trial.processes["m"].wait_until(
            lambda: "node b1 is the event manager in office" in trial.processes["m"].errors(),
            "the log of m names b1")
        life = trial.life("b1")
        trial.kill("b1")
        trial.until_in_office("m")
        trial.back("b1")
        trial.until(lambda: len(trial.life("b1").events()) >= 20, "20 events on b1")
        verdict, _ = trial.finish()
    check_equal(dict(verdict.incomplete), {}, "incomplete events")
    check(verdict.twice <= set(life.events()), f"events published twice: {verdict.twice}")
    check(verdict.twice <= verdict.flagged, f"{verdict.twice} twice, {verdict.flagged} flagged")


def test_take_overs():
    """The manager in office is killed, stopped and cut off; three can be it. How long a take-over
    takes depends on the load of the machine, and is judged by `./dev chaos --standby`."""
    wrong = chaos_standby.run(30 if evbtest.LONG else 6, seed=3, timeout=1.0, within=None)
    check(not wrong, "\n".join(wrong))


def test_terms_are_judged():
    """Two in office, and an epoch that does not grow, are found in logs."""
    came = "evb: node {} is the event manager in office since 2026-07-01T12:00:{:09.6f}Z, epoch {}"
    left = "evb: this node was the event manager in office from 2026-07-01T12:00:{:09.6f}Z to " \
           "2026-07-01T12:00:{:09.6f}Z, epoch {}"

    def judged(*logs):
        return chaos_standby.judge_terms(
            [term for node, *lines in logs for term in chaos_standby.terms_of(node, "\n".join(lines))])

    ended = came.format("a", 1, 10), left.format(1, 5, 10)
    check_equal(judged(("a", *ended), ("b", came.format("a", 1.01, 10), came.format("b", 5.1, 21))), [],
                "one after the other")
    check_equal(judged(("a", *reversed(ended)), ("b", came.format("b", 5.1, 21))), [], "a short term")
    check_equal(len(judged(("a", *ended), ("b", came.format("b", 4.9, 21)))), 1, "before the end")
    check_equal(len(judged(("a", ended[0]), ("b", came.format("b", 5.1, 21)))), 1, "without an end")
    check_equal(len(judged(("a", *ended), ("b", came.format("b", 5.1, 10)))), 1, "the same epoch")


if __name__ == "__main__":
    evbtest.main()
