# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""evb's af_xdp port on a veth pair that the kernel goes on using.

    kernel host, 10.0.0.1             kernel, 10.0.0.3, and evb, 10.0.0.2
        [ veth-a ] ------------------------ [ veth-b ]
"""

import contextlib
import hashlib
import json
import os
import random
import signal
import socket
import subprocess
import threading
import time

import appliance
import ejfat_sender
import evbtest
import frames
import judge
import network
import telemetry
from evbtest import check, check_equal

SOURCES = range(0x1001, 0x1009)
STRANGER = 0x2001
RATE = 8000  # packets a second: what one shared CPU takes, sender and evb together
KERNEL_ADDRESS = "10.0.0.3"
LARGEST_MTU = 3434


def ip(*arguments):
    """Runs ip; returns its output."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    check_equal(done.returncode, 0, f"status of ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def attached(namespace, device=None):
    """What XDP program is on an interface, as ip tells; None: none."""
    listed = json.loads(ip("-n", namespace.name, "-json", "-details", "link", "show", "dev",
                           device or namespace.device))
    return listed[0].get("xdp")


def port(net, mtu=1500, **keys):
    return {"name": "wire", "profile": "af_xdp", "device": net.evb.device, "mtu": mtu,
            "address": f"{network.EVB_ADDRESS}/24", **keys}


def start(work, net, configuration):
    """Starts evb, or skips where this machine or this build cannot steer."""
    try:
        return work.run(configuration, namespace=net.evb)
    except evbtest.Failure as failure:
        for reason in ("built without XDP", "the kernel refused the BPF program"):
            if reason in str(failure):
                evbtest.skip(reason)
        raise


def make_network(work, mtu=1500, kernel_address=True):
    net = work.enter(network.Network(mtu))
    if kernel_address:
        ip("-n", net.evb.name, "address", "add", f"{KERNEL_ADDRESS}/24", "dev", net.evb.device)
    return net


def udp_to_evb(work, net):
    """A socket to evb, whose Ethernet address is known: the kernel queues but few packets for an
    answer to ARP."""
    check_equal(network.ping(net.host, network.EVB_ADDRESS, 1), 1, "pings of evb")
    udp = work.enter(contextlib.closing(net.host.socket(socket.AF_INET, socket.SOCK_DGRAM)))
    return ejfat_sender.connect(udp, network.EVB_ADDRESS)


def raw_socket(work, net):
    raw = work.enter(contextlib.closing(net.host.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)))
    raw.bind((net.host.device, 0))
    return raw


def framer(net, **options):
    return frames.Framer(source=network.HOST_ADDRESS, destination=network.EVB_ADDRESS,
                         source_mac=net.host.hardware_address().hex(),
                         destination_mac=net.evb.hardware_address().hex(), **options)


def steering(evb):
    """What telemetry tells of the port's steering."""
    with telemetry.Telemetry(evb.name) as client:
        return client.query("/evb/xdp/info", "wire")


def settled(evb, packets):
    """The steering's counters, once so many packets beside ARP and ping came or were missed."""
    def is_settled():
        found = telemetry.summary(evb.name)
        return (found["packets_received"] - found["packets_arp"] - found["packets_icmp_echo"] +
                found["packets_missed"]) >= packets
    evb.wait_until(is_settled, f"{packets} packets received")
    return steering(evb)


def dropped(found):
    """Of the steering's counters: those of packets that were dropped, by cause."""
    causes = ("unknown_source", "unknown_address", "too_long", "no_socket", "ring_full")
    return {cause: found[f"{cause}_packets"] for cause in causes if found[f"{cause}_packets"]}


def check_sums(found, summary):
    """What was redirected is what the port received, but for what its rings lost."""
    packets = summary["packets"]
    lost = found["too_long_packets"] + found["no_socket_packets"]
    check_equal(packets["received"] + packets["missed"] - lost, found["redirected_packets"],
                "packets received, of those redirected")


