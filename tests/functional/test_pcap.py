# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Captures with known faults, through a pcap port and through `evb replay`: every event whose bytes
all arrived is exact, each other one is flagged with exactly the missing sources, and the counters
equal what was done to the capture."""

import glob
import shutil
import socket

import appliance
import ejfat_sender
import evbtest
import frames
import judge
import network
from evbtest import check, check_equal

SOURCES = range(0x1001, 0x1007)
STRANGER = 0x1801
EVENTS = 1500


def stream_of(events, packing=8):
    """MFPs of about three segments at MTU 1500."""
    return ejfat_sender.Stream(SOURCES, events, packing, size=(300, 600), first_event=packing * 77)


def capture_port(path):
    return {"name": "file", "profile": "pcap", "device": path, "address": "10.0.0.2/24"}


def write(work, plan, framer=None, name="packets.pcap"):
    path = work.path(name)
    return path, frames.write_capture(path, plan.frames(framer))


def faulty_plan(events=EVENTS):
    plan = ejfat_sender.Plan(stream_of(events))
    plan.lose(0.01)
    plan.duplicate(0.01)
    plan.reorder(64)
    return plan


def check_faulty(plan, summary, directory):
    expected = plan.expected()
    whole = sum(None not in blocks.values() for blocks in expected.values())
    check(0 < whole < len(expected), "the capture has events of both kinds")
    evbtest.check_identities(summary)
    check_equal(judge.event_counts(summary), (whole, len(expected) - whole), "events")
    drops = evbtest.drops(summary)
    # A second copy is late rather than duplicate when its event was complete in between.
    repeated = drops.pop("duplicate", 0) + drops.pop("late", 0)
    check_equal(repeated, plan.counts["duplicate"], "segments that came twice")
    check_equal(drops, {}, "other drops")
    check_equal(summary["segments"]["received"], len(plan.all_packets()), "segments received")
    missing = {source: sum(blocks[source] is None for blocks in expected.values())
               for source in SOURCES}
    listed = {source["id"]: source["missing"] for source in summary["sources"]["list"]}
    check_equal(listed, missing, "events that miss a source")
    judge.check_files(directory, expected)


def test_port_with_faults():
    with evbtest.Workspace() as work:
        plan = faulty_plan()
        path, _ = write(work, plan)
        # Slots for all incomplete events: none needs to wait for the deadline of another.
        configuration = appliance.builder(work, capture_port(path), plan.stream, slots=EVENTS)
        check_faulty(plan, work.run(configuration).end(), work.path("events"))


def differences(work, path, plan, packing):
    """The lines about sources that differ from sources.packing, and the number of built events."""
    process = work.run(appliance.builder(work, capture_port(path), plan.stream,
                                         events={"deadline": "2s"},
                                         sources={"packing": packing}))
    summary = process.end()
    return ([line for line in process.errors().splitlines() if "sources.packing is" in line],
            judge.event_counts(summary))


def test_packing_that_differs():
    """Once per source a line says what it sends and which key does not agree."""
    for packing, complete in ((3, 0), (16, 100), (8, 100)):
        with evbtest.Workspace() as work:
            plan = ejfat_sender.Plan(stream_of(100))
            lines, counts = differences(work, write(work, plan)[0], plan, packing)
            check_equal(counts, (complete, 100 - complete), f"events with packing {packing}")
            expected = [f"evb: source {source} sends MFPs of 8 fragments, sources.packing is "
                        f"{packing}: correct one of the two" for source in SOURCES]
            check_equal(sorted(lines), expected if packing != 8 else [],
                        f"lines with packing {packing}")


def test_port_with_few_slots():
    """Incomplete events hold the slots until their deadline; the file waits meanwhile."""
    with evbtest.Workspace() as work:
        plan = faulty_plan(events=400)
        path, _ = write(work, plan)
        configuration = appliance.builder(work, capture_port(path), plan.stream, slots=32,
                                          events={"deadline": "1500ms"})
        check_faulty(plan, work.run(configuration).end(), work.path("events"))


def replay(work, path, *arguments):
    summary = work.path("replay.json")
    out = work.folder("replayed")
    process = work.evb("replay", path, "--out", out, "--summary", summary, *arguments,
                       summary=summary)
    check_equal(process.status, 0, f"status of {process.describe()}")
    return process.summary(), out


def test_replay_with_faults():
    for name in ("packets.pcap", "packets.pcapng"):
        with evbtest.Workspace() as work:
            plan = faulty_plan()
            path, _ = write(work, plan, name=name)
            summary, out = replay(work, path, "--deadline", "10s")
            check_faulty(plan, summary, out)


def test_replay_learns():
    """Ports, packing, VLAN-less and EtherType transports are found in the capture itself."""
    with evbtest.Workspace() as work:
        for packing, port in ((1, 19522), (5, 20000)):
            plan = ejfat_sender.Plan(stream_of(50, packing), load_balancer=3, end_of_run=False)
            path, _ = write(work, plan, frames.Framer(destination_port=port), f"{port}.pcap")
            summary, out = replay(work, path)
            check_equal(judge.event_counts(summary), (50, 0), "events")
            judge.check_files(out, plan.expected())
            judge.remove_files(out)


def test_replay_among_others():
    """Packets for other programs in a capture are no loss. Each line of the account adds up."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(20), end_of_run=False)
        packets = list(plan.frames())
        others = [frames.Framer(destination_port=9).frame(bytes(100))] * 7
        path = work.path("mixed.pcap")
        frames.write_capture(path, others + packets)
        process = work.evb("replay", path, "--out", work.folder("replayed"), "--strict")
        check_equal(process.status, 0, process.describe())
        for line in (f"\npackets  {len(packets) + 7} received, {len(packets)} with segments, 7 others, "
                     "0 dropped\n",
                     f"\nsegments {len(packets)} received, {len(packets)} placed, 0 dropped; ",
                     " bytes, 1 file\n"):
            check(line in process.output() + "\n", f"{line} in {process.describe()}")


