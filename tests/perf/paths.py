# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The ways on which a sender's events reach a builder, each with its sender, its receiver and the
bound of its driver: within one process (ring), between two (memif), from the kernel (af_packet,
af_xdp)."""

import json
import os
import signal
import subprocess
import time

import evbtest
import network
from runs import Unavailable, configuration, losses, memory_of, slots_for, variants_for
from suites_build import SPREAD, Case, run_case

MEMIF_BUILDER, MEMIF_SENDER = "10.0.0.1", "10.0.0.2"
MEMIF_MAC = "02:00:00:00:00:01"  # nobody asks for it: the driver alone answers no ARP
RECEIVE = ["rx.wire", "builder.b0"]


class Ring:
    """Generator and rx on one CPU, builder on another; links drop what the builder cannot take."""

    name = "ring"

    @staticmethod
    def measure(bench, load, rate):
        return run_case(bench, Case(load, SPREAD), rate, may_lose=True,
                        links={"policy": "drop"},
                        events={"on_no_slot": "drop", "deadline": "200ms"})

    @staticmethod
    def bound(bench, load):
        return bench.rx_bound("ring", load.mtu)


class Memif:
    """A process that sends, and one that receives and builds, each on its CPU."""

    name = "memif"

    @staticmethod
    def port(role, socket, address):
        return {"profile": "memif", "device": socket, "address": f"{address}/24",
                "options": {"role": role}}

    def _start_sender(self, bench, work, load, socket, rate):
        sender = configuration(
            work.name(), load, {bench.second: ["source.boards"]}, 0,
            generator={"rate": rate, "variants": variants_for(load, bench.cold_bytes),
                       "destination": {"address": MEMIF_BUILDER, "mac": MEMIF_MAC}},
            port=self.port("client", socket, MEMIF_SENDER))
        return bench.running(work, sender)

    def measure(self, bench, load, rate):
        bench.need_two_cpus()
        slots = slots_for(load, bench.cold_bytes)
        bench.need_memory(memory_of(load, slots, variants_for(load, bench.cold_bytes)))
        with evbtest.Workspace() as work:
            socket = work.path("memif.sock")
            config = configuration(
                work.name(), load, {bench.first: RECEIVE}, slots, links={"policy": "drop"},
                events={"on_no_slot": "drop"},
                port={**self.port("server", socket, MEMIF_BUILDER), "link_timeout": 0})
            with bench.running(work, config) as receiver:
                with self._start_sender(bench, work, load, socket, rate) as sender:
                    time.sleep(bench.warmup)
                    before = sender.sample()
                    result = receiver.measure(0, bench.window)
                    after = sender.sample()
            # The receiver leaves first: the driver does not bear a peer that goes while it polls.
            sender.process.signal(signal.SIGSTOP)
            summary = receiver.process.drain()
            sender.process.kill()
        lost = losses(summary)
        result["sent_events"] = ((after.summary["sent_events"] - before.summary["sent_events"]) /
                                 (after.time - before.time))
        # The sender was stopped in the middle of events.
        result["lost"] = sum(lost.values()) - summary["events"]["flushed"]
        return result

    def bound(self, bench, load):
        bench.need_two_cpus()
        with evbtest.Workspace() as work:
            socket = work.path("memif.sock")
            receiver = bench.start_tool(
                work, "rx_bound", "--profile", "memif", "--device", socket, "--option",
                "role=server", "--mtu", load.mtu, "--cpu", bench.first, "--warmup", bench.warmup,
                "--seconds", bench.window)
            receiver.wait_for_line("ready")
            with self._start_sender(bench, work, load, socket, 0) as sender:
                result = bench.finish_tool(receiver)
            sender.process.kill()
        return result


class Kernel:
    """A host of the kernel sends over a veth pair; a port of this profile receives."""

    name = "kernel"

    def __init__(self, profile="af_packet", joins=False):
        """joins: the sender gives the kernel many packets as one buffer, which it segments."""
        self.profile = profile
        self.joins = joins

    def network(self, bench, work, load):
        bench.need_two_cpus()
        net = work.enter(network.Network(load.mtu, checksum_offload=True))
        if self.joins:
            net.host.disable_segmentation_offload()
        address = ":".join(f"{byte:02x}" for byte in net.evb.hardware_address())
        # Nobody but evb would answer ARP, and the driver alone does not.
        done = subprocess.run(
            ["ip", "-n", net.host.name, "neighbour", "replace", network.EVB_ADDRESS, "lladdr",
             address, "dev", net.host.device], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"ip: {done.stderr.strip()}")
        return net

    def _start_sender(self, bench, work, net, load, rate, seconds):
        return bench.start_tool(
            work, "udp_sender", "--to", network.EVB_ADDRESS, "--mtu", load.mtu, "--sources",
            load.sources, "--packing", load.packing, "--fragment", load.fragment, "--rate", rate,
            "--seconds", seconds, "--cpu", bench.second, *(["--joins"] if self.joins else ()),
            namespace=net.host)

    def port(self, net):
        return {"profile": self.profile, "device": net.evb.device,
                "address": f"{network.EVB_ADDRESS}/24"}

    def measure(self, bench, load, rate):
        slots = slots_for(load, bench.cold_bytes)
        bench.need_memory(memory_of(load, slots, 1))
        with evbtest.Workspace() as work:
            net = self.network(bench, work, load)
            config = configuration(work.name(), load, {bench.first: RECEIVE}, slots,
                                   events={"deadline": "200ms"}, port=self.port(net))
            with bench.running(work, config, net.evb) as receiver:
                sender = self._start_sender(bench, work, net, load, rate,
                                            bench.warmup + bench.window + 0.1)
                result = receiver.measure(bench.warmup, bench.window)
                sent = bench.finish_tool(sender)
            summary = receiver.process.drain()
        lost = losses(summary)
        # What the interface lost, the driver need not have counted.
        unseen = max(0, sent["packets"] - summary["packets"]["received"] - lost.get("missed", 0))
        result["lost"] = sum(lost.values()) + unseen
        result["lost_share"] = (lost.get("missed", 0) + unseen) / sent["packets"]
        result["sent_events"] = sent["events_per_second"]
        result["sent_packets"] = sent["packets_per_second"]
        return result

    def bound(self, bench, load):
        with evbtest.Workspace() as work:
            net = self.network(bench, work, load)
            receiver = bench.start_tool(
                work, "rx_bound", "--profile", self.profile, "--device", net.evb.device, "--mtu",
                load.mtu, "--cpu", bench.first, "--warmup", bench.warmup, "--seconds",
                bench.window, namespace=net.evb)
            receiver.wait_for_line("ready")
            return self._from_sender(bench, work, net, load, receiver)

    def _from_sender(self, bench, work, net, load, receiver):
        """What a tool receives that is ready."""
        sender = self._start_sender(bench, work, net, load, 0, bench.warmup + bench.window + 0.5)
        result = bench.finish_tool(receiver)
        bench.finish_tool(sender)
        return result

    def socket_bound(self, bench, load):
        """Of profile af_packet: what the kernel's ring hands over if nobody copies a packet."""
        with open(os.path.join(evbtest.REPOSITORY, "pmd-config", "af_packet.json"), encoding="utf-8") as file:
            profile = json.load(file)
        ring = profile["jumbo_arguments" if load.mtu > 1500 else "arguments"]
        with evbtest.Workspace() as work:
            net = self.network(bench, work, load)
            receiver = bench.start_tool(
                work, "packet_heads", "--device", net.evb.device,
                *(word for name, value in ring.items() for word in (f"--{name}", value)),
                "--cpu", bench.first, "--warmup", bench.warmup, "--seconds", bench.window,
                namespace=net.evb)
            receiver.wait_for_line("ready")
            return self._from_sender(bench, work, net, load, receiver)