def drained(evb, stream, work, expected, missed=0):
    """Ends the run and judges it. Returns the summary."""
    summary = evb.drain()
    evbtest.check_identities(summary, missed)
    check_equal(judge.event_counts(summary), (stream.events, 0), "complete, incomplete events")
    judge.check_files(work.path("events"), expected)
    return summary


# --- the kernel beside -------------------------------------------------------------------------


class TcpTransfer:
    """Bytes from the host's kernel to the one that evb shares its interface with."""

    SIZE = 8 << 20

    def __init__(self, work, net):
        self._server = work.enter(contextlib.closing(net.evb.socket()))
        self._server.bind((KERNEL_ADDRESS, 0))
        self._server.listen(1)
        self._server.settimeout(evbtest.PATIENCE_S)
        self._net = net
        self.sent, self.received = hashlib.sha256(), hashlib.sha256()
        self._errors = []
        self._threads = [threading.Thread(target=self._guarded, args=(part,), daemon=True)
                         for part in (self._receive, self._send)]
        for thread in self._threads:
            thread.start()

    def _guarded(self, part):
        try:
            part()
        except OSError as error:
            self._errors.append(error)

    def _send(self):
        with self._net.host.socket() as client:
            client.settimeout(evbtest.PATIENCE_S)
            client.connect(self._server.getsockname())
            noise = random.Random(7)
            for _ in range(self.SIZE >> 16):
                block = noise.randbytes(1 << 16)
                self.sent.update(block)
                client.sendall(block)

    def _receive(self):
        connection, _ = self._server.accept()
        connection.settimeout(evbtest.PATIENCE_S)
        with connection:
            while block := connection.recv(1 << 16):
                self.received.update(block)

    def check(self):
        for thread in self._threads:
            thread.join(evbtest.PATIENCE_S)
            check(not thread.is_alive(), "the TCP transfer hangs")
        check_equal(self._errors, [], "errors of the TCP transfer")
        check_equal(self.received.digest(), self.sent.digest(), "digest of what TCP carried")


def test_events_beside_the_kernel():
    """Events are exact, and ping and TCP on the same interface do not notice."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 600, 10, (0, 400), first_event=10_000)
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        evb = start(work, net, appliance.builder(work, port(net), stream))
        transfer = TcpTransfer(work, net)
        sender = threading.Thread(target=plan.send, args=(udp_to_evb(work, net), RATE, telemetry.taken(evb.name)))
        sender.start()
        check_equal(network.ping(net.host, KERNEL_ADDRESS, count=5), 5, "pings of the kernel")
        check_equal(network.ping(net.host, network.EVB_ADDRESS, count=5), 5, "pings of evb")
        sender.join()
        transfer.check()
        found = settled(evb, plan.good)
        summary = drained(evb, stream, work, plan.expected())
        check_equal(summary["segments"]["received"], plan.good, "segments received")
        check_equal(summary["packets"]["icmp_echo"], 1 + 5, "echo requests that evb answered")
        check_equal(evbtest.drops(summary), {}, "drops of evb")
        check_equal(dropped(found), {}, "drops of the steering")
        check_sums(found, summary)
        check(found["passed_bytes"] > TcpTransfer.SIZE, f"TCP did not pass: {found}")
        check_equal((found["mode"], found["zero_copy"]), ("native", 0), "mode and zero copy")
        check("veth-b: XDP native mode, copying" in evb.errors(), "the mode is not told")


def test_faster_than_it_can_receive():
    """Whatever is lost is counted, and the kernel's part of the traffic still goes on."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 2000, 10, (0, 400))
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        evb = start(work, net, appliance.builder(work, port(net), stream, writers=[]))
        transfer = TcpTransfer(work, net)
        udp = udp_to_evb(work, net)
        evb.suspend()  # the buffers that the driver gave the kernel run out
        for segment, _ in plan.packets[:4000]:
            udp.sendmsg(plan.datagram_parts(segment))
        check_equal(network.ping(net.host, KERNEL_ADDRESS, count=3), 3, "pings of the kernel")
        reached = 4000 - net.host.not_sent()
        evb.signal(signal.SIGCONT)
        for segment, _ in plan.packets[4000:]:
            udp.sendmsg(plan.datagram_parts(segment))
        check_equal(network.ping(net.host, KERNEL_ADDRESS, count=3), 3, "pings of the kernel")
        transfer.check()
        # The kernel drops at the sender what has no room in the receiving interface's queue.
        least = plan.good - net.host.not_sent()
        found = settled(evb, least)
        summary = evb.drain()
        check_sums(found, summary)
        packets = summary["packets"]
        arrived = found["redirected_packets"] - packets["arp"] - packets["icmp_echo"]
        check(least <= arrived <= plan.good, f"{arrived} packets arrived, at least {least} were sent")
        evbtest.check_identities(summary, missed=arrived - summary["segments"]["received"])
        check(packets["missed"] >= reached - 2048,
              f"only {packets['missed']} missed of {reached}, of which 2048 had room")
        check(summary["losses"], "losses are not told")


