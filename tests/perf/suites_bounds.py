# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What bounds the data path: copies of memory, ring hops, drivers; and what the formats cost."""

from runs import Load, Table

KERNELS = ("memcpy", "rte_memcpy", "stream")


def run_copy(bench):
    """Sub-suite `copy`: the bound of everything else."""
    blocks = [256, 1024, *(Load.of(mtu=mtu).payload for mtu in (1500, 4096, 9000)), 65536]
    experiments = {"1 CPU": lambda: bench.copy_bound(blocks)}
    if len(bench.cpus) > 1:
        experiments["2 CPUs"] = lambda: bench.copy_bound(blocks, bench.cpus[:2])
    experiments["hop"] = bench.ring_hop
    experiments["driver ring"] = lambda: bench.rx_bound("ring", 9000)
    experiments["driver null"] = lambda: bench.rx_bound("null", 9000)
    found, missing = bench.interleave(experiments)
    return [_copies(blocks, found, missing), _hops(found, missing), _drivers(found, missing)]


def _copies(blocks, found, missing):
    columns = [(f"{order} {kernel}", f"{order} {kernel}", "bytes/s")
               for order in ("random", "forward") for kernel in KERNELS]
    table = Table("copy: blocks from memory in no cache to memory in no cache", columns, [
        "random: from elements like mbufs, source and place in any order; forward: one after the "
        "other, without gaps",
        "stream: stores that bypass the caches, on x86. Bounds elsewhere are the better of memcpy "
        "and rte_memcpy"])
    for name in ("1 CPU", "2 CPUs"):
        for block in blocks if name in found else ():
            results = [{f"{order} {kernel}": one[block][order].get(kernel)
                        for order in ("random", "forward") for kernel in KERNELS}
                       for one in found[name]]
            table.add(f"{block} B, {name}", results, {"block_bytes": block, "cpus": name[0]},
                      missing.get(name))
    return table


def _hops(found, missing):
    table = Table("copy: hop over a ring between roles", [
        ("one 32", "one lcore, bursts of 32", "ns"), ("one 1", "one by one", "ns"),
        ("two 32", "two lcores, bursts of 32", "ns"), ("way", "to the other lcore", "ns")])
    results = [{"one 32": one["one"]["burst_32_ns"], "one 1": one["one"]["single_ns"],
                "two 32": one.get("two", {}).get("burst_32_ns"),
                "way": one.get("two", {}).get("one_way_ns")} for one in found["hop"]]
    table.add("a packet", results, missing=missing.get("hop"))
    return table


def _drivers(found, missing):
    table = Table("copy: a driver alone, nothing done with what it receives",
                  [("rate", "packets", "packets/s")])
    for name in ("ring", "null"):
        results = [{"rate": one["packets_per_second"]} for one in found[f"driver {name}"]]
        table.add(name, results, missing=missing.get(f"driver {name}"))
    return table


def run_wire(bench):
    """Sub-suite `wire`."""
    found, missing = bench.interleave({"wire": lambda: bench.tool(
        "wire_cost", "--cpu", bench.first, "--seconds", min(0.3, bench.window / 4))})
    table = Table("wire: formats, in the cache", [("cost", "cost", "ns")])
    for name, key in (("headers of a packet (Ethernet to RE)", "headers_ns_per_packet"),
                      ("IPv4 header checksum, a packet", "ip_checksum_ns_per_packet"),
                      ("validation of an MFP, a fragment", "mfp_ns_per_fragment"),
                      ("UDP checksum, a byte", "udp_checksum_ns_per_byte"),
                      ("MDF checksum, a byte", "mdf_checksum_ns_per_byte"),
                      ("headers of a RoCE packet", "roce_headers_ns_per_packet"),
                      ("ICRC of an ACK", "roce_ack_icrc_ns_per_packet"),
                      ("ICRC of a packet of 4 KB, a byte", "roce_icrc_ns_per_byte"),
                      ("copy of 4 KB (bound), a byte", "copy_ns_per_byte")):
        table.add(name, [{"cost": one[key]} for one in found["wire"]], missing=missing.get("wire"))
    return [table]
