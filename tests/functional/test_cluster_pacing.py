# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What shaping, pacing, pauses and credits do to a system behind narrow links. Outcomes, not rates:
those are for `./dev bench incast suspend`."""

import signal
import threading
import time

import bottleneck
import evbtest
from bottleneck import Direct, Farm, Layout
from evbtest import check, check_equal

EVENTS = 60
PATIENCE_S = 180


def manager(mode="push", shaping="linear-shift", **more):
    return {"mode": mode, "shaping": shaping, "parallel_sends": 8, "heartbeat_timeout": "10s",
            **more}


def check_nothing_lost(summaries, events=None):
    for node, summary in summaries.items():
        evbtest.check_identities(summary)
        check_equal(bottleneck.losses(summary), 0, f"losses of {node}")
    if events is not None:
        check_equal(sum(summary["events"]["complete"] for summary in summaries.values()), events,
                    "complete events")


# --- incast ------------------------------------------------------------------------------------


def to_the_end(layout):
    """Runs until the sources have ended; returns the summaries and what the links dropped. A node that
    gets no CPU sends late, and beside another one: the queue holds less than that."""
    with bottleneck.ahead_of_others(), evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        summaries = farm.end(PATIENCE_S)
        return summaries, sum(farm.link(node)["drops"] for node in farm.builders)


def check_shaped(layout):
    summaries, drops = to_the_end(layout)
    check_equal(drops, 0, "packets that the narrow links dropped")
    check_nothing_lost(summaries, layout.events)


def test_incast_unshaped_loses():
    """Events that are four times as large as the queue: none gets through whole."""
    layout = Layout(events=EVENTS // 4, changes={"event_manager": manager(shaping="none")})
    summaries, drops = to_the_end(layout)
    check(drops > 0, "the narrow link has dropped nothing")
    check_equal(summaries["b0"]["events"]["complete"], 0, "complete events")
    check_equal(summaries["b0"]["packets"]["missed"], 0, "packets missed by the builder's port")


def test_incast_push():
    check_shaped(Layout(events=EVENTS, changes={"events": {"deadline": "30s"},
                                                "event_manager": manager()}))


def test_incast_pull():
    check_shaped(Layout(events=EVENTS, changes={"events": {"deadline": "30s"},
                                                "event_manager": manager("pull")}))


def test_incast_several_builders():
    """Sources go faster where they have something for several builders, and still no link gets more
    than it takes."""
    check_shaped(Layout(builders=3, events=2 * EVENTS,
                        changes={"events": {"deadline": "30s"}, "event_manager": manager()}))


def test_rate_of_grants():
    """Grants follow each other at the link's rate, headers counted, whichever of the node's builders
    they are for: no more than their share of the link is ever in use, and what waits, waits in the
    sources."""
    layout = Layout(events=0, packing=50, per_node=3,
                    changes={"events": {"deadline": "30s"},
                             "event_manager": manager(target_utilisation=0.5)})
    with evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.wait_for_events(5)
        before = farm.sample()
        farm.wait_for_events(40)
        rates = bottleneck.rates(before, farm.sample(), layout)
        [one] = farm.credits().values()
        check_nothing_lost(farm.stop())
    # What grants saved up while the manager was late is at most an event and 5 ms.
    check(rates["wire_share"] < 0.5 * 1.1, f"{rates}")
    check_equal(one["rate_bytes"], layout.link / 8 / 2, "rate of grants")
    check(abs(one["event_bytes"] / layout.event.wire - 1) < 0.01,
          f"an event takes {layout.event.wire} bytes, the manager says {one['event_bytes']}")


def test_timed_shift():
    """Nodes send by the manager's clock, and events go on in their next window."""
    windows = {"send_window": "4ms", "idle_window": "2ms"}
    layout = Layout(readouts=3, builders=2, changes={
        "events": {"deadline": "30s"}, "event_manager": manager(shaping="timed-shift", **windows)})
    with evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.wait_for_events(40)
        clocks = [farm.client(node).query("/evb/control/info", node)["clock_error_ns"]
                  for node in farm.readouts]
        readouts = [farm.readout(node) for node in farm.readouts]
        builders = [farm.client(node).query("/evb/builder/info", "b") for node in farm.builders]
        summaries = farm.stop()
    check_nothing_lost(summaries)
    check(all(0 < error < 6e6 for error in clocks), f"errors of clocks: {clocks}")
    # The window of a link of 25 Mb/s is shorter than a block of 20 kB.
    for one in readouts:
        check(one["held_window"] > 0 and one["interrupted"] > one["events"], f"{one}")
    for one in builders:
        check(one["windows"] > 3 * 20, f"{one}")


