# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Captures of RoCE, replayed: what connections sent is sent again over others, whose numbers, keys
and addresses are new, and the events are exact again."""

import json
import os
import random
import select
import signal
import socket
import struct
import threading
import time

import appliance
import ejfat_sender
import evbtest
import frames
import judge
import network
import roce_requester
import telemetry
from evbtest import check, check_equal

SOURCES = range(0x1001, 0x1005)
EVENTS = 300
BOARD = roce_requester.Address(bytes.fromhex("020000000099"), socket.inet_aton("10.0.0.99"))
OTHER = roce_requester.Address(bytes.fromhex("020000000098"), socket.inet_aton("10.0.0.98"))
FIRST_PSN = 0xFFFF00  # wraps
FRAMES = 4096  # of a port's rings: the kernel clears these at each start
OWN = "10.0.0.9"  # of no kernel: it would answer with ICMP what it has no socket for


class Sniffer:
    """Captures RoCE packets in both directions on a namespace's device until it is left."""

    def __init__(self, namespace, path):
        self._path = path
        self._frames = []
        self._socket = namespace.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self._socket.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
        self._socket.bind((namespace.device, 3))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while True:
            if not select.select([self._socket], [], [], 0.2)[0]:
                if self._ended.is_set():
                    return
                continue
            data = self._socket.recv(65536)
            if data[12:14] == b"\x08\x00" and data[36:38] == b"\x12\xb7":
                self._frames.append(data)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()
        self._socket.close()
        frames.write_capture(self._path, self._frames)


class Recorder:
    """In the place of roce_requester's wire: what a lossy wire shows to who captures behind it.
    Answers come at once, as a responder gives them."""

    def __init__(self, own, lose=0.0, seed=1):
        self.own, self.peer = own, OTHER
        self.frames = []
        self.lost = 0
        self._lose = lose
        self._random = random.Random(seed)
        self._expected = {}
        self._answers = []

    def expect(self, pair):
        self._expected[pair.peer_qpn] = pair.first_psn, pair.own_qpn, False

    def send(self, headers, payload=b"", source_port=0xC123):
        self.frames.append(roce_requester.frame(self.own, self.peer, headers, payload,
                                                source_port))
        if self._random.random() < self._lose:
            self.lost += 1
            return
        _, _, _, qpn, psn = struct.unpack_from("!BBHII", headers)
        expected, own, is_silent = self._expected[qpn]
        if psn & 0xFFFFFF == expected:
            self._expected[qpn] = (expected + 1) & 0xFFFFFF, own, False
            if psn >> 31:
                self._answer(own, expected, 0x1F)
        elif not is_silent and (psn - expected) & 0xFFFFFF < 1 << 23:
            self._expected[qpn] = expected, own, True
            self._answer(own, expected, roce_requester.NAK_SEQUENCE)

    def _answer(self, qpn, psn, syndrome):
        body = roce_requester.bth(roce_requester.ACKNOWLEDGE, qpn, psn)
        body += struct.pack("!I", syndrome << 24)
        self.frames.append(roce_requester.frame(self.peer, self.own, body))
        self._answers.append(roce_requester.Answer(body))

    def flush(self):
        pass

    def receive(self, _):
        answers, self._answers = self._answers, []
        return answers


def stream_of(events=EVENTS):
    return ejfat_sender.Stream(SOURCES, events, packing=10, size=(0, 800), first_event=1000)


def record(path, stream, operations, kinds=None, lose=0.0, end_of_run=True):
    """Writes a capture of boards that send the stream; returns the wire."""
    wire = Recorder(BOARD, lose)
    pairs = []
    for number, (source, operation) in enumerate(zip(stream.sources, operations)):
        name, _, immediate = operation.partition("_")
        service = roce_requester.UC if kinds and kinds[number] == "uc" else 0
        pair = roce_requester.QueuePair(0x700 + number, 0x33 + number, FIRST_PSN + number,
                                        service=service,
                                        region=(0x7F0012340000 + 4096 * number, 0xBEEF),
                                        source_port=0xC000 + number)
        for index, blocks in enumerate(stream.blocks):
            pair.post(blocks[source], name, index if immediate else None)
        if end_of_run:
            pair.post(ejfat_sender.encode_mfp(source, ejfat_sender.END_OF_RUN, []), name)
        wire.expect(pair)
        pairs.append(pair)
    roce_requester.run(wire, pairs, 1e9)
    frames.write_capture(path, wire.frames)
    return wire