def test_as_fast_as_a_kernel_sends():
    """Ten gigabits of events, sent as fast as the kernel can, which is more than one CPU takes: each
    packet is counted once, and ping and TCP on the same interface do not notice."""
    loops = 26
    with evbtest.Workspace() as work:
        net = make_network(work, LARGEST_MTU)
        # Each block is one segment. From the second loop on they are late.
        stream = ejfat_sender.Stream(SOURCES, 2000, 10, (280, 320))
        plan = ejfat_sender.Plan(stream, LARGEST_MTU, end_of_run=False)
        capture = work.path("events.pcap")
        check_equal(frames.write_capture(capture, plan.frames(framer(net))), plan.good, "frames")
        evb = start(work, net, appliance.builder(work, port(net, LARGEST_MTU), stream, writers=[]))
        transfer = TcpTransfer(work, net)
        replay = work.start("tcpreplay", "--topspeed", "--preload-pcap", f"--loop={loops}",
                            f"--intf1={net.host.device}", capture, namespace=net.host)
        check_equal(network.ping(net.host, KERNEL_ADDRESS, count=5), 5, "pings of the kernel")
        replay.finish()
        check_equal(replay.status, 0, replay.describe())
        transfer.check()
        sent = loops * plan.good
        found = settled(evb, sent)
        summary = evb.drain()
        evbtest.check_identities(summary, missed=sent - summary["segments"]["received"])
        check_sums(found, summary)
        check_equal(found["redirected_packets"], summary["packets"]["arp"] +
                    summary["packets"]["icmp_echo"] + sent, "redirected packets")
        check_equal(set(dropped(found)) - {"ring_full"}, set(), "causes of drops")
        check(found["redirected_bytes"] * 8 > 10**10, f"only {found['redirected_bytes']} bytes")
        check(found["passed_bytes"] > TcpTransfer.SIZE, f"TCP did not pass: {found}")
        rated = next(line for line in replay.lines if "Rated" in line)
        print(f"{rated.strip()}; {summary['segments']['received']} of {sent} received")


