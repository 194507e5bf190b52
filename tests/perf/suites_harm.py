# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Events of a run that are lost while one source sends forged segments, too."""

import time

import evbtest
import network
import paths
from bottleneck import ahead_of_others
from runs import Load, Table, Target, configuration
from suites_cluster import need_root

LOAD = Load(1500, 8, 10, 100)
SLOTS, SLOT_BYTES = 256, 65536
RATES = (0, 1000, 5000, 20_000, 100_000)
STRANGER = "10.0.0.9"
KINDS = {
    "far": "ids far in the future",
    "near": "ids of the next 200 events",
    "ahead": "one byte ahead of each event",
    "length": "a large stated length",
    "tiny": "tiny segments",
    "falling": "tiny segments in falling order",
}


def _measure(bench, kind, rate, admitted):
    """admitted: the configuration has the sources' address, and the forger sends from another."""
    path = paths.Kernel()
    with ahead_of_others(), evbtest.Workspace() as work:
        net = path.network(bench, work, LOAD)
        net.host.add_address(f"{STRANGER}/24")
        config = configuration(
            work.name(), LOAD, {bench.first: ["rx.wire", "builder.b0"]}, SLOTS, idle="adaptive",
            port=path.port(net), events={"deadline": "100ms"})
        config["builders"][0]["slot_size"] = SLOT_BYTES
        if admitted:
            config["sources"]["from"] = [{"addresses": [network.HOST_ADDRESS]}]
        with bench.running(work, config, net.evb) as receiver:
            sender = bench.start_tool(
                work, "forger", "--to", network.EVB_ADDRESS, "--kind", kind, "--forged", rate,
                "--seconds", 2 * bench.window, "--cpu", bench.second,
                *(("--from", STRANGER) if admitted else ()), namespace=net.host)
            sent = bench.finish_tool(sender)
            time.sleep(0.3)
            summary = receiver.process.drain()
    lost = sent["events"] - summary["events"]["complete"]
    return {"sent": sent["events"], "lost": lost, "share": lost / sent["events"],
            "forged": sent["forged"], "missed": summary["packets"]["missed"],
            "early": summary["segments"]["dropped"].get("early", 0),
            "refused": summary["segments"]["dropped"].get("not_admitted", 0)}


def run_harm(bench):
    """Sub-suite `harm`."""
    rates = (0, 20_000) if bench.quick else RATES
    cases = {f"{text}, {rate} packets/s{', from' if admitted else ''}": (kind, rate, admitted)
             for admitted in (False, True) for kind, text in KINDS.items()
             for rate in rates if rate > 0 or kind == "far"}

    def measure(case):
        need_root()
        return _measure(bench, *case)

    found, missing = bench.interleave({
        name: lambda case=case: measure(case) for name, case in cases.items()})
    table = Table("harm: one forged source beside 500 events a second", [
        ("sent", "events sent", ""), ("lost", "lost", ""), ("share", "of them", "share"),
        ("forged", "forged", ""), ("early", "dropped as early", ""),
        ("refused", "not admitted", ""),
        ("missed", "missed by the port", "")], [
            f"{LOAD.sources} sources, one segment an MFP, {SLOTS} slots, deadline 100 ms; the "
            "forged segments have the id of a source, and its address",
            "from: sources.from has the sources' address, and the forger has another one",
            "what the port misses, the builder cannot build: on a busy machine it is part of lost"])
    for name, (kind, rate, admitted) in cases.items():
        table.add(name, found[name], {"kind": kind, "rate": rate, "from": admitted},
                  missing.get(name),
                  [Target("none lost", "lost", lambda lost: lost == 0) if admitted else
                   Target("below 1 % lost", "share", lambda share: share < 0.01)])
    return [table]
