# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A system whose network loses, doubles and reorders control frames, cuts nodes off, or pauses a
port, and one with a slow builder: each event is published once, and none is lost."""

import socket
import struct
import threading

import evbtest
from evbtest import check, check_equal
from faults import Trial


# --- control frames ------------------------------------------------------------------------------


def control_disturbed(mode):
    """One of 20 control frames is lost, then others come twice or late; data does not, so nothing
    is missing."""
    with evbtest.Workspace() as work, Trial(work, mode, injected=True,
                                            heartbeat_timeout="5s") as trial:
        trial.injector.lose(0.05)
        trial.begin()
        trial.more(200)
        counts = trial.injector.counts()
        check(0.03 < counts["lost"] / counts["control"] < 0.07, f"control frames: {counts}")
        trial.injector.lose(0)
        trial.injector.double(0.2)
        trial.injector.delay(0.2, 5000)
        trial.more(200)
        # Nodes that wait for their CPU have more to say in each of fewer frames.
        trial.until(lambda: min(map(trial.injector.counts().get, ("doubled", "overtaken"))) > 100,
                    "100 control frames twice and 100 late")
        counts = trial.injector.counts()
        verdict, summaries = trial.finish()
    check_untouched(verdict, summaries, counts)


def check_untouched(verdict, summaries, counts):
    """The injector passed all that it was not told to touch, and the system took no harm."""
    check_equal((counts["unsent"], counts["missed"]), (0, 0), "frames that the injector lost")
    check(counts["other"] > 0, "no data has come through the injector")
    verdict.check_exact()
    for node, summary in summaries.items():
        check_equal(evbtest.drops(summary), {}, f"drops of {node}")
        check_equal(summary["losses"], False, f"losses of {node}")


def test_control_disturbed_push():
    control_disturbed("push")


def test_control_disturbed_pull():
    control_disturbed("pull")


# --- partitions ----------------------------------------------------------------------------------


def cut_off(trial, node, *sides, noticed):
    """Until it is noticed. Returns what the injector has counted."""
    trial.injector.cut(node, *sides)
    trial.until(noticed, f"{node}'s silence is noticed")
    return trial.injector.join(node)


def builder_cut_off(mode):
    """Its unfinished events, whose data is lost on the way to it, are built by the other. It was
    permitted to publish them, and nobody knows that it has not: they are flagged."""
    # b1 may publish without the manager until heartbeat_timeout after the cut. If it gave up r0's
    # data before that, it would publish incomplete events: in_doubt_timeout is longer than both the
    # time for which r0 is stopped and this one.
    with evbtest.Workspace() as work, Trial(work, mode, injected=True,
                                            heartbeat_timeout="1500ms",
                                            in_doubt_timeout="8s") as trial:
        trial.begin()
        # Once r0 counts as silent, grants go on without it, and wait for its data.
        with trial.stopped("r0"):
            trial.until_granted("b1", 4)
            trial.until(lambda: nothing_in_doubt(trial), "b1 has said what it has published")
            trial.injector.cut("b1")
        counts = cut_off(trial, "b1", noticed=lambda: (
            trial.sched()["nodes_excluded"] == 1 and trial.sched()["regrants"] >= 4))
        check(counts["cut"] > 0, f"nothing was cut off: {counts}")
        events = len(trial.life("b1").events())
        trial.until(lambda: len(trial.life("b1").events()) >= events + 20, "b1 builds again")
        regrants = trial.sched()["regrants"]
        verdict, _ = trial.finish()
    check_equal(dict(verdict.incomplete), {}, "incomplete events")
    check_equal(verdict.twice, set(), "events published twice")
    check(4 <= len(verdict.flagged) <= regrants, f"{regrants} regrants, flagged: {verdict.flagged}")


def nothing_in_doubt(trial):
    """All that builders have built they have published, and the event manager knows."""
    own = [trial.state(node)["node"] for node in trial.builders]
    return (all(one["built"] == one["published"] for one in own) and
            trial.sched()["events_complete"] == sum(one["published"] for one in own))


def test_builder_cut_off_push():
    builder_cut_off("push")


def test_builder_cut_off_pull():
    builder_cut_off("pull")


def builder_cut_off_in_doubt(mode):
    """It may publish, and cannot report: these events wait for it."""
    with evbtest.Workspace() as work, Trial(work, mode, injected=True, heartbeat_timeout="2s",
                                            in_doubt_timeout="30s") as trial:
        trial.begin()
        # Without credits it gets no grant after the cut, whose data would be lost.
        with trial.stopped_while_it_builds("b1", 4):
            trial.until(lambda: trial.credits()["b1"]["free"] == 0, "b1 has no credits")
            trial.until_polled("m")
            trial.stop_process("m")
            trial.injector.cut("m", "to")
            before = len(trial.life("b1").events())
        trial.until(lambda: len(trial.life("b1").events()) + trial.held("b1") >= before + 4,
                    "b1 has built what it was granted")
        trial.injector.cut("b1")
        trial.injector.join("m")
        trial.continue_process("m")
        cut_off(trial, "b1", noticed=lambda: trial.sched()["builders_in_doubt"] == 1)
        events = len(trial.life("b1").events())
        trial.until(lambda: len(trial.life("b1").events()) >= events + 20, "b1 builds again")
        check_equal(trial.sched()["nodes_excluded"], 0, "nodes excluded for their silence")
        trial.more()
        verdict, _ = trial.finish()
    verdict.check_exact()


def test_builder_cut_off_in_doubt_push():
    builder_cut_off_in_doubt("push")


def test_builder_cut_off_in_doubt_pull():
    builder_cut_off_in_doubt("pull")


def manager_cut_off(mode):
    """All wait for it and go on."""
    with evbtest.Workspace() as work, Trial(work, mode, injected=True,
                                            heartbeat_timeout="1s") as trial:
        trial.begin()
        epoch = trial.injector.epoch("m")
        counts = cut_off(trial, "m", noticed=lambda: all(
            trial.member(node)["lost"] for node in trial.readouts + trial.builders))
        check(counts["cut"] > 0, f"nothing was cut off: {counts}")
        trial.more()
        check_equal(trial.injector.epoch("b0"), epoch, "epoch")
        verdict, _ = trial.finish()
    verdict.check_exact()


def test_manager_cut_off_push():
    manager_cut_off("push")


def test_manager_cut_off_pull():
    manager_cut_off("pull")


def test_builder_deaf():
    """It is heard and hears nothing, grants no more than data: what was meant for it meanwhile is
    incomplete, unless it was granted again."""
    with evbtest.Workspace() as work, Trial(work, "push", injected=True, deadline="1s",
                                            heartbeat_timeout="1s") as trial:
        trial.begin()
        # It hears nothing for the heartbeat timeout, which is as long as the deadline of events.
        counts = cut_off(trial, "b1", "to", noticed=lambda: (
            trial.credits()["b1"]["granted"] >= 4 and
            trial.client("b1").query("/evb/control/info", "m")["lost"] > 0))
        check(counts["cut"] > 0, f"nothing was cut off: {counts}")
        events = len(trial.life("b1").events())
        trial.until(lambda: len(trial.life("b1").events()) >= events + 60, "b1 builds again")
        trial.more()
        verdict, _ = trial.finish()
    check_equal(verdict.twice, set(), "events published twice")
    others = {event: sources for event, sources in verdict.incomplete.items()
              if verdict.lives[event][0].node != "b1"}
    check_equal(others, {}, "incomplete events of others")


def test_source_cut_off():
    """Its data is lost on its way, or comes too late: events are incomplete, and none is lost."""
    with evbtest.Workspace() as work, Trial(work, "push", injected=True, deadline="300ms",
                                            heartbeat_timeout="1s") as trial:
        trial.begin()
        counts = cut_off(trial, "r1", noticed=lambda: trial.member("r1")["lost"])
        check(counts["cut"] > 0, f"nothing was cut off: {counts}")
        trial.until(lambda: not trial.member("r1")["lost"], "r1 is back")
        incomplete = trial.settled()
        trial.more()
        check_equal(trial.sched()["events_incomplete"], incomplete,
                    "incomplete events after the source was back")
        verdict, _ = trial.finish()
    check_equal(verdict.twice, set(), "events published twice")
    check(all(sources == {2} for sources in verdict.incomplete.values()),
          f"missing sources: {dict(verdict.incomplete)}")
    check_equal(len(verdict.incomplete), incomplete, "incomplete events")


# --- builders and ports that are slow ------------------------------------------------------------


def builder_slow(mode):
    """Its consumer takes 10 events a second, the other's all that come."""
    with evbtest.Workspace() as work, Trial(work, mode, microseconds={"b0": 100_000},
                                            heartbeat_timeout="5s") as trial:
        trial.begin()
        trial.until(lambda: trial.credits()["b0"]["free"] <= 2, "b0 has hardly a free slot")
        before = trial.credits()
        trial.more(150)
        after = trial.credits()
        grants = {node: after[node]["grants"] - before[node]["grants"] for node in trial.builders}
        check(0 < grants["b0"] < grants["b1"] / 5, f"grants: {grants}")
        verdict, _ = trial.finish()
    verdict.check_exact()


