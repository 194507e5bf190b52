# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""RoCE in one process: requester -> ring port -> responder -> builder -> event ring."""

import itertools

import evbtest
from runs import Load, Table, configuration, losses, memory_of, slots_for, variants_for

PATH_MTU = 4096
PORT_MTU = 4200  # with room for the headers
MFP = 20_000
RING = 128  # packets: with 1024 queue pairs no more are under way than with 16

# Name, queue pairs, and the configuration's object `roce`.
CASES = (
    ("RC WRITE, ICRC ignored, 16 QPs", 16, {"operation": "write", "icrc": "ignore"}),
    ("RC WRITE, ICRC verified, 16 QPs", 16, {"operation": "write", "icrc": "verify"}),
    ("RC WRITE, ICRC ignored, 1024 QPs", 1024, {"operation": "write", "icrc": "ignore"}),
    ("RC WRITE with immediate, ICRC ignored, 16 QPs", 16,
     {"operation": "write_imm", "icrc": "ignore"}),
    ("RC SEND, ICRC ignored, 16 QPs", 16, {"operation": "send", "icrc": "ignore"}),
    ("UC WRITE, ICRC ignored, 16 QPs", 16,
     {"operation": "write", "icrc": "ignore", "service": "uc"}),
)
CASES_QUICK = CASES[:2]


def _run(bench, qps, roce):
    load = Load.of(mtu=PORT_MTU, mfp=MFP, sources=qps)
    slots = slots_for(load, bench.cold_bytes)
    variants = variants_for(load, bench.cold_bytes)
    bench.need_memory(memory_of(load, slots, variants))
    roles = {bench.first: ["source.boards", "rx.wire", "builder.b0"]}
    with evbtest.Workspace() as work:
        config = configuration(work.name(), load, roles, slots,
                               generator={"variants": variants},
                               port={"rx_descriptors": RING, "tx_descriptors": RING},
                               transport={"kind": "roce"},
                               roce={"path_mtu": PATH_MTU, "max_queue_pairs": 2048, **roce})
        with bench.running(work, config) as appliance:
            # Connections are made one after the other.
            result = appliance.measure(bench.warmup + qps / 500, bench.window)
            answers = appliance.query("/evb/roce/info", "wire")
            if answers["acks_sent"] > 0:
                result["per_ack"] = answers["packets"] / answers["acks_sent"]
        lost = losses(appliance.process.drain())
    evbtest.check(not lost, f"lost with nothing to lose it: {lost}")
    return result


def _ack_ns(one, silent):
    """What an ACK costs: rx beyond that of UC in the same round, where there are no ACKs."""
    if "per_ack" not in one or not silent:
        return None
    return (one["ns_rx"] - silent["ns_rx"]) * one["per_ack"]


def run_roce(bench):
    """Sub-suite `roce`."""
    cases = CASES_QUICK if bench.quick else CASES
    experiments = {"copy": lambda: bench.copy_bound([PATH_MTU])}
    experiments.update({name: lambda qps=qps, roce=roce: _run(bench, qps, roce)
                        for name, qps, roce in cases})
    found, missing = bench.interleave(experiments)
    table = Table(f"roce: events in memory over RoCE, path MTU {PATH_MTU}, as fast as it goes", [
        ("built", "built", "bytes/s"), ("per_cpu", "rx + builder", "bytes/s"),
        ("copy", "copy bound", "bytes/s"), ("of_copy", "of copy", "share"),
        ("of_first", "of the first", "share"), ("ns_rx", "rx/packet", "ns"),
        ("ns_builder", "builder/packet", "ns"), ("ns_source", "requester/packet", "ns"),
        ("per_ack", "packets/ACK", ""), ("ns_ack", "ACK", "ns")], [
            f"MFPs of {MFP // 1000} kB, one a message; requester, responder and builder on one "
            "CPU. `rx + builder` is what one CPU does that only receives; rx includes the ACKs. "
            "An ACK costs what RC's rx takes above UC's, times the packets that it answers",
            f"the port's ring holds {RING} packets: else 1024 queue pairs would have thousands "
            "under way, and the payload that the requester has read would have left the cache "
            "before the builder takes it",
            "the requester reads each payload for the ICRC that it must send, so that the builder "
            "finds it in a cache: the copy bound is of memory in no cache"])
    first = next(name for name, _, _ in cases)
    without_acks = next((name for name, _, roce in cases if roce.get("service") == "uc"), None)
    for name, qps, roce in cases:
        results = []
        silent = found[without_acks] if roce["icrc"] == "ignore" and without_acks in found else []
        for one, bound, base, uc in itertools.zip_longest(found[name], found["copy"],
                                                          found[first], silent):
            if one is None or bound is None or base is None:
                continue
            copy = bench.best_copy(bound[PATH_MTU])
            results.append({**one, "copy": copy, "ns_ack": _ack_ns(one, uc),
                            "of_copy": one["per_cpu"] / copy if "per_cpu" in one else None,
                            "of_first": one["per_cpu"] / base["per_cpu"]
                                        if "per_cpu" in one and "per_cpu" in base else None})
        table.add(name, results, {"queue_pairs": qps, **roce}, missing.get(name))
    return [table]
