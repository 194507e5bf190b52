# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Builders, sources and the event manager are killed (SIGKILL) and come back: no event is lost, and
each is published once, but for what nobody who is alive can know of."""

import evbtest
from evbtest import check, check_equal
from faults import Trial

HELD = 4  # events under way at the least when something dies


def check_twice_is_the_end(verdict, life):
    """What was published again is what the process that died had published last, so that it could
    not tell."""
    events = life.events()
    last = events[len(events) - len(verdict.twice):]
    check_equal(sorted(verdict.twice), sorted(last), "events published twice")
    check_equal(dict(verdict.incomplete), {}, "incomplete events")


def kill_while_it_builds(trial, leaves_will=True):
    """Kills builder b1 while it has been granted events; what its consumer has seen."""
    trial.begin()
    with trial.stopped_while_it_builds("b1", HELD):
        trial.kill("b1", leaves_will)
    return trial.life("b1")


def heard_of(trial, node):
    """What the manager counts of a node."""
    return trial.client("m").query("/evb/control/info", node)


# --- builders ------------------------------------------------------------------------------------


def builder_lost(mode, leaves_will, heartbeat_timeout, noticed):
    """Its events are granted to the other; when it is back it gets its share again."""
    with evbtest.Workspace() as work, Trial(work, mode, heartbeat_timeout=heartbeat_timeout,
                                            in_doubt_timeout="100ms") as trial:
        life = kill_while_it_builds(trial, leaves_will)
        trial.until(lambda: noticed(trial), "b1 is missed")
        trial.until(lambda: trial.sched()["regrants"] >= HELD, "its events are granted again")
        trial.more()
        trial.back("b1")
        trial.until(lambda: len(trial.life("b1").events()) >= 20, "20 events on b1")
        verdict, _ = trial.finish()
    check_twice_is_the_end(verdict, life)


def builder_killed(mode):
    """Its last will says so: nobody waits until it counts as silent."""
    builder_lost(mode, True, "1min", lambda trial: heard_of(trial, "b1")["process_ended"] == 1 and
                 heard_of(trial, "b1")["lost"] == 0)


def test_builder_killed_push():
    builder_killed("push")


def test_builder_killed_pull():
    builder_killed("pull")


def builder_without_power(mode):
    """It says nothing any more."""
    builder_lost(mode, False, "2s", lambda trial: trial.sched()["nodes_excluded"] >= 1 and
                 heard_of(trial, "b1")["process_ended"] == 0)


def test_builder_without_power_push():
    builder_without_power("push")


def test_builder_without_power_pull():
    builder_without_power("pull")


def builder_killed_and_back_at_once(mode):
    """Nobody has noticed its silence when another process of it registers."""
    with evbtest.Workspace() as work, Trial(work, mode, heartbeat_timeout="30s") as trial:
        life = kill_while_it_builds(trial)
        trial.back("b1")
        trial.until(lambda: len(trial.life("b1").events()) >= 20, "20 events on b1")
        sched = trial.sched()
        check(sched["regrants"] >= HELD, f"its events are granted again: {sched}")
        check_equal(sched["nodes_excluded"], 0, "nodes excluded for their silence")
        verdict, _ = trial.finish()
    check_twice_is_the_end(verdict, life)


def test_builder_killed_and_back_at_once_push():
    builder_killed_and_back_at_once("push")


def test_builder_killed_and_back_at_once_pull():
    builder_killed_and_back_at_once("pull")


def test_builder_killed_before_it_tells():
    """The one thing that a death does to an event: what was published, and could not be told, is
    built again. Nothing else is."""
    with evbtest.Workspace() as work, Trial(work, "push", injected=True,
                                            heartbeat_timeout="30s") as trial:
        trial.begin()
        with trial.stopped_while_it_builds("b1", HELD):
            trial.stop_process("m")
            trial.injector.cut("b1", "from")
            published = len(trial.life("b1").events())
        life = trial.life("b1")
        trial.until(lambda: len(life.events()) >= published + HELD, "b1 has published")
        trial.kill("b1")
        check(trial.injector.join("b1")["cut"] > 0, "nothing was cut off")
        trial.continue_process("m")
        trial.back("b1")
        trial.more()
        verdict, _ = trial.finish()
    check(len(verdict.twice) >= HELD, f"events published twice: {verdict.twice}")
    check_twice_is_the_end(verdict, life)


# --- a second process ------------------------------------------------------------------------------


def second_process(node):
    """It is refused and told so while the first lives, and all goes on as before: also after it has
    been killed."""
    with evbtest.Workspace() as work, Trial(work, "push") as trial:
        trial.begin()
        second = work.start(evbtest.binary(), "run", trial.file, "--node", node,
                            namespace=trial.bridge.nodes[node], summary=work.path("second.json"),
                            environment={"RUNTIME_DIRECTORY": work.folder("elsewhere")})
        second.wait_until(lambda: f"another one runs as node {node};" in second.errors(),
                          "the second process is refused")
        trial.more()
        second.kill()
        trial.more()
        verdict, _ = trial.finish()
    verdict.check_exact()


def test_second_process_of_the_manager():
    second_process("m")


def test_second_process_of_a_source():
    second_process("r1")


# --- sources -------------------------------------------------------------------------------------


def test_source_killed():
    """Events go on without it, incomplete; when it is back they are complete again."""
    with evbtest.Workspace() as work, Trial(work, "push", deadline="300ms",
                                            heartbeat_timeout="2s") as trial:
        trial.begin()
        trial.kill("r1")
        trial.until(lambda: trial.sched()["events_incomplete"] >= 20, "incomplete events")
        trial.back("r1")
        trial.until(lambda: trial.own("r1", "announced") > 0, "r1 takes part")
        incomplete = trial.settled()
        trial.more()
        check_equal(trial.sched()["events_incomplete"], incomplete,
                    "incomplete events after the source was back")
        verdict, _ = trial.finish()
    check_equal(verdict.twice, set(), "events published twice")
    check_only_r1_is_missing(verdict, incomplete)


def check_only_r1_is_missing(verdict, count):
    check(all(sources == {2} for sources in verdict.incomplete.values()),
          f"missing sources: {dict(verdict.incomplete)}")
    check_equal(len(verdict.incomplete), count, "incomplete events")


def test_source_killed_and_waited_for():
    """As configured, nothing is granted until it is back; what it held is incomplete: deadlines pass
    before its silence is noticed."""
    with evbtest.Workspace() as work, Trial(work, "pull", deadline="300ms", source_buffer=64,
                                            heartbeat_timeout="2s",
                                            on_source_silent="pause") as trial:
        trial.begin()
        trial.kill("r1", leaves_will=False)
        trial.until(lambda: trial.member("r1")["lost"], "r1 is silent")
        trial.until(lambda: trial.sched()["events_outstanding"] == 0, "nothing under way")
        grants = trial.sched()["grants"]
        full = trial.sched()["events_released"] + 64
        trial.until(lambda: trial.own("r0", "announced") >= full, "r0 is full")
        check_equal(trial.sched()["grants"], grants, "grants while r1 is not there")
        trial.back("r1")
        trial.until(lambda: trial.own("r1", "announced") > 0, "r1 takes part")
        incomplete = trial.settled()
        trial.more()
        check_equal(trial.sched()["events_incomplete"], incomplete,
                    "incomplete events after the source was back")
        verdict, _ = trial.finish()
    check_equal(verdict.twice, set(), "events published twice")
    check_only_r1_is_missing(verdict, incomplete)
    check(max(verdict.incomplete, default=0) < full, "an event is incomplete that r1 never held")


# --- the event manager ---------------------------------------------------------------------------


def manager_killed(mode):
    """Builders build what they were granted, and publish it as long as they are permitted to. The
    next process has a higher epoch; what is held is published where it is."""
    with evbtest.Workspace() as work, Trial(work, mode, injected=True,
                                            heartbeat_timeout="2s") as trial:
        trial.begin()
        epoch = trial.injector.epoch("m")
        with trial.stopped_while_it_builds("b0", HELD):
            trial.kill("m")
            before = len(trial.life("b0").events())
        trial.until(lambda: len(trial.life("b0").events()) + trial.held("b0") >= before + HELD,
                    "b0 has built what it was granted")
        trial.back("m")
        trial.until(lambda: trial.injector.epoch("m") > epoch, "a higher epoch")
        trial.until(lambda: trial.injector.epoch("b0") > epoch, "b0 has taken it over")
        trial.more()
        check_equal(trial.own("b0", "withdrawn"), 0, "events that b0 built for nothing")
        trial.until(lambda: len(trial.life("b0").events()) >= before + HELD, "events of b0")
        verdict, _ = trial.finish()
    verdict.check_exact()


def test_manager_killed_push():
    manager_killed("push")


def test_manager_killed_pull():
    manager_killed("pull")


def unreleased(trial, life):
    released = trial.sched()["events_released"]
    return sum(event >= released for event in life.events())


def test_manager_and_builder_killed():
    """What the builder had published, and was not released yet, nobody knows of any more: it is
    built again. Nothing else is."""
    with evbtest.Workspace() as work, Trial(work, "push", heartbeat_timeout="30s") as trial:
        trial.begin()
        life = trial.life("b1")
        # With b0's oldest event unfinished nothing is released from there on.
        with trial.stopped_while_it_builds("b0", HELD):
            trial.until(lambda: unreleased(trial, life) >= HELD,
                        "events that are published and not released")
            trial.until(lambda: all(trial.own(node, "released") == trial.sched()["events_released"]
                                    for node in trial.readouts), "readouts know what is released")
            trial.kill("m")
            trial.kill("b1")
        released = max(trial.own(node, "released") for node in ("r0", "r1", "b0"))
        trial.back("b1")
        trial.back("m")
        trial.more()
        verdict, _ = trial.finish()
    check_equal(verdict.twice, {event for event in life.events() if event >= released},
                "events published twice")
    check(len(verdict.twice) > 0, "nothing was published and not released: nothing is shown")
    check_equal(dict(verdict.incomplete), {}, "incomplete events")


if __name__ == "__main__":
    evbtest.main()
