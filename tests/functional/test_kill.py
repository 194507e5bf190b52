# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""kill -9 at random moments: of group consumers, of `evb record`, of the appliance. The others go
on or restart cleanly; no event is delivered again that was released, none is lost, and no leftover
blocks the next run.

EVB_SEED changes the moments.
"""

import os
import random
import signal
import time

import appliance
import evbtest
import judge
import telemetry
from evbtest import check, check_equal

SEED = int(os.environ.get("EVB_SEED", "1"))
PACKING = 10
RATE = 1000  # built events a second


def consumer_binary(variable="EVB_LEDGER_CONSUMER"):
    """The test's own consumer, or another that the build makes."""
    path = os.environ.get(variable)
    if not path or not os.access(path, os.X_OK):
        evbtest.skip(f"{variable} does not name a program")
    return path


def event_ids(events, first=0):
    return [first + PACKING * index for index in range(events)]


def configuration(work, events, *groups, first_event=0):
    return appliance.generated(work, sources=4, packing=PACKING, count=events, size=100,
                               generator={"rate": RATE, "first_event": first_event}, writer=None,
                               events={"drain_timeout": "60s"},
                               event_ring={"groups": list(groups)})


def random_sleep(draw, most):
    """Until a random moment: what a process that is killed does then is the subject of the tests, and
    a condition would always choose the same."""
    time.sleep(draw.uniform(0.01, most))


# --- the ledger of group consumers -------------------------------------------------------------


def start_consumer(work, name, ledger, hold=6):
    consumer = work.start(consumer_binary(), name, "main", ledger, str(hold))
    consumer.wait_for_line("joined")
    return consumer


def read_ledger(path):
    """(pid, what, event id) in the order of time. A line that is being written is left for the next
    time."""
    with open(path, encoding="ascii") as file:
        for line in file:
            if not line.endswith("\n"):
                return
            pid, what, event = line.split()
            yield int(pid), what, int(event)


def check_ledger(path, killed, expected=None):
    """Every event was released exactly once, and by nobody delivered after that. A member that
    died between announcing a release and noting it may have done it or not."""
    holders, released, unsure = {}, {}, set()
    for pid, what, event in read_ledger(path):
        if what == "got":
            check(event not in released, f"event {event} was delivered after its release")
            check(holders.get(event) in (None, *killed),
                  f"event {event} was delivered to {pid} while {holders.get(event)} held it")
            holders[event] = pid
        elif what == "releasing":
            unsure.add(event)
        else:
            check(event not in released, f"event {event} was released twice")
            released[event] = pid
            unsure.discard(event)
            holders[event] = None
    settled = released.keys() | {event for event in unsure if holders[event] in killed}
    if expected is not None:
        check_equal(sorted(settled), expected, "events that were released")
    return released


def test_consumers_killed():
    """Members of a group die and come; the last ones see the run to its end."""
    draw = random.Random(SEED)
    with evbtest.Workspace() as work:
        ledger = work.path("ledger")
        consumer_binary()
        evb = work.run(configuration(work, 0, "main"))
        consumers = [start_consumer(work, evb.name, ledger) for _ in range(3)]
        killed = set()
        for _ in range(12):
            random_sleep(draw, 0.3)
            victim = consumers.pop(draw.randrange(len(consumers)))
            victim.kill()
            killed.add(victim.pid)
            consumers.append(start_consumer(work, evb.name, ledger))
        summary = evb.drain()
        for consumer in consumers:
            consumer.finish()
            check_equal(consumer.status, 0, f"status of {consumer.describe()}")
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_ledger(ledger, killed, event_ids(complete(summary)))


def complete(summary):
    """Events of a run that was told to end; none is incomplete."""
    events, incomplete = judge.event_counts(summary)
    check(events > 0 and incomplete == 0, f"{events} events, {incomplete} incomplete")
    return events


