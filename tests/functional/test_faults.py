# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The generator's faults: each leads to exactly the counters that it should, and to no others."""

import appliance
import evbtest
import judge
from evbtest import check, check_equal

SOURCES = 6
PACKING = 10
SIZE = 480  # with the MFP's header 4.9 kB: four segments at MTU 1500
EVENTS = 400
SEGMENTS_A_BLOCK = 4
BLOCKS = SOURCES * EVENTS
SENT = BLOCKS * SEGMENTS_A_BLOCK + SOURCES  # and one end of run a source


def run(work, faults, kinds=(), size=SIZE, **changes):
    configuration = appliance.generated(work, SOURCES, PACKING, EVENTS, size,
                                        generator={"rate": 400, "faults": faults}, **changes)
    configuration["builders"][0]["slots"] = EVENTS + 1
    summary = work.run(configuration).end()
    evbtest.check_identities(summary)
    done = {fault: count for fault, count in summary["sent"].items()
            if count and fault in ("lost", "duplicated", "corrupted", "reordered")}
    check_equal(set(done), set(kinds), f"kinds of faults in {summary['sent']}")
    check_equal(summary["sent"]["events"], EVENTS, "events sent")
    return summary, judge.read_directory(work.path("events"))


def missing_by_source(found):
    """{source: how many events miss it} by the files."""
    counts = {}
    for blocks in found.values():
        for source, block in blocks.items():
            missing = judge.is_error_mfp(block, judge.MISSING_TYPE)
            counts[source] = counts.get(source, 0) + missing
    return counts


def check_missing(summary, found):
    """The summary tells of the same missing blocks as the files."""
    counts = missing_by_source(found)
    check_equal({source["id"]: source["missing"] for source in summary["sources"]["list"]}, counts,
                "events that miss a source")
    incomplete = sum(any(judge.is_error_mfp(block, judge.MISSING_TYPE)
                         for block in blocks.values()) for blocks in found.values())
    check_equal(judge.event_counts(summary), (len(found) - incomplete, incomplete), "events")
    return incomplete


def test_none():
    with evbtest.Workspace() as work:
        summary, found = run(work, {})
        check_equal(summary["segments"]["received"], SENT, "segments received")
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(len(found), EVENTS, "events")
        check_equal(check_missing(summary, found), 0, "incomplete events")


def test_loss():
    with evbtest.Workspace() as work:
        summary, found = run(work, {"loss": 0.01}, ["lost"], events={"deadline": "2s"})
        lost = summary["sent"]["lost"]
        check(0.005 < lost / SENT < 0.02, f"{lost} of {SENT} segments were lost")
        check_equal(summary["segments"]["received"], SENT - lost, "segments received")
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(len(found), EVENTS, "events")
        incomplete = check_missing(summary, found)
        check(0 < incomplete <= lost, f"{incomplete} incomplete events by {lost} lost segments")


def test_duplicate():
    with evbtest.Workspace() as work:
        summary, found = run(work, {"duplicate": 0.01}, ["duplicated"])
        twice = summary["sent"]["duplicated"]
        check(0.005 < twice / SENT < 0.02, f"{twice} of {SENT} segments were sent twice")
        check_equal(summary["segments"]["received"], SENT + twice, "segments received")
        drops = evbtest.drops(summary)
        check_equal(drops.pop("duplicate", 0) + drops.pop("late", 0), twice, "dropped copies")
        check_equal(drops, {}, "other drops")
        check_equal(check_missing(summary, found), 0, "incomplete events")


def test_reorder():
    with evbtest.Workspace() as work:
        summary, found = run(work, {"reorder_window": 64}, ["reordered"])
        check_equal(summary["segments"]["received"], SENT, "segments received")
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(len(found), EVENTS, "events")
        check_equal(check_missing(summary, found), 0, "incomplete events")


def test_corrupt():
    """One changed byte of an MFP: its header or table is refused as malformed, or the generated
    payload shows it. With small fragments both happen."""
    with evbtest.Workspace() as work:
        summary, found = run(work, {"corrupt": 0.03}, ["corrupted"], size=8)
        check_equal(summary["segments"]["received"], BLOCKS + SOURCES, "segments received")
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(len(found), EVENTS, "events")
        malformed = sum(judge.is_error_mfp(block, judge.MALFORMED_TYPE)
                        for blocks in found.values() for block in blocks.values())
        check_equal(sum(missing_by_source(found).values()), 0, "missing blocks")
        check_equal(summary["blocks"]["malformed"], malformed, "malformed blocks")
        complete, incomplete = judge.event_counts(summary)
        check_equal(complete + incomplete, EVENTS, "events")
        corrupted = summary["sent"]["corrupted"]
        check(0 < incomplete <= malformed < corrupted,
              f"{incomplete} events with {malformed} malformed blocks by {corrupted} changed ones")
        path = judge.files(work.path("events"))[0]
        check(not work.verify(path), "changed payloads were not seen")


def test_verify():
    """Without faults the files verify."""
    with evbtest.Workspace() as work:
        run(work, {})
        for path in judge.files(work.path("events")):
            check(work.verify(path), f"{path} does not verify")


def test_silent_source():
    with evbtest.Workspace() as work:
        summary, found = run(work, {"silent_source": 0x1003}, events={"deadline": "1s"})
        check_equal(summary["segments"]["received"],
                    SENT - EVENTS * SEGMENTS_A_BLOCK - 1, "segments received")
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(check_missing(summary, found), EVENTS, "incomplete events")
        check_equal(missing_by_source(found),
                    {source: EVENTS * (source == 0x1003) for source in found[0]}, "missing blocks")


def test_late_source():
    """Later than the deadline: what comes of it is late, and every event is built without it.
    Earlier: nothing happens."""
    late_source = 0x1002
    faults = {"late_source": late_source, "late_delay": "2500ms"}
    with evbtest.Workspace() as work:
        summary, found = run(work, faults, events={"deadline": "400ms"})
        source = next(source for source in summary["sources"]["list"]
                      if source["id"] == late_source)
        # The run may end, by the silence of all others, before the last of it has come.
        check(source["dropped"] > 0 and source["placed"] <= 1, f"late source {source}")
        check_equal(evbtest.drops(summary), {"late": source["dropped"]}, "drops")
        check_equal(check_missing(summary, found), EVENTS, "incomplete events")
        check_equal(missing_by_source(found)[late_source], EVENTS, "events without the source")
    with evbtest.Workspace() as work:
        summary, found = run(work, faults)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(check_missing(summary, found), 0, "incomplete events")


if __name__ == "__main__":
    evbtest.main()