def check_barrier(distance):
    layout = Layout(readouts=3, builders=3, changes={
        "events": {"deadline": "30s"}, "event_manager": manager(phase_barrier=distance)})
    with bottleneck.ahead_of_others(), evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.wait_for_events(60)
        readouts = [farm.readout(node) for node in farm.readouts]
        summaries = farm.stop()
    check_nothing_lost(summaries)
    check(any(one["held_phase"] > 0 for one in readouts), f"nobody waited: {readouts}")
    check_equal([one["phase_timeouts"] for one in readouts], [0, 0, 0], "barriers that stayed closed")


def test_full_phase_barrier():
    """Nodes wait for each other after each event that they send, and none of them for ever."""
    check_barrier(1)


def test_partial_phase_barrier():
    check_barrier(2)


def test_phase_barrier_without_a_node():
    """A node that stands still holds the others up for no longer than heartbeat_timeout, and the
    barrier counts it again when it is back."""
    layout = Layout(readouts=3, builders=3, changes={
        "events": {"deadline": "2s"},
        "event_manager": manager(phase_barrier=1, heartbeat_timeout="1s")})
    with bottleneck.ahead_of_others(), evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.wait_for_events(30)
        stopped, *others = farm.readouts
        farm.processes[stopped].signal(signal.SIGSTOP)
        farm.wait_for_events(60)
        during = {node: farm.readout(node) for node in others}
        farm.processes[stopped].signal(signal.SIGCONT)
        before = farm.readout(stopped)["events"]
        farm.processes["m"].wait_until(lambda: farm.readout(stopped)["events"] > before + 60,
                                       "events of the node that was stopped")
        after = {node: farm.readout(node) for node in others}
        summaries = farm.stop()
    for summary in summaries.values():
        evbtest.check_identities(summary)
    for node in others:
        check(during[node]["phase_timeouts"] <= 1, f"{node} waited more than once: {during[node]}")
        check(after[node]["held_phase"] > during[node]["held_phase"],
              f"{node} does not wait for the others any more: {after[node]}")


# --- pauses ------------------------------------------------------------------------------------


def grants(farm):
    return {node: one["grants"] for node, one in farm.credits().items()}


def test_paused_builder():
    """A builder whose slots fill pauses its port; it gets no grants until it goes on, the others
    get its share, and nothing is lost."""
    layout = Layout(readouts=4, builders=3, packing=20, slots=64, consumed=True, pfc=True, rate=500,
                    changes={"events": {"deadline": "30s"}, "event_manager": manager()})
    # A consumer that gets no CPU makes its builder pause, too.
    with bottleneck.ahead_of_others(), evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        with bottleneck.consumers(work, farm, evbtest.program("slow_consumer"), 0) as consumers:
            farm.wait_for_events(60)
            consumers["b0"].signal(signal.SIGSTOP)
            evbtest.wait_until(lambda: farm.credits()["b0"]["paused"], "b0 is paused")
            check_equal(farm.pfc("b0")["pausing"], 1, "b0 holds its link partner")
            check(farm.credits()["b0"]["free"] > 0, "b0 has no credits: nothing is shown")
            before = grants(farm)
            evbtest.wait_until(lambda: grants(farm)["b1"] >= before["b1"] + 100, "100 events more on b1")
            after = grants(farm)
            check_equal(after["b0"], before["b0"], "grants of b0 while it pauses")
            check(after["b2"] > before["b2"] + 50, f"grants of b2: {before}, {after}")
            check_equal(farm.sched()["pauses"], 1, "pauses of all")
            consumers["b0"].signal(signal.SIGCONT)
            evbtest.wait_until(lambda: grants(farm)["b0"] >= after["b0"] + 50, "50 events more on b0")
            check_equal(farm.pfc("b0")["pausing"], 0, "b0 holds its link partner")
            check(farm.pfc("b0")["xon_sent"] > 0, "b0 has sent no XON")
            check_equal((farm.pfc("b1")["xoff_sent"], farm.pfc("b2")["xoff_sent"]), (0, 0),
                        "pauses of b1 and b2")
            pfc = farm.pfc("b0")
            check_equal([key for key in pfc if key.startswith("priority_")], ["priority_3"],
                        "priorities that are told of")
            check_equal(pfc["priority_3"]["xon_sent"], pfc["xon_sent"], "XON of priority 3")
            summaries = farm.stop()
    check_nothing_lost(summaries)


