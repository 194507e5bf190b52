# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Events of a run that are lost while one source sends forged segments, too."""

import time

import evbtest
import network
import paths
from runs import Load, Table, Target, configuration
from suites_cluster import need_root

LOAD = Load(1500, 8, 10, 100)
SLOTS, SLOT_BYTES = 256, 65536
RATES = (0, 1000, 5000, 20_000, 100_000)
KINDS = {
    "far": "ids far in the future",
    "near": "ids of the next 200 events",
    "ahead": "one byte ahead of each event",
    "length": "a large stated length",
    "tiny": "tiny segments",
    "falling": "tiny segments in falling order",
}


def _measure(bench, kind, rate):
    path = paths.Kernel()
    with evbtest.Workspace() as work:
        net = path.network(bench, work, LOAD)
        config = configuration(
            work.name(), LOAD, {bench.first: ["rx.wire", "builder.b0"]}, SLOTS, idle="adaptive",
            port=path.port(net), events={"deadline": "100ms"})
        config["builders"][0]["slot_size"] = SLOT_BYTES
        with bench.running(work, config, net.evb) as receiver:
            sender = bench.start_tool(
                work, "forger", "--to", network.EVB_ADDRESS, "--kind", kind, "--forged", rate,
                "--seconds", 2 * bench.window, "--cpu", bench.second, namespace=net.host)
            sent = bench.finish_tool(sender)
            time.sleep(0.3)
            summary = receiver.process.drain()
    lost = sent["events"] - summary["events"]["complete"]
    return {"sent": sent["events"], "lost": lost, "share": lost / sent["events"],
            "forged": sent["forged"], "missed": summary["packets"]["missed"],
            "early": summary["segments"]["dropped"].get("early", 0)}


def run_harm(bench):
    """Sub-suite `harm`."""
    rates = (0, 20_000) if bench.quick else RATES
    cases = {f"{text}, {rate} packets/s": (kind, rate) for kind, text in KINDS.items()
             for rate in rates if rate > 0 or kind == "far"}

    def measure(case):
        need_root()
        return _measure(bench, *case)

    found, missing = bench.interleave({
        name: lambda case=case: measure(case) for name, case in cases.items()})
    table = Table("harm: one forged source beside 500 events a second", [
        ("sent", "events sent", ""), ("lost", "lost", ""), ("share", "of them", "share"),
        ("forged", "forged", ""), ("early", "dropped as early", ""),
        ("missed", "missed by the port", "")], [
            f"{LOAD.sources} sources, one segment an MFP, {SLOTS} slots, deadline 100 ms; the "
            "forged segments have the address and the id of a source",
            "what the port misses, the builder cannot build: on a busy machine it is part of lost"])
    for name, (kind, rate) in cases.items():
        table.add(name, found[name], {"kind": kind, "rate": rate}, missing.get(name),
                  [Target("below 1 % lost", "share", lambda share: share < 0.01)])
    return [table]
