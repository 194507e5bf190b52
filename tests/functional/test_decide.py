# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A filter decides what recorders write, and what stands in the results, while members of the filter
and recorders are killed at random moments: each accepted event is in the files exactly once, no
rejected one is, and the results are in the order of events, in a file and in an event ring.

EVB_SEED changes the moments.
"""

import glob
import os
import random
import struct
import time

import appliance
import evbtest
import judge
import telemetry
from evbtest import check, check_equal

SEED = int(os.environ.get("EVB_SEED", "1"))
PACKING = 10
RATE = 1000  # built events per second
KILLS = 10
ACCEPTED, UNDECIDED, TIMED_OUT = 1, 2, 4


def accepted(event, packing=PACKING):
    return bool(decision(event, packing)[2] & ACCEPTED)


def decider():
    path = os.environ.get("EVB_DECIDER")
    if not path or not os.access(path, os.X_OK):
        evbtest.skip("EVB_DECIDER does not name a program")
    return path


def configuration(work, count, **changes):
    return appliance.generated(
        work, sources=3, packing=PACKING, count=count, generator={"rate": RATE}, writer=None,
        **{"groups": [{"name": "filter", "decides": True}, {"name": "files", "after": "filter"}],
           "results": [{"name": "results", "group": "filter", "timeout": "60s",
                        "directory": work.folder("results")}],
           "events": {"drain_timeout": "60s"}, **changes})


def start_member(work, name, hold=6):
    member = work.start(decider(), name, "filter", str(PACKING), str(hold))
    member.wait_for_line("joined")
    return member


def start_recorder(work, name, out):
    return work.start(evbtest.binary(), "record", "--ring", name, "--group", "files", "--out", out,
                      "--format", "mep")


def records_of(path, first=0, packing=PACKING):
    """(event id, builder, lines, tag, flags) of each whole record, in the order of the file, before
    which there are so many records in other files."""
    with open(path, "rb") as file:
        return records_in(file.read(), first, packing)


def records_in(units, first=0, packing=PACKING):
    magic, version, size, _, per_event, number = struct.unpack_from("<8sIIIIQ", units)
    check_equal((magic, version, size, per_event, number), (b"EVBDECID", 1, 32, packing, first),
                "header")
    return [(event, builder, lines, tag, flags) for event, lines, tag, _, builder, _, flags, _
            in struct.iter_unpack("<QQIIHBBI", units[32:len(units) // 32 * 32])]


def decision(event, packing=PACKING):
    """(lines, tag, flags) of decider.c; undecided events are accepted, too."""
    n = event // packing
    if n % 10 == 5:
        return 0, 0, ACCEPTED | UNDECIDED
    return 1 << n % 64, n, ACCEPTED if n % 3 != 0 else 0


def file_results(folder):
    [path] = glob.glob(os.path.join(folder, "*.decisions"))
    check_equal(os.path.getsize(path) % 32, 0, "bytes behind the last record")
    return records_of(path)


def ring_results(path):
    """The records of all blocks that event_tap.c has read from a ring of results."""
    with open(path, "rb") as file:
        data = file.read()
    records, at = [], 0
    while at < len(data):
        event, _, length = struct.unpack_from("<QII", data, at)
        block = records_in(data[at + 16:at + 16 + length], len(records))
        check_equal(event, block[0][0], "event of a block")
        records += block
        at += 16 + length
    return records


def check_results(results, events):
    check_equal([event for event, *_ in results], events, "events of the results")
    for event, _, *found in results:
        check_equal(tuple(found), decision(event), f"result of event {event}")


def check_sums(summary):
    evbtest.check_identities(summary)
    [sums] = summary["decisions"]
    events, incomplete = judge.event_counts(summary)
    check_equal((sums["published"], sums["held"], incomplete), (events, 0, 0), "events")
    undecided = len(range(5, events, 10))
    rejected = len(range(0, events, 3)) - len(range(15, events, 30))
    check_equal((sums["accepted"], sums["rejected"], sums["undecided"]),
                (events - rejected - undecided, rejected, undecided), "decisions")
    return [PACKING * n for n in range(events)]


def test_members_and_recorder_killed():
    draw = random.Random(SEED)
    with evbtest.Workspace() as work:
        decider()
        out = work.folder("events")
        wanted, ring = configuration(work, 0), work.name()
        wanted["results"].append({**wanted["results"][0], "name": "list", "to": "ring",
                                  "ring": {"name": ring, "groups": ["tap"]}})
        evb = work.run(wanted)
        tap = work.start(evbtest.program("event_tap"), ring, "tap", work.path("tap"), "0")
        members = [start_member(work, evb.name) for _ in range(2)]
        recorder = start_recorder(work, evb.name, out)
        for _ in range(KILLS):
            time.sleep(draw.uniform(0.01, 0.2))  # until any moment of what they do
            if draw.random() < 0.4:
                recorder.kill()
                recorder = start_recorder(work, evb.name, out)
            else:
                members.pop(draw.randrange(len(members))).kill()
                members.append(start_member(work, evb.name))
        summary = evb.drain()
        for process in (*members, recorder, tap):
            process.finish()
            check_equal(process.status, 0, f"status of {process.describe()}")
        events = check_sums(summary)
        check_equal(sorted(judge.read_directory(out)), list(filter(accepted, events)),
                    "recorded events")
        check_results(file_results(work.path("results")), events)
        check_results(ring_results(work.path("tap")), events)


def members(name):
    """What telemetry has of each member of deciding groups."""
    with telemetry.Telemetry(name) as client:
        names = client.query("/evb/decision_member/list")
        return [client.query("/evb/decision_member/info", name) for name in names]


def test_writer_after_a_filter_that_dies():
    """What nobody decides until the end is accepted, as configured: nothing is lost."""
    events = 200
    with evbtest.Workspace() as work:
        out = work.folder("events")
        wanted = configuration(
            work, events, groups=[{"name": "filter", "decides": True}], results=[],
            writers=[{"name": "files", "directory": out, "after": "filter"}],
            events={"drain_timeout": "500ms"})
        wanted["builders"][0]["slots"] = 2 * events  # so that the run ends without the filter
        evb = work.run(wanted)
        member = start_member(work, evb.name)
        evb.wait_until(lambda: telemetry.summary(evb.name)["events_complete"] > 100, "100 events")
        [counts] = members(evb.name)
        check(counts["pid"] == member.pid and counts["accepted"] > 20 < counts["rejected"],
              f"its decisions: {counts}")
        member.kill()
        summary = evb.end()
        evbtest.check_identities(summary)
        [sums] = summary["decisions"]
        check_equal(sums["held"], 0, "held events")
        check("were not decided in time" in evb.errors(), evb.describe())
        found = sorted(judge.read_directory(out))
        check_equal(len(found), sums["accepted"] + sums["undecided"], "written events")
        missing = {PACKING * n for n in range(sums["published"])} - set(found)
        check_equal(len(missing), sums["rejected"], "events that are not in the files")
        check(not any(map(accepted, missing)), f"accepted events are missing: {missing}")


if __name__ == "__main__":
    evbtest.main()