def test_all_consumers_killed():
    """With nobody there the events wait, and what a dead member held comes again."""
    events = 2 * RATE
    with evbtest.Workspace() as work:
        ledger = work.path("ledger")
        consumer_binary()
        evb = work.run(configuration(work, events, "main"))
        first = start_consumer(work, evb.name, ledger, hold=20)
        first.wait_until(lambda: sum(1 for _ in read_ledger(ledger)) > 100, "100 ledger lines")
        first.kill()
        evb.wait_until(lambda: telemetry.summary(evb.name)["slots_free"] == 0, "no slot is free")
        second = start_consumer(work, evb.name, ledger)
        evb.end()
        second.finish()
        check_equal(second.status, 0, f"status of {second.describe()}")
        released = check_ledger(ledger, {first.pid}, event_ids(events))
        check(second.pid in released.values(), "the second member released nothing")


def test_example_killed():
    """The manual's example: one dies, another takes over what it held."""
    events = 3 * RATE
    example = consumer_binary("EVB_EXAMPLE_CONSUMER")
    with evbtest.Workspace() as work:
        evb = work.run(configuration(work, events, "main"))
        dies, stays = (work.start(example, evb.name, "main") for _ in range(2))
        for consumer in (dies, stays):
            consumer.wait_for_line(" events, ")
        dies.kill()
        summary = evb.end()
        stays.finish()
        check_equal(stays.status, 0, f"status of {stays.describe()}")
        check_equal(judge.event_counts(summary), (events, 0), "events")
        check("0 wrong" in stays.lines[-1], f"wrong events in {stays.describe()}")


# --- evb record --------------------------------------------------------------------------------


def start_recorder(work, name, out, *more):
    return work.start(evbtest.binary(), "record", "--ring", name, "--group", "files", "--out", out,
                      "--format", "mep", *more)


def begun_files(out):
    """Unfinished files with something in them."""
    return sum(os.path.getsize(os.path.join(out, name)) > 0 for name in os.listdir(out)
               if name.endswith(".part"))


def test_recorder_killed():
    """Recorders die and come again in the same folder: each event ends in it exactly once."""
    draw = random.Random(SEED + 1)
    with evbtest.Workspace() as work:
        out = work.folder("events")
        evb = work.run(configuration(work, 0, "files"))
        for _ in range(6):
            recorder = start_recorder(work, evb.name, out)
            random_sleep(draw, 0.8)
            check(recorder.running(), f"ended by itself: {recorder.describe()}")
            recorder.kill()
        recorder = start_recorder(work, evb.name, out)
        summary = evb.drain()
        recorder.finish()
        check_equal(recorder.status, 0, f"status of {recorder.describe()}")
        found = judge.read_directory(out)
        check_equal(sorted(found), event_ids(complete(summary)), "recorded events")
        errors = [mfp for blocks in found.values() for mfp in blocks.values()
                  if judge.is_error_mfp(mfp, judge.MISSING_TYPE)]
        check_equal(errors, [], "missing blocks")


def test_two_recorders():
    """Two recorders share a group and a folder; one dies, the other takes over."""
    events = 3 * RATE
    with evbtest.Workspace() as work:
        out = work.folder("events")
        evb = work.run(configuration(work, events, "files"))
        stays, dies = (start_recorder(work, evb.name, out) for _ in range(2))
        evb.wait_until(lambda: begun_files(out) == 2, "both have begun a file")
        dies.kill()
        evb.end()
        stays.finish()
        check_equal(stays.status, 0, f"status of {stays.describe()}")
        # What the dead one left unfinished, the next recorder of this folder finishes.
        again = work.run(configuration(work, 1, "files", first_event=10**6))
        last = start_recorder(work, again.name, out)
        again.end()
        last.finish()
        found = judge.read_directory(out)
        check_equal(sorted(found), [*event_ids(events), 10**6], "recorded events")


# --- the appliance -----------------------------------------------------------------------------


