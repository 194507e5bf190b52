# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Other event builders beside evb, with the same work, in one table.

The program of another event builder is built elsewhere; its path is given by --peer NAME=PATH.
"""

import dataclasses
import os
import time

import evbtest
import paths
import peer_flesnet
import peer_lseb
import peer_spead2
from folded import LARGE, LARGE_MTU, MEMIF, OWN, VETH, Folded, Work, settle
from runs import Load, Table, Target, Unavailable
from suites_build import BOTH, FUSED, Case, run_case, size_text
from suites_cluster import NOTHING_LOST, need_root
from suites_paths import AF_XDP_MTU

PEERS = {"flesnet": "flesnet, ZeroMQ within a process", "lseb": "LSEB, TCP over the loopback",
         "spead2": "spead2, UDP sockets"}
CASES = {  # name: path, MTU, what consumers do with the bytes of an event; None: there are no consumers
    "evb, memif, MTU 65000, no consumer": (MEMIF, LARGE_MTU, None),
    "evb, memif, MTU 65000, payload not read": (MEMIF, LARGE_MTU, "none"),
    "evb, memif, MTU 65000, each byte checked": (MEMIF, LARGE_MTU, "check"),
    "evb, memif, payload not read": (MEMIF, 9000, "none"),
    "evb, memif, each byte checked": (MEMIF, 9000, "check"),
    "evb, veth and af_packet, payload not read": (VETH, 9000, "none"),
    "evb, veth and af_packet, each byte checked": (VETH, 9000, "check"),
    "evb, veth, MTU 65000, no consumer": (LARGE, LARGE_MTU, None),
    "evb, veth, MTU 65000, payload not read": (LARGE, LARGE_MTU, "none"),
    "evb, veth, MTU 65000, each byte checked": (LARGE, LARGE_MTU, "check"),
}
# So much faster than LSEB.
TARGETS = {"evb, memif, MTU 65000, each byte checked": 5, "evb, veth, MTU 65000, each byte checked": 2}
TIMES_ONE_PROCESS = 3  # so much faster than flesnet
ONE_PROCESS = {  # what the consumer does: layout, builders, its `touch`
    "payload not read": (BOTH, 2, "none"),
    "each byte read": (FUSED, 1, "all"),
}

# The fragments of LSEB, and as many blocks in the buffers of a source. Its header of a fragment is part of
# its size. LSEB is not faster with more bulks in flight.
WORK = Work(sources=2, fragment=peer_lseb.MAXIMUM - peer_lseb.HEADER, packing=peer_lseb.BULK,
            slots=64, variants=2 * peer_lseb.CREDITS + 1,
            size={"law": "gaussian", "mean": peer_lseb.MEAN, "sigma": peer_lseb.SIGMA,
                  "maximum": peer_lseb.MAXIMUM - peer_lseb.HEADER})


def programs(settings):
    """{name of a peer: path} of settings NAME=PATH. Raises ValueError."""
    found = {}
    for setting in settings:
        name, given, path = setting.partition("=")
        if not given or name not in PEERS:
            raise ValueError(f"--peer {setting}: NAME=PATH, with NAME one of {', '.join(PEERS)}")
        if not (os.path.isfile(path) and os.access(path, os.X_OK)):
            raise ValueError(f"--peer {setting}: {path} is no program; build it first")
        found[name] = os.path.abspath(path)
    return found


def _program(bench, name, how):
    bench.need_two_cpus()
    if name not in bench.peers:
        raise Unavailable(f"--peer {name}=PATH has to name its program ({how})")
    return bench.peers[name]


def _lseb(bench):
    program = _program(bench, "lseb", "transport FI_TCP")
    with evbtest.Workspace() as work:
        return peer_lseb.measure(work, program, 1 if bench.quick else 2)


def _consumer(bench, work, name, touch, cpu):
    """A consumer beside a node, on the same CPU."""
    consumer = bench.start_tool(
        work, "consumer", name, "--group", "bench", "--touch", touch, "--cpu", cpu, "--warmup",
        bench.warmup, "--window", bench.window)
    consumer.wait_for_line("joined")
    return consumer


def _so_far(nodes, consumers):
    """CPU time that all have taken; events and bytes that were built; when."""
    processes = [*nodes.processes.values(), *consumers]
    return (sum(process.cpu_seconds() for process in processes), nodes.complete(),
            nodes.bytes_built(), time.monotonic())


def _folded(bench, path, mtu, touch):
    """Two folded nodes, with a consumer each unless `touch` is None."""
    bench.need_two_cpus()
    if path != MEMIF:
        need_root()
    with evbtest.Workspace() as work, Folded(
            work, (bench.first, bench.second), load=dataclasses.replace(WORK, mtu=mtu), path=path, placement=OWN,
            idle="adaptive") as nodes:
        consumers = [_consumer(bench, work, f"{nodes.name}-{node}", touch, cpu)
                     for node, cpu in zip(nodes.nodes, (bench.first, bench.second)) if touch]
        settle(nodes, bench)
        cpu, built, size, start = _so_far(nodes, consumers)
        time.sleep(bench.window)
        end_cpu, end_built, end_size, end = _so_far(nodes, consumers)
        lost = nodes.drain()
        found = [bench.finish_tool(consumer) for consumer in consumers]
    taken = sum(one["events_per_second"] for one in found) if found else (end_built - built) / (end - start)
    size = (end_size - size) / max(1, end_built - built)
    return {"built": taken * size / len(nodes.nodes),
            # Each node builds half of the events, and each event has two fragments.
            "fragments": taken * WORK.packing * WORK.sources / len(nodes.nodes),
            "cpu_gb": 1e9 * (end_cpu - cpu) / max(1, (end_built - built) * size),
            "lost": lost, "wrong": sum(one["wrong"] + one["incomplete"] for one in found)}


def _flesnet(bench, size):
    program = _program(bench, "flesnet", "with tsclient beside it")
    with evbtest.Workspace() as work:
        return peer_flesnet.measure(work, program, size, 1 if bench.quick else peer_flesnet.SECONDS)


def _one_process(bench, size, layout, builders, touch):
    """Sources, wire, builders and event rings in one process, and a consumer."""
    load = Load(LARGE_MTU, peer_flesnet.INPUTS, peer_flesnet.TIMESLICE, size & ~7)
    result = run_case(bench, Case(load, layout, touch=touch, builders=builders))
    return {"built": result["built"], "fragments": result["built"] / load.fragment,
            "lost": result["lost"]}


def beside(rows, reference):
    """The rows with `times`: their rate over that of the reference in the same round, as far as that
    was measured."""
    return [{**row, "times": row["built"] / other["built"] if other else None}
            for row, other in zip(rows, [*reference, *[None] * len(rows)])]


def _flesnet_table(bench):
    sizes = {size_text(size): size for size in peer_flesnet.SIZES}
    found, missing = bench.interleave({
        **{f"flesnet, {name}": lambda size=size: _flesnet(bench, size) for name, size in sizes.items()},
        **{f"evb, {name}, {way}": lambda size=size, case=case: _one_process(bench, size, *case)
           for name, size in sizes.items() for way, case in ONE_PROCESS.items()}})
    table = Table(
        f"peers: {peer_flesnet.INPUTS} sources and a builder in one process, events of "
        f"{peer_flesnet.TIMESLICE} fragments of each source", [
            ("built", "built", "Gb/s"), ("fragments", "fragments", "packets/s"),
            ("times", "times flesnet", ""), ("lost", "lost", "")], [
            "flesnet: two runs, the longer one without what the shorter one took; inputs and consumer "
            "neither write nor read the content",
            f"evb: packets of up to {LARGE_MTU} B; its generator does not write the content, either. Payload "
            "not read: a builder on each CPU, one of them beside generator and rx; the consumer takes the "
            "events, as that of flesnet. Each byte read: by a consumer on the second CPU, all else is on the first",
            "evb copies each byte once, so that the copy bound (bounds) limits it too"])
    for name in sizes:
        reference = found[f"flesnet, {name}"]
        table.add(f"{PEERS['flesnet']}, {name}", reference, {"program": bench.peers.get("flesnet")},
                  missing.get(f"flesnet, {name}"))
        for way, (layout, builders, touch) in ONE_PROCESS.items():
            row = f"evb, {name}, {way}"
            table.add(row, beside(found[row], reference),
                      {"fragment": name, "layout": layout, "builders": builders, "touch": touch},
                      missing.get(row), [
                          NOTHING_LOST, *([Target(f"{TIMES_ONE_PROCESS} times flesnet", "times",
                                                  lambda times: times >= TIMES_ONE_PROCESS)]
                                          if reference else [])])
    return table


def _lseb_table(bench):
    found, missing = bench.interleave({
        "lseb": lambda: _lseb(bench),
        **{name: lambda case=case: _folded(bench, *case) for name, case in CASES.items()}})
    table = Table(
        f"peers: two nodes that send to each other and build, {WORK.packing} fragments of about "
        f"{peer_lseb.MEAN} B in a block", [
            ("built", "built per node", "Gb/s"), ("fragments", "fragments", "packets/s"),
            ("times", "times LSEB", ""), ("cpu_gb", "CPU per GB", "s"), ("lost", "lost", ""),
            ("wrong", "wrong events", "")], [
            "LSEB: the rate that it prints, fragments with their headers; its builder units look at "
            "the first header of a block, and nobody writes or reads the payload",
            "evb: bytes of built events that consumers have taken, which share the nodes' CPUs, or of "
            "published events; checked: compared with what was generated",
            f"in flight: {peer_lseb.CREDITS} bulks of each connection of LSEB, which is not faster with "
            f"{WORK.slots}; {WORK.slots} events of each builder of evb, of which consumers have some",
            "the loopback carries packets of 65536 B: so do the rows with that MTU, nearly",
            "CPU: time of all processes, per GB that the system builds"])
    table.add(PEERS["lseb"], found["lseb"], {"program": bench.peers.get("lseb")},
              missing.get("lseb"))
    for name, (path, mtu, touch) in CASES.items():
        load = dataclasses.replace(WORK, mtu=mtu).load
        table.add(name, beside(found[name], found["lseb"]),
                  {**load.describe(), "path": path, "touch": touch}, missing.get(name), [
                      NOTHING_LOST, Target("nothing wrong", "wrong", lambda wrong: wrong == 0, True),
                      *([Target(f"{TARGETS[name]} times LSEB", "times",
                                lambda times, least=TARGETS[name]: times >= least)]
                        if found["lseb"] and name in TARGETS else [])])
    return table


def _spead2(bench, mtu, is_segmented):
    program = _program(bench, "spead2", "spead2_recv, with spead2_send beside it")
    need_root()
    with evbtest.Workspace() as work:
        return peer_spead2.measure(bench, work, program, mtu, is_segmented)


def _kernel_drivers(load):
    """Those that can receive such packets from a kernel."""
    return ["af_packet", *(["af_xdp"] if load.mtu <= AF_XDP_MTU else [])]


def _evb_from_kernel(bench, driver, load):
    """One run, beside one of the driver alone, and one of the socket below af_packet."""
    path = paths.Kernel(driver, joins=True)
    result = path.measure(bench, load, 0)
    bounds = {"of_driver": path.bound(bench, load)}
    if driver == "af_packet":
        bounds["of_socket"] = path.socket_bound(bench, load)
    return {**result, **{name: result["segments"] / bound["packets_per_second"] for name, bound in bounds.items()}}


def _spead2_table(bench):
    loads = {f"packets of {mtu} B": Load.of(mtu=mtu, mfp=peer_spead2.HEAP) for mtu in (1500, 9000)}
    ways = {"in frames of up to 64 kB": False, "each in a frame": True}
    found, missing = bench.interleave({
        **{f"spead2, {name}, {way}": lambda load=load, way=way: _spead2(bench, load.mtu, ways[way])
           for name, load in loads.items() for way in ways},
        **{f"evb, {driver}, {name}":
           lambda driver=driver, load=load: _evb_from_kernel(bench, driver, load)
           for name, load in loads.items() for driver in _kernel_drivers(load)}})
    table = Table(
        f"peers: datagrams of a kernel's UDP socket through a veth pair, blocks of {peer_spead2.HEAP} B", [
            ("built", "built", "Gb/s"), ("times", "times spead2", ""), ("complete", "complete", "share"),
            ("of_driver", "of driver", "share"), ("of_socket", "of socket", "share"), ("lost", "lost", "")], [
            f"spead2: the highest rate at which {peer_spead2.COMPLETE:.0%} of the heaps are complete, by a "
            "paced sender. In frames of up to 64 kB: its sender gives the kernel many packets as one (UDP "
            "GSO), and a veth pair does not segment them, as a wire would; each in a frame: the kernel does",
            "evb: its sender uses GSO, too, each packet is in a frame, as fast as the kernel takes them; each "
            "event is built of 40 blocks; times: beside spead2 with each packet in a frame; af_xdp "
            f"takes packets of at most {AF_XDP_MTU} B",
            "of driver: packets/s beside those of the driver alone, which receives from the same sender and "
            "does nothing; of socket: beside those of a program that only looks at the headers in the kernel's "
            "ring, and copies nothing"])
    for name, load in loads.items():
        for way in ways:
            row = f"spead2, {name}, {way}"
            table.add(f"{PEERS['spead2']}, {name}, {way}", found[row], {"program": bench.peers.get("spead2")},
                      missing.get(row))
        reference = found[f"spead2, {name}, each in a frame"]
        for driver in _kernel_drivers(load):
            row = f"evb, {driver}, {name}"
            table.add(row, beside(found[row], reference), {**load.describe(), "driver": driver},
                      missing.get(row))
    return table


def run_peers(bench):
    """Sub-suite `peers`."""
    return [_flesnet_table(bench), _lseb_table(bench), _spead2_table(bench)]