def test_without_hugepages():
    """The sockets' memory may be ordinary memory."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 300, 10, (0, 400))
        plan = ejfat_sender.Plan(stream)
        evb = start(work, net, appliance.builder(work, port(net), stream,
                                                 memory={"kind": "shm"}))
        plan.send(udp_to_evb(work, net), RATE, telemetry.taken(evb.name))
        summary = evb.end()
        evbtest.check_identities(summary)
        judge.check_files(work.path("events"), plan.expected())


def test_generic_mode():
    """An interface whose driver has no XDP: the kernel runs the program behind it."""
    device = "macvlan-b"
    with evbtest.Workspace() as work:
        net = make_network(work, kernel_address=False)
        ip("-n", net.evb.name, "link", "add", device, "link", net.evb.device, "type", "macvlan")
        ip("-n", net.evb.name, "link", "set", device, "up")
        stream = ejfat_sender.Stream(SOURCES, 100, 10, (0, 400))
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        evb = start(work, net, appliance.builder(work, port(net, device=device), stream))
        plan.send(udp_to_evb(work, net), RATE, telemetry.taken(evb.name))
        found = settled(evb, plan.good)
        summary = drained(evb, stream, work, plan.expected())
        check_sums(found, summary)
        check_equal(found["mode"], "generic", "mode")
        check_equal(attached(net.evb, device), None, "program after the end")


def test_ether_type():
    """Segments right behind an EtherType; those of other EtherTypes are the kernel's."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 60, 10, (100, 400))
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        evb = start(work, net, appliance.builder(work, port(net), stream,
                                                 transport={"kind": "eth"}))
        make, raw = framer(net), raw_socket(work, net)
        pace = ejfat_sender.Pace(RATE)
        for segment, _ in plan.all_packets():
            payload = b"".join(plan.datagram_parts(segment))
            raw.send(make.ether_frame(payload))
            raw.send(make.ether_frame(payload, ether_type=0x88B6))
            pace.step()
        found = settled(evb, plan.good)
        summary = drained(evb, stream, work, plan.expected())
        check_sums(found, summary)
        check(found["passed_packets"] >= plan.good, f"other EtherTypes did not pass: {found}")
        check_equal(dropped(found), {}, "drops of the steering")


def test_tagged_and_bad_packets():
    """VLAN tags are looked behind; what is wrong is counted under its exact cause by evb."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 60, 10, (100, 400))
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        counts = {name: 5 + number for number, name in enumerate(frames.DAMAGES)}
        for name, count in counts.items():
            plan.inject(name, count)
        plan.inject("malformed_segment", 3)
        counts["malformed_segment"] = 3
        evb = start(work, net, appliance.builder(work, port(net), stream))
        make, raw = framer(net), raw_socket(work, net)
        pace, tag = ejfat_sender.Pace(RATE), random.Random(1)
        for segment, damage in plan.all_packets():
            payload = b"".join(plan.datagram_parts(segment))
            if damage:
                raw.send(frames.DAMAGES[damage](make.frame(payload)))
            else:
                raw.send(make.frame(payload, vlan=tag.choice((None, 5 << 13 | 100))))
            pace.step()
        # What is not for evb never comes there.
        passed = counts.pop("unknown_port") + counts.pop("other")
        found = settled(evb, plan.good + sum(counts.values()))
        summary = drained(evb, stream, work, plan.expected())
        check_equal(evbtest.drops(summary), counts, "drops of evb")
        check_equal(summary["packets"]["other"], 0, "other packets")
        check_sums(found, summary)
        check(found["passed_packets"] >= passed, f"passed to the kernel: {found}")


# --- who is admitted ---------------------------------------------------------------------------


def test_strangers():
    """Packets of unknown sources are dropped before they cost anything, and told."""
    count = 200
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 200, 10, (200, 400))
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        plan.inject("unknown_source", count, stranger=STRANGER)
        evb = start(work, net, appliance.builder(work, port(net), stream))
        plan.send(udp_to_evb(work, net), RATE, telemetry.taken(evb.name))
        found = settled(evb, plan.good)
        with telemetry.Telemetry(evb.name) as client:
            strangers = client.query("/evb/xdp/strangers", "wire")
            each = {source: client.query("/evb/xdp/source", f"wire,{source}")
                    for source in SOURCES}
            check("error" in client.query("/evb/xdp/source", f"wire,{STRANGER}"),
                  "a stranger has counters")
        summary = drained(evb, stream, work, plan.expected())
        check_equal(dropped(found), {"unknown_source": count}, "drops of the steering")
        check_equal(evbtest.drops(summary), {}, "drops of evb")
        check_sums(found, summary)
        check_equal(strangers, {"strangers": 1, "stranger_0": {
            "address": network.HOST_ADDRESS, "source": STRANGER, "packets": count}}, "strangers")
        check_equal({source["id"]: source["segments"] for source in summary["sources"]["list"]},
                    {source: counter["redirected_packets"] for source, counter in each.items()},
                    "segments of each source and what the steering counted")


def test_live_changes():
    """Sources and addresses are admitted and refused while packets come in."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream([*SOURCES, STRANGER], 1, 1, (10, 20))
        configuration = appliance.builder(work, port(net), stream)
        configuration["sources"]["ids"] = list(SOURCES)
        evb = start(work, net, configuration)
        udp = udp_to_evb(work, net)
        client = work.enter(telemetry.Telemetry(evb.name))
        segments = {segment.source: segment for segment, _ in ejfat_sender.Plan(
            stream, end_of_run=False).packets}

        def fate(source):
            """What one packet of the source counts as."""
            before = steering(evb)
            udp.sendmsg((segments[source].header(), segments[source].payload))
            after = before
            names = [f"{name}_packets" for name in ("redirected", "unknown_source",
                                                    "unknown_address")]
            end = time.monotonic() + evbtest.PATIENCE_S
            while all(after[name] == before[name] for name in names):
                check(time.monotonic() < end, "the packet was not counted")
                after = steering(evb)
            return [name.rsplit("_", 1)[0] for name in names if after[name] > before[name]]

        def change(verb, who):
            return client.query(f"/evb/xdp/{verb}", f"wire,{who}")

        check_equal(fate(STRANGER), ["unknown_source"], "fate of a stranger")
        check_equal(change("admit", STRANGER), {"changed": 1}, "answer to admit")
        check_equal(change("admit", STRANGER), {"error": "admitted already"}, "second answer")
        check_equal(fate(STRANGER), ["redirected"], "fate of a source that was admitted")
        check_equal(change("refuse", hex(SOURCES[0])), {"changed": 1}, "answer to refuse")
        check_equal(change("refuse", SOURCES[0]), {"error": "not admitted"}, "second answer")
        check_equal(fate(SOURCES[0]), ["unknown_source"], "fate of a source that was refused")
        check_equal(change("admit", "10.9.9.9"), {"changed": 1}, "answer to an address")
        check_equal(fate(SOURCES[1]), ["unknown_address"], "fate beside the listed address")
        check_equal(change("admit", network.HOST_ADDRESS), {"changed": 1}, "answer")
        check_equal(fate(SOURCES[1]), ["redirected"], "fate of a listed address")
        check_equal(change("refuse", network.HOST_ADDRESS), {"changed": 1}, "answer")
        check_equal(change("refuse", "10.9.9.9"), {"changed": 1}, "answer")
        check_equal(fate(SOURCES[1]), ["redirected"], "fate without a list")
        check("error" in change("admit", "70000"), "a number that is no source id is admitted")
        check("error" in client.query("/evb/xdp/info", "bogus"), "there is a port of no name")
        check_equal(client.query("/evb/xdp/list"), ["wire"], "ports that are steered")
        evb.drain()