def direct(pfc):
    """A node sends 2.5 times what the other one takes: 200 multi-event packets per second. Returns the
    summaries, and what the sending node's readout and flow control have counted. A faster sender
    overruns the port of a receiver that the kernel keeps waiting, whatever the receiver asks for; and a
    receiver that gets no CPU cannot ask again before a pause ends, which lasts 33 ms on this link."""
    least = 400 if pfc else 50  # complete events; few are where most lose a segment

    def has_shown():
        summary = system.query("b", "/evb/summary")
        if summary["events_complete"] <= least:
            return False
        # A consumer that gets little CPU time makes the first pause last longer than all these events.
        if pfc:
            return system.query("a", "/evb/pfc/info", "wire")["xon_received"] > 0
        return summary["loss_total"] > 0

    with (bottleneck.ahead_of_others(), evbtest.Workspace() as work,
          Direct(work, pfc, rate=25000) as system):
        system.start()
        consumer = bottleneck.consumer(work, system, "b", evbtest.program("slow_consumer"), 5000)
        system.processes["b"].wait_until(
            has_shown, f"{least} events and " + ("the end of a pause" if pfc else "losses"))
        readout = system.query("a", "/evb/readout/info", "boards")
        flow = system.query("a", "/evb/pfc/info", "wire") if pfc else {}
        summaries = {}
        for node in ("a", "b"):
            system.processes[node].stop()
            summaries[node] = system.processes[node].summary()
        consumer.finish()
    return summaries, readout, flow


def test_readout_holds_a_paused_priority():
    """Without grants, pause frames are all that keeps a sender from drowning a receiver: they do,
    without a loss."""
    summaries, readout, flow = direct(True)
    check(flow["xoff_received"] > 0 and flow["xon_received"] > 0 and flow["paused_ns"] > 0,
          f"pauses of the sender: {flow}")
    check(readout["held_pause"] > 0, f"nothing was held: {readout}")
    check_nothing_lost(summaries)


def test_without_flow_control_the_same_loses():
    summaries, readout, _ = direct(False)
    check_equal(readout["held_pause"], 0, "polls held by a pause")
    check(bottleneck.losses(summaries["b"]) > 0, "nothing was lost: the test above shows nothing")


# --- builders that stop, or are slow ------------------------------------------------------------


class Suspension:
    """Context manager: one process after the other is stopped for so long, as long as it lasts. How
    long a builder stands still is the subject."""

    def __init__(self, processes, seconds):
        self._processes = processes
        self._seconds = seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._over.is_set():
            for process in self._processes:
                process.signal(signal.SIGSTOP)
                time.sleep(self._seconds)  # for which the process is away
                process.signal(signal.SIGCONT)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def test_moving_suspension():
    """One builder is stopped at any time: those that have credits take its turns, and nothing is
    lost."""
    layout = Layout(readouts=4, builders=4, packing=2, slots=3, queue=0, told=False, rate=1000,
                    changes={"events": {"deadline": "30s"},
                             "event_manager": manager(shaping="none", policy="round-robin")})
    with evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.wait_for_events(100)
        with Suspension([farm.processes[node] for node in farm.builders], 0.02):
            before = farm.sched()["skips"]
            farm.wait_for_events(1500)
        check(farm.sched()["skips"] > before + 50, "no turn of a stopped builder was skipped")
        check_equal(farm.sched()["requeued"], 0, "events taken back")
        summaries = farm.stop()
    check_nothing_lost(summaries)
    for node in farm.builders:
        check(summaries[node]["events"]["complete"] > 0, f"{node} has built nothing")