def receiver(work, net, stream, connection="cm", pairs=(), **changes):
    port = {"name": "wire", "profile": "af_packet", "device": net.evb.device, "mtu": 1500,
            "address": f"{network.EVB_ADDRESS}/24", "options": {"framecnt": FRAMES}}
    roce = {"connection": connection, "path_mtu": 1024}
    if pairs:
        roce["queue_pairs"] = list(pairs)
    return appliance.builder(work, port, stream, 256, transport={"kind": "roce"}, roce=roce,
                             **changes)


def replay(work, path, *arguments, **options):
    summary = work.path("replay.json")
    process = work.evb("replay", path, "--summary", summary, *arguments, summary=summary,
                       **options)
    return process


def to_evb(net):
    return ("--to", network.EVB_ADDRESS, "--device", net.host.device, "--address", f"{OWN}/24",
            "--mtu", "1500", "--set", f"ports[0].options.framecnt={FRAMES}")


def check_exact(evb, stream, directory, end=True):
    summary = evb.end() if end else evb.drain()
    evbtest.check_identities(summary)
    check_equal(evbtest.drops(summary), {}, "drops")
    check_equal(judge.event_counts(summary), (len(stream.blocks), 0), "events")
    judge.check_files(directory, stream.expected())


def test_round_trip():
    """Generators' messages, captured on the wire and sent again over new connections, are the
    same events in another appliance."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream = stream_of(100)
        capture = work.path("captured.pcap")
        ids = f"{SOURCES[0]}-{SOURCES[-1]}"
        first = work.run(receiver(work, net, stream), namespace=net.evb)
        with Sniffer(net.evb, capture):
            process = work.evb("gen", "--transport", "roce", "--operation", "write_imm",
                               *to_evb(net), "--sources", ids, "--packing", "10",
                               "--events", "200", "--rate", "400", namespace=net.host)
            check_equal(process.status, 0, f"status of {process.describe()}")
            built = first.end()
        check_equal(judge.event_counts(built), (200, 0), "events of the generator")
        found = judge.read_directory(work.path("events"))
        judge.remove_files(work.path("events"))
        second = work.run(receiver(work, net, stream), namespace=net.evb)
        process = replay(work, capture, *to_evb(net), namespace=net.host)
        check_equal(process.status, 0, f"status of {process.describe()}")
        built = second.end()
        check_equal(judge.event_counts(built), (200, 0), "events of the replay")
        judge.check_events(judge.read_directory(work.path("events")), found)
        check("4 connections" in process.output() and "200 events" in process.output(),
              process.describe())


def test_losses_of_the_capture():
    """Captured on a wire that loses: what was sent again is taken from there."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream, path = stream_of(), work.path("lossy.pcap")
        wire = record(path, stream, ["send", "send_imm", "write", "write_imm"], lose=0.02)
        check(wire.lost > 20, f"the wire lost {wire.lost}")
        evb = work.run(receiver(work, net, stream), namespace=net.evb)
        process = replay(work, path, *to_evb(net), namespace=net.host)
        check_equal(process.status, 0, f"status of {process.describe()}")
        check_exact(evb, stream, work.path("events"))


def test_into_files():
    """Without another appliance: builders and connections in one process."""
    with evbtest.Workspace() as work:
        for operations, kinds in ((["send", "send_imm", "write", "write_imm"], None),
                                  (["send", "write", "write_imm", "send_imm"], ["uc"] * 4)):
            stream, path = stream_of(), work.path("capture.pcap")
            record(path, stream, operations, kinds, end_of_run=kinds is None)
            out = work.folder("replayed")
            process = replay(work, path, "--out", out)
            check_equal(process.status, 0, f"status of {process.describe()}")
            check_exact_files(process, stream, out)
            judge.remove_files(out)


def test_two_runs_behind_other_packets():
    """Boards that are started again use the same queue pairs and packet numbers."""
    with evbtest.Workspace() as work:
        path, out = work.path("capture.pcap"), work.folder("replayed")
        runs = [ejfat_sender.Stream(SOURCES, 30, packing=10, size=(0, 800), first_event=first)
                for first in (1000, 5000)]
        captured = [frame for run in runs for frame in record(
            path, run, ["send", "send_imm", "write", "write_imm"], end_of_run=False).frames]
        other = frames.other(frames.Framer().frame(b"other"))
        for n_others in (0, 10001):
            frames.write_capture(path, [other] * n_others + captured)
            process = replay(work, path, "--out", out, "--strict")
            check_equal(process.status, 0, f"status of {process.describe()}")
            check_equal(judge.event_counts(process.summary()), (60, 0), "events")
            judge.check_files(out, {**runs[0].expected(), **runs[1].expected()})
            judge.remove_files(out)


