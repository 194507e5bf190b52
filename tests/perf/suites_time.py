# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""How long events take, and what waiting for them costs."""

import evbtest
import network
from paths import RECEIVE, Kernel
from runs import Load, Table, configuration
from suites_build import Case, run_case

SHARES = (0.1, 0.5, 0.9)
STAGES = {"first_to_complete_ns": "first segment -> complete",
          "complete_to_seen_ns": "complete -> seen", "first_to_seen_ns": "first segment -> seen"}


def _measure_latency(bench, load):
    """Latencies at shares of the highest rate, which is found first: {(share, stage): {...}}."""
    case = Case(load, touch="none")
    wait = "poll" if len(bench.cpus) > 1 else "sleep"
    fastest = run_case(bench, case, wait=wait)
    result = {"highest": fastest["events"]}
    for share in SHARES:
        one = run_case(bench, case, share * fastest["events"], wait=wait)
        result[share] = {**one["consumer"], "rate": one["events"]}
    return result


def run_latency(bench):
    """Sub-suite `latency`."""
    loads = {"40 sources, MFPs of 20 kB": Load.of(mfp=20_000),
             "one source, one segment": Load.of(mfp=8000, sources=1)}
    experiments = {"hop": bench.ring_hop}
    experiments.update({name: lambda load=load: _measure_latency(bench, load)
                        for name, load in loads.items()})
    found, missing = bench.interleave(experiments)
    tables = []
    for name, load in loads.items():
        table = Table(f"latency: {name}, poll idle", [
            ("rate", "events", "events/s"), ("p50", "p50", "us"), ("p99", "p99", "us"),
            ("p999", "p99.9", "us"), ("way", "ring hop", "us")], [
                "generator, rx and builder on one CPU, the consumer polls on another; shares "
                "are those of the highest rate, at which nothing is lost: full links hold the "
                "generator back",
                "the consumer's time is read when it sees the event, the first segment's when rx "
                "takes it from the port; the bound is a pointer's way to another CPU"])
        if load.segments == 1:
            table.notes.append("the first segment is the last one, too: first segment -> seen is "
                               "the time from the last segment's arrival")
        for share in SHARES:
            for stage, title in STAGES.items():
                results = [{**result[share][stage], "rate": result[share]["rate"],
                            "way": hop.get("two", {}).get("one_way_ns")}
                           for result, hop in zip(found[name], found["hop"])]
                table.add(f"{share:.0%}: {title}", results, {**load.describe(), "share": share},
                          missing.get(name))
        tables.append(table)
    return tables


# --- idle ---------------------------------------------------------------------------------------

POLICIES = {
    "poll": {"policy": "poll"},
    "adaptive, sleep 20 us": {"policy": "adaptive", "sleep": "20us"},
    "adaptive, sleep 50 us": {"policy": "adaptive", "sleep": "50us"},
    "adaptive, sleep 200 us": {"policy": "adaptive", "sleep": "200us"},
    "adaptive, sleep 1 ms": {"policy": "adaptive", "sleep": "1ms"},
}


def _cpu_without_traffic(bench, idle):
    load = Load.of(mfp=8000, sources=1)
    with evbtest.Workspace() as work:
        config = configuration(work.name(), load, {bench.first: RECEIVE}, 64)
        config["idle"] = idle
        with bench.running(work, config) as appliance:
            result = {"cpu": appliance.cpu_share(bench.window)}
        appliance.process.drain()
    return result


def probe(bench, idle, mtu, sizes, count, pause):
    """Messages of one block, sent by the kernel and awaited in the event ring, one at a time."""
    load = Load(mtu, 1, 1, max(sizes))
    with evbtest.Workspace() as work:
        net = Kernel().network(bench, work, load)
        config = configuration(work.name(), load, {bench.first: RECEIVE}, 16,
                               sources={"payload": "opaque"}, event_ring={"groups": ["bench"]},
                               port=Kernel().port(net))
        config["idle"] = idle
        with bench.running(work, config, net.evb) as appliance:
            process = bench.start_tool(
                work, "probe", config["name"], "--to", network.EVB_ADDRESS, "--group", "bench",
                "--mtu", mtu, "--size", ",".join(map(str, sizes)), "--count", count, "--pause",
                pause, "--cpu", bench.second, namespace=net.host)
            result = bench.finish_tool(process)
        appliance.process.drain()
    evbtest.check(result["lost"] == 0, f"{result['lost']} messages lost")
    return {size["size"]: size for size in result["sizes"]}


def run_idle(bench):
    """Sub-suite `idle`."""
    count = 100 if bench.quick else 1000
    experiments = {}
    for name, idle in POLICIES.items():
        experiments[f"{name}, CPU"] = lambda idle=idle: _cpu_without_traffic(bench, idle)
        experiments[f"{name}, message"] = \
            lambda idle=idle: probe(bench, idle, 1500, [1000], count, 2e-3)[1000]
    found, missing = bench.interleave(experiments)
    cpu = Table("idle: CPU time without traffic", [("cpu", "of one CPU", "share")])
    message = Table("idle: a message after a pause of 2 ms, kernel socket to consumer", [
        ("p50", "p50", "us"), ("p99", "p99", "us"), ("p999", "p99.9", "us"),
        ("cost", "p50 above poll", "us")], [
            "the bound is the row of poll: what the way through the kernel takes"])
    for name in POLICIES:
        cpu.add(name, found[f"{name}, CPU"], missing=missing.get(f"{name}, CPU"))
        results = [{**result, "cost": result["p50"] - base["p50"]} for result, base in
                   zip(found[f"{name}, message"], found["poll, message"])]
        message.add(name, results, missing=missing.get(f"{name}, message"))
    return [cpu, message]