def test_appliance_killed():
    """Its consumers and recorders end by themselves, and the next run of the same name starts."""
    draw = random.Random(SEED + 2)
    with evbtest.Workspace() as work:
        consumer_binary()
        out = work.folder("events")
        endless = configuration(work, 0, "main", "files")
        for number in range(4):
            ledger = work.path(f"ledger{number}")
            # Each run counts on, so that its events are told from those before.
            endless["generators"][0]["first_event"] = number * 10**6
            evb = work.run(endless)
            consumer = start_consumer(work, evb.name, ledger)
            recorder = start_recorder(work, evb.name, out)
            random_sleep(draw, 1)
            evb.kill()
            consumer.finish()
            check_equal(consumer.status, 0, f"status of {consumer.describe()}")
            recorder.finish()
            check(recorder.status in (0, 1), f"status of {recorder.describe()}")
            check_ledger(ledger, set())
        events = RATE // 2
        endless["generators"][0].update(first_event=9 * 10**6, events=events)
        evb = work.run(endless)
        consumer = start_consumer(work, evb.name, work.path("last"))
        recorder = start_recorder(work, evb.name, out)
        summary = evb.end()
        consumer.finish()
        recorder.finish()
        check_equal(judge.event_counts(summary), (events, 0), "events of the last run")
        check_ledger(work.path("last"), set(), event_ids(events, 9 * 10**6))
        found = judge.read_directory(out)
        check_equal(sorted(event for event in found if event >= 9 * 10**6),
                    event_ids(events, 9 * 10**6), "recorded events of the last run")
        check_equal(evbtest.leftovers(endless["name"]), [], "files in shared memory")


def test_a_truncated_ring():
    """Who may write the ring may truncate it: the run ends in order, and says why."""
    with evbtest.Workspace() as work:
        generated = configuration(work, 0, "main")
        generated["writers"] = [{"name": "disk", "directory": work.folder("events")}]
        evb = work.run(generated)
        evb.wait_until(lambda: telemetry.summary(evb.name)["events_complete"] > 0, "an event")
        [place] = evbtest.leftovers(evb.name)
        os.truncate(os.path.join(place, "ring.0"), 0)
        evb.finish()
        check_equal(evb.status, 1, f"status of {evb.describe()}")
        check("ring.0 was truncated by a process that may write it" in evb.errors(),
              evb.describe())
        check("events" in evb.output(), f"no account in {evb.describe()}")
        check_equal(evbtest.leftovers(evb.name), [], "files in shared memory")


def test_appliance_killed_while_it_starts():
    draw = random.Random(SEED + 3)
    with evbtest.Workspace() as work:
        short = appliance.generated(work, sources=4, packing=PACKING, count=50)
        file = work.write("short.json", short)
        for _ in range(8):
            process = work.start(evbtest.binary(), "run", file)
            random_sleep(draw, 0.6)
            process.kill()
            for name in os.listdir(work.path("events")):
                os.unlink(work.path("events", name))
        summary = work.run(short).end()
        check_equal(judge.event_counts(summary), (50, 0), "events")
        check_equal(sorted(judge.read_directory(work.path("events"))), event_ids(50), "events")
        check_equal(evbtest.leftovers(short["name"]), [], "files in shared memory")


def test_name_in_use():
    """A live run's files are never taken for leftovers: a second run of the name is refused."""
    with evbtest.Workspace() as work:
        endless = appliance.generated(work, sources=4, count=0, generator={"rate": RATE},
                                      writer=None)
        evb = work.run(endless)
        second = work.evb("run", work.write("second.json", endless))
        check_equal(second.status, 1, f"status of {second.describe()}")
        check(endless["name"] in second.errors(), f"the name is told by {second.describe()}")
        check(evb.running(), "the first run was disturbed")
        check_equal(evb.drain()["events"]["incomplete"], 0, "incomplete events of the first run")
        check_equal(evb.status, 0, "status of the first run")


def test_stopped_consumer():
    """A member that sleeps holds its events: they come to nobody else."""
    with evbtest.Workspace() as work:
        ledger = work.path("ledger")
        consumer_binary()
        evb = work.run(configuration(work, 0, "main"))
        sleeper, other = (start_consumer(work, evb.name, ledger) for _ in range(2))
        sleeper.wait_until(lambda: any(pid == sleeper.pid for pid, *_ in read_ledger(ledger)),
                           "an event for the member that is to sleep")
        sleeper.suspend()

        def taken_by_the_other():
            return sum((pid, what) == (other.pid, "got") for pid, what, _ in read_ledger(ledger))

        before = taken_by_the_other()
        other.wait_until(lambda: taken_by_the_other() >= before + RATE, "events for the other")
        sleeper.signal(signal.SIGCONT)
        summary = evb.drain()
        for consumer in (sleeper, other):
            consumer.finish()
            check_equal(consumer.status, 0, f"status of {consumer.describe()}")
        check_ledger(ledger, set(), event_ids(summary["events"]["complete"]))


if __name__ == "__main__":
    evbtest.main()