def check_exact_files(process, stream, out):
    summary = process.summary()
    evbtest.check_identities(summary)
    check_equal(evbtest.drops(summary), {}, "drops")
    check_equal(judge.event_counts(summary), (len(stream.blocks), 0), "events")
    check_equal(summary["sent"]["unacknowledged"], 0, "messages not acknowledged")
    judge.check_files(out, stream.expected())


def static_pairs(first_local, first_remote, psns, address, region=None):
    pairs = []
    for number, source in enumerate(SOURCES):
        pair = {"source": source, "type": "rc", "local_qpn": first_local + number,
                "remote_qpn": first_remote + number, "address": address, **psns}
        if region:
            pair.update(rkey=region[1] + number, virtual_address=region[0], size="1MiB")
        pairs.append(pair)
    return pairs


def test_static_queue_pairs():
    """Each captured connection onto the queue pair of its source: numbers, first PSN, key and
    address as configured."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream, path = stream_of(), work.path("capture.pcap")
        record(path, stream, ["send", "write", "send_imm", "write_imm"])
        region = 0x50000, 0xCAFE00
        ours = static_pairs(0x400, 0x200, {"local_psn": 0xFFFFF8}, "10.0.0.2", region)
        theirs = static_pairs(0x200, 0x400, {"remote_psn": 0xFFFFF8}, OWN, region)
        evb = work.run(receiver(work, net, stream, "static", theirs), namespace=net.evb)
        process = replay(work, path, *to_evb(net), "--set", "roce.connection=static",
                         "--set", f"roce.queue_pairs={json.dumps(ours)}", "--set",
                         "roce.path_mtu=1024", namespace=net.host)
        check_equal(process.status, 0, f"status of {process.describe()}")
        check_exact(evb, stream, work.path("events"))


def test_speed():
    """At the captured speed it takes as long as it did."""
    with evbtest.Workspace() as work:
        stream, path = stream_of(50), work.path("capture.pcap")
        wire = record(path, stream, ["send"] * 4)
        spread = 2_000_000_000 // len(wire.frames)
        frames.write_capture(path, wire.frames, interval_ns=spread)
        start = time.monotonic()
        process = replay(work, path, "--out", work.folder("replayed"), "--speed", "1",
                         "--deadline", "10s")
        check_equal(process.status, 0, f"status of {process.describe()}")
        check(time.monotonic() - start > 1.5, "faster than it was captured")
        check_exact_files(process, stream, work.path("replayed"))


def test_what_is_no_mfp():
    """Real conversations of other programs are sent again too; their receiver says what they
    are."""
    captures = ("rc_send_64k_mtu1024", "uc_write_64k_mtu1024", "rc_write_4k_ipv6",
                "rc_send_32k_loss3_a")
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream = stream_of(1)
        for name in captures:
            path = evbtest.shared_file(os.path.join("vectors", "roce", f"{name}.pcap"))
            evb = work.run(receiver(work, net, stream, builders=[
                {"name": "b0", "slots": 16, "slot_size": "128KiB"}]), namespace=net.evb)
            process = replay(work, path, *to_evb(net), namespace=net.host)
            check_equal(process.status, 0, f"status of {process.describe()}")
            check_equal(process.summary()["sent"]["unacknowledged"], 0, name)
            summary = evb.drain()
            evbtest.check_identities(summary)
            check(summary["segments"]["dropped"]["malformed_segment"] >= 20,
                  f"{name}: {summary['segments']}")
            check_equal(list(evbtest.drops(summary)), ["malformed_segment"], "drops")


def refused(work, text, *arguments, **options):
    """Ends with status 1 and one line that says why."""
    process = work.evb("replay", *arguments, **options)
    check_equal(process.status, 1, f"status of {process.describe()}")
    lines = [line for line in process.errors().splitlines() if text in line]
    check_equal(len(lines), 1, f"lines with \"{text}\" of {process.describe()}")


def test_refusals():
    with evbtest.Workspace() as work:
        out = work.folder("out")
        stream, path = stream_of(5), work.path("capture.pcap")
        record(path, stream, ["send"] * 4)
        plan = ejfat_sender.Plan(ejfat_sender.Stream(SOURCES, 5, packing=2, size=(0, 100)))
        other = work.path("ejfat.pcap")
        frames.write_capture(other, plan.frames(None))
        to = ("--to", "10.0.0.2", "--device", "nowhere", "--address", "10.0.0.1/24")
        refused(work, "there are no RoCE packets", other, *to)
        refused(work, "--out or", path)
        refused(work, "--out or", path, "--out", out, *to)
        refused(work, "--device", path, "--to", "10.0.0.2")
        refused(work, "with --to only", path, "--out", out, "--mtu", "9000")
        refused(work, "mtu", path, *to, "--mtu", "many")
        refused(work, "has no queue pair, or one whose", path, "--out", out, "--set",
                "roce.connection=static")
        try:
            vector = evbtest.shared_file(os.path.join("vectors", "roce", "rc_send_3b.pcap"))
        except evbtest.Skip:
            return
        refused(work, "none is an MFP", vector, "--out", out)


def test_no_such_connection():
    """A receiver without RDMA CM at that port, or without that queue pair: it ends, and says how
    many messages did not get through."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream, path = stream_of(5), work.path("capture.pcap")
        record(path, stream, ["send"] * 4)
        evb = work.run(receiver(work, net, stream), namespace=net.evb)
        static = json.dumps(static_pairs(0x400, 0x200, {}, "10.0.0.2"))
        for arguments in (("--set", "roce.cm_service=7"),
                          ("--set", "roce.connection=static", "--set",
                           f"roce.queue_pairs={static}", "--set", "roce.timeout=10")):
            process = replay(work, path, *to_evb(net), "--strict", *arguments,
                             namespace=net.host)
            check_equal(process.status, 2, f"status of {process.describe()}")
            check("24 messages were not acknowledged" in process.output(), process.describe())
        evb.drain()