# --- frames that are too long ------------------------------------------------------------------


def test_largest_mtu():
    with evbtest.Workspace() as work:
        net = make_network(work, LARGEST_MTU)
        stream = ejfat_sender.Stream(SOURCES, 300, 10, (0, 2000))
        plan = ejfat_sender.Plan(stream, LARGEST_MTU, end_of_run=False)
        evb = start(work, net, appliance.builder(work, port(net, LARGEST_MTU), stream))
        check_equal(network.ping(net.host, network.EVB_ADDRESS, 1, LARGEST_MTU - 28), 1,
                    "pings of the MTU's size")
        plan.send(udp_to_evb(work, net), RATE, telemetry.taken(evb.name))
        found = settled(evb, plan.good)
        summary = drained(evb, stream, work, plan.expected())
        check_equal(dropped(found), {}, "drops of the steering")
        check_sums(found, summary)


def test_jumbo_interface():
    """The kernel keeps its jumbo frames; event traffic that no buffer can hold is counted."""
    mtu, count = 9000, 20
    with evbtest.Workspace() as work:
        net = make_network(work, mtu)
        stream = ejfat_sender.Stream(SOURCES, 60, 10, (100, 400))
        plan = ejfat_sender.Plan(stream, end_of_run=False)
        evb = start(work, net, appliance.builder(work, port(net), stream))
        check_equal(network.ping(net.host, KERNEL_ADDRESS, 3, mtu - 28), 3, "jumbo pings")
        udp = udp_to_evb(work, net)
        for number in range(count):
            udp.send(bytes(3500 + number * 250))
        plan.send(udp, RATE)
        found = settled(evb, plan.good + count)
        summary = drained(evb, stream, work, plan.expected(), missed=count)
        check_equal(dropped(found), {"too_long": count}, "drops of the steering")
        check_sums(found, summary)
        check(summary["losses"], "losses are not told")