def kernel_captures(work, plan):
    """Captures of a kernel UDP sender whose checksums are left to a device that is not there: one
    taken where the sender is, one where it sends to."""
    if not shutil.which("dumpcap"):
        evbtest.skip("dumpcap is not installed")
    count = str(len(plan.all_packets()))
    paths = work.path("sender.pcapng"), work.path("receiver.pcapng")
    net = work.enter(network.Network(checksum_offload=True))
    net.host.add_neighbour(network.EVB_ADDRESS, net.evb.hardware_address())
    sender = work.start(shutil.which("dumpcap"), "-q", "-i", net.host.device, "-f", "udp",
                        "-c", count, "-w", paths[0], namespace=net.host)
    receiver = work.start(evbtest.binary(), "record", "--pcap", paths[1], "--device",
                          net.evb.device, "--packets", count, namespace=net.evb)
    sender.wait_until(lambda: "File:" in sender.errors(), "it captures")
    receiver.wait_until(lambda: glob.glob(paths[1] + "*"), "it captures")
    with net.host.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        plan.send(ejfat_sender.connect(udp, network.EVB_ADDRESS), rate=4000)
    for process in (sender, receiver):
        check_equal(process.finish().status, 0, f"status of {process.describe()}")
    return paths


def test_captures_of_a_kernel_sender():
    """Checksums that the kernel left to the device are no errors, and told once."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(10), end_of_run=False)
        for path in kernel_captures(work, plan):
            summary, out = replay(work, path, "--strict")
            evbtest.check_identities(summary)
            check_equal(judge.event_counts(summary), (10, 0), "events")
            check_equal(summary["packets"]["checksums_unfinished"], len(plan.packets),
                        "checksums that are not finished")
            judge.check_files(out, plan.expected())
            judge.remove_files(out)
            dump = work.evb("dump", "--verify", "--quiet", path)
            check_equal(dump.status, 0, f"status of {dump.describe()}")
            check(f"{len(plan.packets)} unfinished UDP checksums" in dump.output(), dump.describe())


def test_replay_of_nothing():
    """A replay that builds no event says why, and fails."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(10), end_of_run=False)
        path = work.path("wrong.pcap")
        frames.write_capture(path, map(frames.DAMAGES["udp_checksum"], plan.frames()))
        process = work.evb("replay", path, "--out", work.folder("replayed"))
        check_equal(process.status, 1, f"status of {process.describe()}")
        check(f"no event was built: {len(plan.packets)} of {len(plan.packets)} packets were "
              f"dropped, udp_checksum {len(plan.packets)}" in process.errors(), process.describe())