def unheard(work, net, what, command, last="0 messages were not acknowledged, 24 had no"):
    """A sender without a receiver: one line after 5 s, one at the end, and status 1."""
    process = work.start(evbtest.binary(), *command, *to_evb(net), "--to-mac",
                         net.evb.hardware_address().hex(":"), namespace=net.host)
    if command[0] == "gen":
        process.wait_until(lambda: what in process.errors(), what, timeout=15)
        sent = net.host.sent()
        process.wait_until(lambda: net.host.sent() >= sent + 2, "it asks again")
        process.signal(signal.SIGTERM)
    process.finish()
    check_equal(process.status, 1, f"status of {process.describe()}")
    lines = process.errors().splitlines()
    check_equal(sum(what in line for line in lines), 1, f"lines with {what}")
    check_equal(sum(f"not everything was sent: {last}" in line for line in lines), 1,
                f"last line of {lines}")


def test_nobody_takes_the_data():
    """gen and replay report that nobody responds, or why they are refused."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream, path = stream_of(5), work.path("capture.pcap")
        record(path, stream, ["send"] * 4)
        gen = ["gen", "--transport", "roce", "--sources", "1-4", "--events", "6"]
        unheard(work, net, "10.0.0.2, RDMA CM port 19523, does not respond; 0 of 4", gen)
        unheard(work, net, "RDMA CM port 19523, does not respond; 0 of 4", ["replay", path],
                "24 messages were not acknowledged")
        evb = work.run(receiver(work, net, stream), namespace=net.evb)
        unheard(work, net, "RDMA CM port 7, refuses connections, reason 8: nobody listens",
                [*gen, "--set", "roce.cm_service=7"])
        evb.drain()


def test_receiver_leaves():
    """What it has not acknowledged makes the sender's status 1."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        evb = work.run(receiver(work, net, stream_of(1)), namespace=net.evb)
        process = work.start(evbtest.binary(), "gen", "--transport", "roce", *to_evb(net),
                             "--sources", "0x1001-0x1004", "--packing", "10", "--events", "60000",
                             "--rate", "1000", namespace=net.host)
        evb.wait_until(lambda: telemetry.summary(evb.name)["segments_placed"] > 0, "it receives")
        evb.drain()
        sent = net.host.sent()
        process.wait_until(lambda: net.host.sent() >= sent + 10, "it sends to nobody")
        process.signal(signal.SIGTERM)
        process.finish()
        check_equal(process.status, 1, f"status of {process.describe()}")
        check("not everything was sent: " in process.errors(), process.describe())


if __name__ == "__main__":
    evbtest.main()
