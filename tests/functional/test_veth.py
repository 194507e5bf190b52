# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A kernel host sends events over a veth pair to evb's af_packet port."""

import random
import re
import signal
import socket
import subprocess

import appliance
import ejfat_sender
import evbtest
import frames
import judge
import network
import telemetry
from evbtest import check, check_equal

SOURCES = range(0x1001, 0x1009)
RATE = 8000  # packets a second: what one shared CPU takes, sender and evb together


def af_packet_port(net, mtu):
    return {"name": "wire", "profile": "af_packet", "device": net.evb.device, "mtu": mtu,
            "address": f"{network.EVB_ADDRESS}/24"}


def raw_socket(net):
    """For whole frames out of the host's end."""
    raw = net.host.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    raw.bind((net.host.device, 0))
    return raw


def framer(net, **options):
    return frames.Framer(source=network.HOST_ADDRESS, destination=network.EVB_ADDRESS,
                         source_mac=net.host.hardware_address().hex(),
                         destination_mac=net.evb.hardware_address().hex(), **options)


def run_over_veth(mtu, size, events, packing, checksum_offload=False, load_balancer=None):
    """Ping, then a stream of events, each built exactly."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(mtu, checksum_offload))
        stream = ejfat_sender.Stream(SOURCES, events, packing, size, first_event=packing * 1000)
        plan = ejfat_sender.Plan(stream, mtu, load_balancer)
        configuration = appliance.builder(work, af_packet_port(net, mtu), stream)
        evb = work.run(configuration, namespace=net.evb)
        check_equal(network.ping(net.host, network.EVB_ADDRESS, count=3), 3, "pings answered")
        check_equal(network.ping(net.host, network.EVB_ADDRESS, count=1, size=mtu - 28), 1,
                    "pings of the MTU's size answered")
        with net.host.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            sent = plan.send(ejfat_sender.connect(udp, network.EVB_ADDRESS), RATE,
                             telemetry.taken(evb.name))
        summary = evb.end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(summary["segments"]["received"], sent, "segments received")
        check_equal(summary["packets"]["icmp_echo"], 4, "echo requests answered")
        check(summary["packets"]["arp"] >= 1, "no ARP request counted")
        check_equal(summary["packets"]["other"], 0, "other packets")
        check_equal(judge.event_counts(summary), (events, 0), "complete and incomplete events")
        judge.check_files(work.path("events"), plan.expected())


def test_mtu_1500():
    run_over_veth(mtu=1500, size=(0, 400), events=300, packing=10)


def test_mtu_9000():
    run_over_veth(mtu=9000, size=(0, 4000), events=200, packing=10)


def test_mtu_and_rate_of_the_interface():
    """auto: those of the veth device, whose rate is 10 Gb/s."""
    with evbtest.Workspace() as work, network.Network(mtu=8000) as net:
        stream = ejfat_sender.Stream(SOURCES, events=10, packing=1, size=(0, 400), first_event=0)
        port = {**af_packet_port(net, "auto"), "link_rate": "auto"}
        configuration = appliance.builder(work, port, stream)
        file = work.write("auto.json", configuration)
        plan = work.start(evbtest.binary(), "check", file, namespace=net.evb).finish().output()
        check(f"on {net.evb.device}, mtu 8000 of the interface, 1 rx" in plan, plan)
        check("link_rate 10000 Mb/s of the interface" in plan, plan)
        elsewhere = work.evb("check", file).output()
        check(f"on {net.evb.device}, mtu 1500, 1 rx" in elsewhere, elsewhere)
        check("link_rate unknown until the port has started" in elsewhere, elsewhere)
        with work.run(configuration, namespace=net.evb):
            check_equal(network.ping(net.host, network.EVB_ADDRESS, count=1, size=8000 - 28), 1,
                        "pings of the MTU's size answered")


def test_unfinished_checksums():
    """A sender on the same host leaves UDP checksums to a hardware that is not there."""
    run_over_veth(mtu=1500, size=(0, 400), events=50, packing=4, checksum_offload=True)


def is_promiscuous(net):
    shown = subprocess.run(["ip", "-n", net.evb.name, "-d", "link", "show", net.evb.device],
                           capture_output=True, text=True, check=True).stdout
    count = int(re.search(r"promiscuity (\d+)", shown).group(1))
    check("PROMISC" not in shown, f"a mode that remains: {shown}")
    return count > 0


def test_interface_is_left_as_it_was():
    """Promiscuous while evb runs, and not after its end, however it ends."""
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(1500))
        stream = ejfat_sender.Stream(SOURCES, 1, 1, (0, 100))
        for number in (signal.SIGTERM, signal.SIGKILL):
            configuration = appliance.builder(work, af_packet_port(net, 1500), stream)
            evb = work.run(configuration, namespace=net.evb)
            check(is_promiscuous(net), "not promiscuous")
            evb.signal(number)
            evb.finish()
            check(not is_promiscuous(net), f"promiscuous after {number}")


def test_load_balancer_header():
    run_over_veth(mtu=1500, size=(0, 400), events=50, packing=4, load_balancer=2)


def test_bad_packets():
    """Each kind of wrong packet is counted under its cause; the events beside them are exact."""
    mtu = 1500
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(mtu))
        stream = ejfat_sender.Stream(SOURCES, 60, packing=10, size=(100, 400))
        plan = ejfat_sender.Plan(stream, mtu)
        # The kernel collects IP fragments before a packet socket of this driver sees them.
        counts = {name: 5 + number for number, name in enumerate(frames.DAMAGES)
                  if name != "ip_fragment"}
        for name, count in counts.items():
            plan.inject(name, count)
        evb = work.run(appliance.builder(work, af_packet_port(net, mtu), stream),
                       namespace=net.evb)
        pace = ejfat_sender.Pace(RATE)
        with raw_socket(net) as raw:
            for frame in plan.frames(framer(net)):
                raw.send(frame)
                pace.step()
        summary = evb.end()
        evbtest.check_identities(summary)
        check_equal(summary["packets"]["other"], counts.pop("other"), "other packets")
        check_equal(evbtest.drops(summary), counts, "drops")
        check_equal(judge.event_counts(summary), (stream.events, 0), "events")
        judge.check_files(work.path("events"), plan.expected())


def test_packets_to_others():
    """What the wire brings to other addresses is no part of any event."""
    mtu = 1500
    others = ({"destination": "127.0.0.1"}, {"destination": "10.0.0.255"},
              {"destination": "10.0.0.3"}, {"destination_mac": "ff:ff:ff:ff:ff:ff"},
              {"destination_mac": "01:00:5e:00:00:01"}, {"destination_mac": "02:00:00:00:00:77"})
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(mtu))
        stream = ejfat_sender.Stream(SOURCES, 15, packing=1, size=(10, 20))
        plan = ejfat_sender.Plan(stream, mtu)
        evb = work.run(appliance.builder(work, af_packet_port(net, mtu), stream),
                       namespace=net.evb)
        ours = {"source": network.HOST_ADDRESS, "destination": network.EVB_ADDRESS,
                "source_mac": net.host.hardware_address().hex(),
                "destination_mac": net.evb.hardware_address().hex()}
        framers = [frames.Framer(**{**ours, **other}) for other in others]
        with raw_socket(net) as raw:
            for number, (segment, _) in enumerate(plan.packets):
                raw.send(framers[number % 6].frame(b"".join(plan.datagram_parts(
                    segment.changed(payload=bytes(len(segment.payload)))))))
            for frame in plan.frames(framer(net)):
                raw.send(frame)
        summary = evb.end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {"not_for_us": len(plan.packets)}, "drops")
        judge.check_files(work.path("events"), plan.expected())


def run_forged(changes, cause, events=40):
    """Sources send their events, and between them somebody else sends in the name of each."""
    mtu, forger = 1500, "10.0.0.66"
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(mtu))
        stream = ejfat_sender.Stream(SOURCES, events, packing=1, size=(100, 400))
        plan = ejfat_sender.Plan(stream, mtu)
        configuration = appliance.builder(work, af_packet_port(net, mtu), stream)
        configuration["sources"].update(changes)
        evb = work.run(configuration, namespace=net.evb)
        own, forged = framer(net), frames.Framer(
            source=forger, destination=network.EVB_ADDRESS,
            source_mac=net.host.hardware_address().hex(),
            destination_mac=net.evb.hardware_address().hex())
        pace = ejfat_sender.Pace(RATE)
        count = 0
        with raw_socket(net) as raw:
            for number, frame in enumerate(plan.frames(own)):
                raw.send(frame)
                pace.step()
                if len(SOURCES) <= number < plan.good - len(SOURCES):  # ahead of the source's own
                    segment = plan.packets[number + len(SOURCES)][0]
                    raw.send(forged.frame(b"".join(plan.datagram_parts(
                        segment.changed(payload=bytes(len(segment.payload)))))))
                    pace.step()
                    count += 1
                if number == plan.good - 1:
                    strangers = telemetry_of_strangers(evb, count)
        summary = evb.end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {cause: count}, "drops")
        check_equal(judge.event_counts(summary), (events, 0), "events")
        judge.check_files(work.path("events"), plan.expected())
        check_equal([(one["name"], one["cause"]) for one in strangers],
                    [(f"rx.wire/{forger}", cause)], "refused senders")


def telemetry_of_strangers(evb, count):
    """The refused senders, when so many of their segments have been counted."""
    def read():
        with telemetry.Telemetry(evb.name) as connection:
            found = connection.query("/evb/stranger/all")
        return [found[f"stranger_{i}"] for i in range(found["count"])]

    evb.wait_until(lambda: sum(one["segments"] for one in read()) == count, "refused segments")
    return read()


def test_source_forged():
    """A source that sends is not joined by another address."""
    run_forged({}, "moved_source")


def test_source_from_elsewhere():
    """Sources send from configured addresses only."""
    run_forged({"from": [{"addresses": [network.HOST_ADDRESS]}], "moves": "allow"}, "not_admitted")


def test_losses_in_the_kernel():
    """What the kernel has no room for while evb stands still is counted as missed."""
    mtu, count = 1500, 3000
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(mtu))
        stream = ejfat_sender.Stream(SOURCES, 1, packing=1, size=(10, 20))
        port = af_packet_port(net, mtu)
        port["options"] = {"framecnt": "1024"}
        evb = work.run(appliance.builder(work, port, stream), namespace=net.evb)
        frame = framer(net, destination_port=9).frame(b"nothing that evb listens to")
        evb.suspend()
        with raw_socket(net) as raw:
            for _ in range(count):
                raw.send(frame)
        evb.signal(signal.SIGCONT)
        taken = telemetry.taken(evb.name)
        evb.wait_until(lambda: taken() >= count, "all are received or missed")
        with telemetry.Telemetry(evb.name) as client:
            missed = client.query("/evb/summary")["packets_missed"]
            check_equal(client.query("/evb/port/info", "wire")["rx_missed"], missed,
                        "packets that the port missed")
        summary = evb.drain()
        packets = summary["packets"]
        evbtest.check_identities(summary, missed=count - packets["received"])
        check(packets["missed"] >= count - 1024, f"only {packets['missed']} missed")
        check(summary["losses"], "losses are not told")


def test_vlan_and_no_checksum():
    """Tagged frames, and datagrams without UDP checksum, are events like all others."""
    mtu = 1500
    with evbtest.Workspace() as work:
        net = work.enter(network.Network(mtu))
        stream = ejfat_sender.Stream(SOURCES, 60, packing=10, size=(100, 400))
        plan = ejfat_sender.Plan(stream, mtu)
        evb = work.run(appliance.builder(work, af_packet_port(net, mtu), stream),
                       namespace=net.evb)
        tag = random.Random(1)
        plain = framer(net, checksum=False)
        pace = ejfat_sender.Pace(RATE)
        with raw_socket(net) as raw:
            for segment, _ in plan.all_packets():
                payload = b"".join(plan.datagram_parts(segment))
                raw.send(plain.frame(payload, vlan=tag.choice((None, 5 << 13 | 100))))
                pace.step()
        summary = evb.end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        judge.check_files(work.path("events"), plan.expected())


def test_router():
    """A receiver in another network gets what a generator sends by the gateway, and nothing without."""
    far, port = "10.99.0.1", 19522
    with evbtest.Workspace() as work, network.Network() as net:
        with net.host.entered():
            with open("/proc/sys/net/ipv4/conf/all/arp_ignore", "w", encoding="ascii") as file:
                file.write("1")  # it does not answer for addresses of other devices
        for arguments in (("link", "set", "lo", "up"), ("address", "add", far, "dev", "lo")):
            subprocess.run(["ip", "-n", net.host.name, *arguments], check=True)
        command = [evbtest.binary(), "gen", "--device", net.evb.device, "--address",
                   f"{network.EVB_ADDRESS}/24", "--to", far, "--sources", "1-2", "--events", "20",
                   "--quiet", "--set", "ports[0].link_timeout=300ms"]
        with net.host.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind((far, port))
            receiver.settimeout(evbtest.PATIENCE_S)
            process = work.start(*command, namespace=net.evb).finish()
            check_equal(process.status, 1, process.describe())
            check(f"nobody answers for {far}" in process.errors(), process.describe())
            process = work.start(*command, "--gateway", network.HOST_ADDRESS,
                                 namespace=net.evb).finish()
            check_equal(process.status, 0, process.describe())
            for _ in range(40):
                receiver.recv(9000)


if __name__ == "__main__":
    evbtest.main()