def test_mtu_above_the_driver():
    with evbtest.Workspace() as work:
        net = make_network(work, 9000)
        stream = ejfat_sender.Stream(SOURCES, 1)
        file = work.write("evb.json", appliance.builder(work, port(net, 9000), stream))
        failed = work.start(evbtest.binary(), "run", file, namespace=net.evb).finish()
        check_equal(failed.status, 1, "status")
        check("ports[0].mtu: 9000 is above what profile af_xdp can carry, 3434"
              in failed.errors(), failed.describe())


# --- the end -----------------------------------------------------------------------------------


def test_nothing_stays():
    """Neither the end, nor being killed, leaves a program on the interface."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 30)
        for end in (signal.SIGTERM, signal.SIGKILL, signal.SIGKILL):
            evb = start(work, net, appliance.builder(work, port(net), stream))
            check_equal(attached(net.evb)["mode"], 1, "mode of the program, 1 is native")
            check_equal(network.ping(net.host, network.EVB_ADDRESS, 1), 1, "pings of evb")
            evb.signal(end)
            evb.finish()
            check_equal(attached(net.evb), None, f"program after signal {end}")
            check_equal(network.ping(net.host, KERNEL_ADDRESS, 1), 1, "pings of the kernel")
        check(not os.path.exists("/sys/fs/bpf/evb_steer"), "something is pinned")


def test_taken_interface():
    """A second evb says who has the interface, and disturbs nothing."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        stream = ejfat_sender.Stream(SOURCES, 100, 10)
        plan = ejfat_sender.Plan(stream)
        evb = start(work, net, appliance.builder(work, port(net), stream))
        file = work.write("second.json", appliance.builder(work, port(net), stream))
        second = work.start(evbtest.binary(), "run", file, namespace=net.evb).finish()
        check_equal(second.status, 1, "status of the second")
        check("interface veth-b: another evb receives from it" in second.errors(),
              second.describe())
        plan.send(udp_to_evb(work, net), RATE, telemetry.taken(evb.name))
        evbtest.check_identities(evb.end())
        judge.check_files(work.path("events"), plan.expected())


# --- sending -----------------------------------------------------------------------------------


def test_sender():
    """Two evb, both on AF_XDP: the sender's address is its kernel's, the receiver's its own."""
    with evbtest.Workspace() as work:
        net = make_network(work)
        ids, count, packing = list(SOURCES), 200, 10
        common = {"sources": {"ids": ids, "packing": packing}}
        receiver = start(work, net, {
            "name": work.name(), **common, "ports": [port(net)],
            "builders": [{"name": "b0", "slots": 64, "slot_size": "1MiB"}],
            "events": {"deadline": "30s"},
            "writers": [{"name": "files", "directory": work.folder("events"),
                         "format": "mep"}]})
        sender = work.run({
            "name": work.name(), **common,
            "ports": [{"name": "out", "profile": "af_xdp", "device": net.host.device,
                       "address": f"{network.HOST_ADDRESS}/24"}],
            "generators": [{"name": "boards", "port": "out", "events": count, "rate": 400,
                            "size": {"law": "fixed", "mean": 300},
                            "destination": {"address": network.EVB_ADDRESS}}]},
                          namespace=net.host)
        sender.end()
        summary = receiver.end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(judge.event_counts(summary), (count, 0), "events")
        for path in judge.files(work.path("events")):
            check(work.verify(path), f"{path} is not what was sent")


if __name__ == "__main__":
    evbtest.main()