def test_few_credits():
    """Two credits a builder, consumers that take less than there is: events wait in the sources,
    polls without a credit are counted, nothing is granted twice or lost."""
    layout = Layout(readouts=4, builders=2, packing=10, slots=3, queue=0, told=False, consumed=True,
                    rate=2000, changes={"events": {"deadline": "30s"}, "event_manager": manager()})
    with evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        with bottleneck.consumers(work, farm, evbtest.program("slow_consumer"), 10_000):
            farm.wait_for_events(100)
            sched, credits = farm.sched(), farm.credits()
            check(sched["stalls_no_credit"] > 0, "no poll went without a credit")
            check(sched["events_waiting"] > 0, "no event waits")
            check_equal([one["slots"] for one in credits.values()], [2, 2], "credits")
            check(all(one["free"] + one["granted"] <= 2 for one in credits.values()),
                  f"more in flight than there are credits: {credits}")
            summaries = farm.stop()
    check_equal((sched["requeued"], sched["regrants"]), (0, 0), "events granted again")
    check_nothing_lost(summaries)


def test_slow_builder():
    """The builder whose consumer takes its time has no free slots, gets what it can take, and is
    named; the others build the rest."""
    layout = Layout(readouts=4, builders=3, packing=10, queue=0, told=False, consumed=True,
                    rate=150, changes={"events": {"deadline": "30s"},
                                       "event_manager": manager(policy="occupancy")})
    with evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        with bottleneck.consumers(work, farm, evbtest.program("slow_consumer"),
                                  {"b0": 100_000, "b1": 0, "b2": 0}):
            farm.wait_for_events(50)
            evbtest.wait_until(lambda: farm.credits()["b0"]["free"] <= 2, "b0 has hardly a free slot")
            evbtest.wait_until(lambda: farm.sched()["scarce"] == "b0.b", "it is named")
            before = grants(farm)
            evbtest.wait_until(lambda: grants(farm)["b1"] >= before["b1"] + 150, "150 events more on b1")
            after = grants(farm)
            check(after["b0"] - before["b0"] < 0.3 * (after["b2"] - before["b2"]),
                  f"grants: {before}, {after}")
            free = farm.credits()
            check(free["b0"]["free"] < free["b1"]["free"], f"credits: {free}")
            summaries = farm.stop()
    check_nothing_lost(summaries)


# --- telemetry ---------------------------------------------------------------------------------


def test_telemetry_adds_up():
    layout = Layout(readouts=2, builders=2, packing=10, queue=0, rate=200,
                    changes={"event_manager": manager()})
    with evbtest.Workspace() as work, Farm(work, layout) as farm:
        farm.start()
        farm.wait_for_events(100)
        farm.command("pause")
        evbtest.wait_until(lambda: farm.sched()["events_outstanding"] == 0, "nothing in flight")
        evbtest.wait_until(lambda: all(one["free"] == one["slots"] for one in farm.credits().values()),
              "all credits back")
        sched, credits = farm.sched(), farm.credits()
        check_equal((sched["state"], sched["node"], sched["scarce"]), ("paused", "m", "none"),
                    "state")
        check_equal(sum(one["grants"] for one in credits.values()), sched["grants"],
                    "grants of all builders")
        check_equal(sched["credits_taken"],
                    sched["grants"] + sum(one["free"] for one in credits.values()), "credits")
        check_equal(sched["events_complete"], sched["events_released"], "events")
        check_equal([one["name"] for one in credits.values()], ["b0.b", "b1.b"], "names")
        for node in farm.readouts:
            check_equal(farm.readout(node)["events"], sched["grants"], f"events sent by {node}")
            for group in ("sched", "credits", "pfc", "generator"):
                check_equal(farm.client(node).query(f"/evb/{group}/list"), None,
                            f"/evb/{group} of {node}")
        farm.stop()


if __name__ == "__main__":
    evbtest.main()
