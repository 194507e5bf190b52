# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Readout nodes whose blocks come during the run: each event is built byte by byte."""

import copy

import cluster
import ejfat_sender
import evb_decode
import evbtest
import frames
import judge
import test_cluster as systems
import test_cluster_roce as roce
import test_roce_replay as roce_replay
from evbtest import check, check_equal

FILE_EVENTS = 400
EVENTS = 1000  # the file repeats
WINDOW = 1 << 20


def make_file(work, sources, packing):
    """A file that is larger than the window, whose MFPs all differ; [{source: MFP}] by event."""
    path = work.path("boards.mfp")
    process = work.evb("gen", "--out", path, "--sources", sources, "--events", str(FILE_EVENTS),
                       "--packing", str(packing), "--law", "gaussian",
                       "--mean", "200", "--sigma", "20", "--maximum", "300")
    check_equal(process.status, 0, process.describe())
    data = bytearray(evb_decode.read(path))
    check(len(data) > WINDOW, f"the file has only {len(data)} bytes")
    events = [{} for _ in range(FILE_EVENTS)]
    for mfp in evb_decode.mfps(bytes(data)):
        if mfp.event_id != evb_decode.END_OF_RUN:
            index, end = mfp.event_id // packing, mfp.offset + mfp.size
            data[end - 8:end - 4] = index.to_bytes(4, "little")
            events[index][mfp.source_id] = bytes(data[mfp.offset:end])
    with open(path, "wb") as file:
        file.write(data)
    return path, events


def with_event_id(mfp, event_id):
    return mfp[:8] + event_id.to_bytes(8, "little") + mfp[16:]


def run_files(work, configuration, sources):
    """The readout nodes read their sources out of one file, which is not loaded."""
    packing = configuration["sources"]["packing"]
    path, events = make_file(work, sources, packing)
    for node in configuration["nodes"]:
        for generator in node.get("generators", ()):
            generator.update(kind="mfp", file=path, window=WINDOW)
    with cluster.System(work, configuration) as system:
        system.start()
        summaries = system.end(systems.PATIENCE_S)
    for summary in summaries.values():
        evbtest.check_identities(summary)
        check(evbtest.drops(summary).keys() <= {"late", "duplicate"},
              f"drops: {evbtest.drops(summary)}")
    check_equal(systems.complete(summaries), EVENTS, "events built in all")
    expected = {}
    for index in range(EVENTS):
        event_id = index * packing
        expected[event_id] = {source: with_event_id(mfp, event_id)
                              for source, mfp in events[index % FILE_EVENTS].items()}
    systems.check_built(work, configuration, expected)


def test_files_of_any_length():
    with evbtest.Workspace() as work:
        run_files(work, systems.split(work, "push", count=EVENTS), "1-8")


def test_files_over_lossy_roce():
    """Messages that are sent again still have their bytes."""
    with evbtest.Workspace() as work:
        configuration = roce.split(work, "push", count=EVENTS)
        for node in configuration["nodes"]:
            for generator in node.get("generators", ()):
                generator["faults"] = {"loss": 0.01, "duplicate": 0.002}
        run_files(work, configuration, "1-4")