def test_builder_slow_push():
    builder_slow("push")


def test_builder_slow_pull():
    builder_slow("pull")


PRIORITY = 3  # of data
PAUSED_NS = 500e6  # of more than one pause frame


class Pause:
    """Context manager: the bridge's end of a node's wire pauses the data's priority, as a switch
    does: XOFF for as long as it lasts, then XON."""

    def __init__(self, bridge, node):
        self._socket = bridge.bridge.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.bind((bridge.port(node), 0))
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _send(self, quanta):
        times = [quanta if priority == PRIORITY else 0 for priority in range(8)]
        frame = bytes.fromhex("0180c2000001 020000000001 8808 0101")
        self._socket.send((frame + struct.pack("!9H", 1 << PRIORITY, *times)).ljust(60, b"\0"))

    def _run(self):
        while not self._over.wait(0.005):
            self._send(0xFFFF)  # 0.3 s at 100 Mbit/s

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self._send(0)
        self._socket.close()


def port_paused(mode):
    """A source's port is paused: its data waits, control does not, nothing is lost."""
    with evbtest.Workspace() as work, Trial(work, mode, obedient=True,
                                            heartbeat_timeout="5s") as trial:
        trial.begin()
        before = trial.readout("r0")["held_pause"]
        with Pause(trial.bridge, "r0"):
            trial.until(lambda: trial.sched()["events_outstanding"] >= 10, "events wait for r0")
            trial.until(lambda: trial.pfc("r0")["paused_ns"] > PAUSED_NS, "r0 has paused")
        check_equal(before, 0, "polls held by a pause before it")
        trial.more(100)
        check(trial.readout("r0")["held_pause"] > 0, "r0 has held nothing")
        check(trial.pfc("r0")["xoff_received"] > 0, f"pauses of r0: {trial.pfc('r0')}")
        check_equal(trial.sched()["nodes_excluded"], 0, "nodes excluded for their silence")
        verdict, _ = trial.finish()
    verdict.check_exact()


def test_port_paused_push():
    port_paused("push")


def test_port_paused_pull():
    port_paused("pull")


if __name__ == "__main__":
    evbtest.main()