def check_replay_tells(work, path, line, status=2):
    """What the capture lacks is a loss although all that it has was built."""
    process = work.evb("replay", path, "--out", work.folder("replayed"), "--strict")
    check_equal(process.status, status, f"status of {process.describe()}")
    check(line in process.output() + process.errors(), process.describe())


def test_replay_tells_what_the_capture_lacks():
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(20), end_of_run=False)
        whole, _ = write(work, plan)
        check_replay_tells(work, whole, "20 complete", status=0)
        with open(work.path("killed.pcap"), "wb") as killed, open(whole, "rb") as original:
            killed.write(original.read() + b"\0" * 7)  # the next packet's header was not finished
        check_replay_tells(work, work.path("killed.pcap"), "going on with what comes before")
        with frames.PcapWriter(work.path("cut.pcap"), snap_length=128) as cut:
            for number, frame in enumerate(plan.frames(None)):
                cut.write(frame, 1_700_000_000 * 10**9 + number * 1000)
        check_replay_tells(work, work.path("cut.pcap"), "only their first bytes (snap length)")


def test_run_tells_what_the_capture_lacks():
    """A generator's capture that is cut is a loss for `run --strict`, too."""
    with evbtest.Workspace() as work:
        stream = stream_of(20)
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        whole, _ = write(work, plan)
        with open(work.path("killed.pcap"), "wb") as killed, open(whole, "rb") as original:
            killed.write(original.read() + b"\0" * 7)
        with frames.PcapWriter(work.path("snapped.pcap"), snap_length=128) as cut:
            for number, frame in enumerate(plan.frames(None)):
                cut.write(frame, 1_700_000_000 * 10**9 + number * 1000)
        for path, line, status in ((whole, "20 complete", 0),
                                   (work.path("killed.pcap"), "what comes before was sent", 2),
                                   (work.path("snapped.pcap"), "only their first bytes", 2)):
            configuration = appliance.builder(
                work, {"name": "wire", "profile": "ring", "address": "10.0.0.2/24"}, stream)
            configuration["generators"] = [{"name": "file", "port": "wire", "kind": "pcap",
                                            "file": path, "speed": 0}]
            process = work.run(configuration, "--strict")
            process.finish()
            check_equal(process.status, status, f"status of {process.describe()}")
            check(line in process.output() + process.errors(), process.describe())


def test_bad_segments():
    """Each refused segment changes nothing and is counted under its cause."""
    causes = ("overlapping", "duplicate", "length_mismatch", "oversized", "unknown_source",
              "unexpected_source", "malformed_segment")
    with evbtest.Workspace() as work:
        stream = stream_of(200)
        plan = ejfat_sender.Plan(stream)
        silent = 0x1900
        counts = {}
        for number, cause in enumerate(causes):
            counts[cause] = 10 + number
            plan.inject(cause, counts[cause],
                        stranger=silent if cause == "unexpected_source" else STRANGER)
        path, count = write(work, plan)
        configuration = appliance.builder(work, capture_port(path), stream)
        configuration["sources"].update(ids=[*SOURCES, silent], expected=list(SOURCES))
        summary = work.run(configuration).end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), counts, "drops")
        check_equal(summary["packets"]["received"], count, "packets received")
        check_equal(judge.event_counts(summary), (stream.events, 0), "events")
        judge.check_files(work.path("events"), plan.expected())