def test_captures():
    """One readout node plays a capture of UDP segments, in which some are lost, repeated or out of
    order; the other one a capture of RoCE messages. The MFPs that are not whole in it are missing."""
    count, packing = 200, 10
    with evbtest.Workspace() as work:
        stream = ejfat_sender.Stream(range(1, 9), count, packing, (100, 300))
        plan = ejfat_sender.Plan(stream, 1500)
        plan.packets = [packet for packet in plan.packets if packet[0].source <= 4]
        plan.lose(0.002)
        plan.duplicate(0.02)
        plan.reorder(20)
        captures = {"ru0": ("pcap", work.path("udp.pcap")), "ru1": ("roce", work.path("roce.pcap"))}
        frames.write_capture(captures["ru0"][1], plan.frames())
        boards = copy.copy(stream)
        boards.sources = range(5, 9)
        roce_replay.record(captures["ru1"][1], boards, ["send", "write", "send", "write"])
        configuration = systems.split(work, "push", packing=packing)
        configuration["sources"]["ids"] = ["1-8"]
        for node in configuration["nodes"]:
            for generator in node.get("generators", ()):
                kind, file = captures[node["name"]]
                generator.update(kind=kind, file=file)
        with cluster.System(work, configuration) as system:
            system.start()
            notices = system.processes["ru0"].errors()
            summaries = system.end(systems.PATIENCE_S)
        expected = {event: {**blocks, **plan.expected()[event]}
                    for event, blocks in stream.expected().items()}
        lost = sum(mfp is None for blocks in expected.values() for mfp in blocks.values())
        check(lost > 0, "nothing is lost in the capture")
        check(f"generator boards: {lost} MFPs are not whole in" in notices, notices)
        check_equal(systems.complete(summaries), count, "events built in all")
        for _, event, blocks in systems.built(work, configuration):
            for source, mfp in expected.pop(event).items():
                check(blocks[source] == mfp if mfp is not None else
                      judge.is_error_mfp(blocks[source], judge.MISSING_TYPE),
                      f"event {event}: the MFP of source {source} is another")
        check_equal(len(expected), 0, "events that were not built")


def played_events(work, count):
    """What two producers play: real events, each source's share of `count` MFPs, in two files of half
    of the sources. Returns the files, their sources, and {event id: {source: MFP}}."""
    original = evbtest.shared_file("data/lhcb-minbias.mdf")
    path = work.path("all.mfp")
    process = work.evb("gen", "--mdf", original, "--out", path, "--packing", "1",
                       "--events", str(count))
    check_equal(process.status, 0, process.describe())
    data = evb_decode.read(path)
    expected = {event: {} for event in range(count)}
    for mfp in evb_decode.mfps(data):
        if mfp.event_id != evb_decode.END_OF_RUN:
            expected[mfp.event_id][mfp.source_id] = data[mfp.offset:mfp.offset + mfp.size]
    sources = sorted(expected[0])
    halves = sources[:len(sources) // 2], sources[len(sources) // 2:]
    files = []
    for number, half in enumerate(halves):
        files.append(work.path(f"half{number}.mfp"))
        with open(files[-1], "wb") as file:
            for blocks in expected.values():
                file.writelines(blocks[source] for source in half)
    return files, halves, expected


def test_producers():
    """Other processes play real events into the rings of two readout nodes. One is killed and
    restarted, and goes on at the next event. The run ends when both have finished."""
    count = 80
    with evbtest.Workspace() as work:
        files, halves, expected = played_events(work, count)
        configuration = systems.split(work, "push", mtu=9000)
        configuration["sources"] = {"ids": sorted(expected[0]), "packing": 1}
        for node in configuration["nodes"]:
            # An event has 1238 packets: those in flight have room while a builder does not run.
            node["ports"][0]["options"] = {"framecnt": 28 * 128}
            for builder in node.get("builders", ()):
                builder.update(slot_size="512KiB", slots=2)
            for generator in node.get("generators", ()):
                generator.update(kind="producer", ids=halves[node["name"] == "ru1"], rate=50,
                                 producer={"size": "2MiB", "max_block": "128KiB"})
        with cluster.System(work, configuration) as system:
            system.start()
            names = [f"{system.name}-{node}" for node in ("ru0", "ru1")]
            play = [(evbtest.program("example_producer"), name, "boards", file)
                    for name, file in zip(names, files)]
            killed, other = [work.start(*arguments) for arguments in play]
            system.wait_for(lambda status: systems.released(status) >= count // 8, "events")
            killed.kill()
            readout = system.processes["ru0"]
            readout.wait_until(lambda: f"process {killed.pid} has left" in readout.errors(),
                               "a notice of the producer's end")
            again = work.start(*play[0])
            for process in (again, other):
                check_equal(process.finish().status, 0, process.describe())
            summaries = system.end(systems.PATIENCE_S)
        systems.check_healthy(summaries)
        check_equal(systems.complete(summaries), count, "events built in all")
        systems.check_built(work, configuration, expected)


if __name__ == "__main__":
    evbtest.main()