def test_bad_packets():
    """The same for packets that never become a segment."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(100))
        counts = {name: 5 + number for number, name in enumerate(frames.DAMAGES)}
        for name, count in counts.items():
            plan.inject(name, count)
        path, _ = write(work, plan)
        summary = work.run(appliance.builder(work, capture_port(path), plan.stream)).end()
        evbtest.check_identities(summary)
        check_equal(summary["packets"]["other"], counts.pop("other"), "other packets")
        check_equal(evbtest.drops(summary), counts, "drops")
        judge.check_files(work.path("events"), plan.expected())


def test_late_segments():
    """What comes after its event was built is late, and changes nothing."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(100))
        again = [packet for packet in plan.packets if packet[0].source == SOURCES[2]]
        plan.packets += again
        path, _ = write(work, plan)
        summary = work.run(appliance.builder(work, capture_port(path), plan.stream)).end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {"late": len(again)}, "drops")
        judge.check_files(work.path("events"), plan.expected())


def test_discard():
    """on_incomplete discard: what misses a source is counted and not published."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(100))
        plan.lose(0.01)
        path, _ = write(work, plan)
        configuration = appliance.builder(work, capture_port(path), plan.stream,
                                          events={"deadline": "2s", "on_incomplete": "discard"})
        summary = work.run(configuration).end()
        whole = {event: blocks for event, blocks in plan.expected().items()
                 if None not in blocks.values()}
        evbtest.check_identities(summary)
        check_equal(summary["events"]["complete"], len(whole), "complete events")
        check_equal(summary["events"]["discarded"], len(plan.expected()) - len(whole),
                    "discarded events")
        judge.check_files(work.path("events"), whole)


def test_damaged_blocks():
    """Blocks that are whole but no MFPs: their places hold error MFPs of type 95."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(100))
        expected = plan.expected()
        damaged = set()
        for number, (segment, damage) in enumerate(plan.packets):
            if segment.offset == 0 and number % 37 == 0:
                payload = b"\xff" + bytes(segment.payload[1:])  # not the magic number
                plan.packets[number] = segment.changed(payload=payload), damage
                expected[segment.event][segment.source] = judge.MALFORMED
                damaged.add(segment.event)
        path, _ = write(work, plan)
        summary = work.run(appliance.builder(work, capture_port(path), plan.stream)).end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(judge.event_counts(summary), (100 - len(damaged), len(damaged)), "events")
        judge.check_files(work.path("events"), expected)


def test_ether_type():
    """Transport `eth`: segments right behind the EtherType, with and without VLAN tag."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(100))
        framer = frames.Framer()
        path = work.path("packets.pcap")
        frames.write_capture(path, (
            framer.ether_frame(b"".join(plan.datagram_parts(segment)),
                               vlan=3 << 13 | 7 if number % 2 else None)
            for number, (segment, _) in enumerate(plan.all_packets())))
        configuration = appliance.builder(work, capture_port(path), plan.stream,
                                          transport={"kind": "eth"})
        summary = work.run(configuration).end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        judge.check_files(work.path("events"), plan.expected())


def test_port_range_and_builders():
    """Several UDP ports, and events sharded over several builders."""
    with evbtest.Workspace() as work:
        plan = ejfat_sender.Plan(stream_of(300))
        framers = [frames.Framer(destination_port=20000 + number) for number in range(5)]
        path = work.path("packets.pcap")
        frames.write_capture(path, (
            framers[segment.source % 5].frame(b"".join(plan.datagram_parts(segment)))
            for segment, _ in plan.all_packets()))
        configuration = appliance.builder(work, capture_port(path), plan.stream,
                                          transport={"udp_port": 20000, "udp_ports": 4})
        builders = [{**configuration["builders"][0], "name": f"b{number}"} for number in range(3)]
        configuration["builders"] = builders
        unheard = [source for source in SOURCES if source % 5 == 4]
        configuration["sources"]["expected"] = [source for source in SOURCES
                                                if source not in unheard]
        summary = work.run(configuration).end()
        evbtest.check_identities(summary)
        refused = sum(segment.source in unheard for segment, _ in plan.all_packets())
        check_equal(evbtest.drops(summary), {"unknown_port": refused}, "drops")
        expected = {event: {source: block for source, block in blocks.items()
                            if source not in unheard}
                    for event, blocks in plan.expected().items()}
        judge.check_files(work.path("events"), expected)


if __name__ == "__main__":
    evbtest.main()
