# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The data path in one process: pre-filled sources -> ring port -> rx -> builder -> event ring."""

import collections

import evbtest
import machine
from runs import Load, Table, configuration, losses, memory_of, slots_for, variants_for

FUSED, SPREAD = "fused", "spread"
BOTH = "both"  # a builder on each CPU, one of them beside the generator and rx

GENERATOR_NOTE = ("the generator runs beside rx: `built` includes its cost; `rx + builder` is what "
                  "one CPU that does only these builds: bytes by the cycles of both roles and of "
                  "the loop around them, as the program accounts them")

Case = collections.namedtuple("Case", "load layout touch slots builders reorder",
                              defaults=(FUSED, None, 0, 1, 0))


def roles_of(bench, case):
    builders = [f"builder.b{index}" for index in range(case.builders)]
    if case.layout == FUSED:
        return {bench.first: ["source.boards", "rx.wire", *builders]}
    bench.need_two_cpus()
    if case.layout == BOTH:
        first, second = builders
        return {bench.first: ["source.boards", "rx.wire", first], bench.second: [second]}
    return {bench.second: ["source.boards", "rx.wire"], bench.first: builders}


def run_case(bench, case, rate=0, idle="poll", wait="sleep", may_lose=False, **changes):
    """One run of a case; what it built a second and what that cost. With `touch` a consumer on the
    other CPU takes the events, and reads all bytes of them or none; `wait` is how it waits."""
    slots = case.slots or slots_for(case.load, bench.cold_bytes)
    variants = variants_for(case.load, bench.cold_bytes)
    bench.need_memory(memory_of(case.load, slots * case.builders, variants))
    generator = {"variants": variants, "rate": rate}
    if case.reorder:
        generator["faults"] = {"reorder_window": case.reorder}
    if case.touch:
        changes["event_ring"] = {"groups": ["bench"]}
    with evbtest.Workspace() as work:
        config = configuration(work.name(), case.load, roles_of(bench, case), slots, idle=idle,
                               generator=generator, **changes)
        with bench.running(work, config) as appliance:
            consumer = case.touch and bench.consumer(work, config["name"], case.touch, wait)
            result = appliance.measure(bench.warmup, bench.window)
        summary = appliance.process.drain()
        lost = losses(summary)
        evbtest.check(may_lose or not lost, f"lost with nothing to lose it: {lost}")
        result["lost"] = sum(lost.values())
        if consumer:
            result["consumer"] = bench.finish_tool(consumer)
    return result


def conditions_of(bench, case):
    slots = case.slots or slots_for(case.load, bench.cold_bytes)
    variants = variants_for(case.load, bench.cold_bytes)
    return {**case.load.describe(), "layout": case.layout, "consumer": case.touch or "no process",
            "builders": case.builders, "slots": slots, "variants": variants,
            "slots_bytes": slots * case.load.slot_bytes,
            "sources_bytes": variants * case.load.event_bytes,
            "sources_in_cache":
                variants * case.load.event_bytes < 2 * machine.last_level_cache()}


def size_text(size):
    if size >= 1_000_000:
        return f"{size / 1e6:.3g} MB"
    return f"{size / 1e3:.3g} kB" if size >= 1000 else f"{size} B"


def name_of(case):
    """Segment, MFP x sources, fragment, layout."""
    load = case.load
    text = (f"{load.mtu}, {size_text(load.packing * load.fragment)} x {load.sources}, "
            f"{size_text(load.fragment)}, {case.layout}")
    return text + (f", touches {case.touch}" if case.touch else "")


def _default_cases():
    cases = []
    for layout in (FUSED, SPREAD):
        cases += [Case(Load.of(mtu=mtu), layout) for mtu in (1500, 4096, 9000)]
    cases += [Case(Load.of(mtu=mtu), FUSED, touch="all") for mtu in (1500, 9000)]
    cases.append(Case(Load.of(), FUSED, touch="none"))
    cases += [Case(Load.of(mfp=mfp)) for mfp in (20_000, 2_000_000)]
    cases += [Case(Load.of(sources=sources)) for sources in (4, 400, 1238)]
    cases += [Case(Load.of(fragment=fragment)) for fragment in (100, 1000, 10_000)]
    return cases


def _quick_cases():
    return [Case(Load.of(mtu=1500)), Case(Load.of()), Case(Load.of(), SPREAD),
            Case(Load.of(), touch="all"), Case(Load.of(mfp=20_000, sources=400))]


def _all_cases():
    return [Case(Load.of(mtu, mfp, sources, fragment), layout)
            for mtu in (1500, 4096, 9000) for mfp in (20_000, 200_000, 2_000_000)
            for sources in (4, 40, 400, 1238) for fragment in (100, 200, 1000, 10_000)
            for layout in (FUSED, SPREAD)] + [
                Case(Load.of(mtu=mtu), layout, touch=touch)
                for mtu in (1500, 4096, 9000) for layout in (FUSED, SPREAD)
                for touch in ("all", "none")]


def with_bounds(bench, case, results, bounds):
    """The results of one case, each with the bound of its own round."""
    joined = []
    for result, bound in zip(results, bounds):
        bound = bound[case.load.payload]
        copy = bench.best_copy(bound)
        joined.append({
            **result,
            "fragments": result["built"] / case.load.fragment,
            "copy": copy,
            "of_copy": result["per_cpu"] / copy if "per_cpu" in result else None,
            "of_forward": result["per_cpu"] / bench.best_copy(bound, "forward")
                          if "per_cpu" in result else None,
        })
    return joined


def run_build(bench):
    """Sub-suite `build`."""
    cases = _quick_cases() if bench.quick else _all_cases() if bench.full else _default_cases()
    payloads = sorted({case.load.payload for case in cases})
    experiments = {"copy": lambda: bench.copy_bound(payloads)}
    experiments.update({name_of(case): lambda case=case: run_case(bench, case) for case in cases})
    found, missing = bench.interleave(experiments)
    throughput = Table("build: events in memory, as fast as it goes", [
        ("built", "built", "bytes/s"), ("per_cpu", "rx + builder", "bytes/s"),
        ("copy", "copy bound", "bytes/s"), ("of_copy", "of copy", "share"),
        ("of_forward", "of forward copy", "share")], [
            "rows: segment, MFP x sources, fragment, layout, and what a consumer touches. fused: "
            "generator, rx and builder on one CPU; spread: generator and rx on one, the builder on "
            "another. A consumer runs on the CPU without builder", GENERATOR_NOTE,
            "bytes are those of the segments' payloads, copied to their slots; the bound copies "
            "blocks of the same size in random order, a forward copy in the order in which sources "
            "send"])
    costs = Table("build: what a segment costs", [
        ("segments", "segments", "packets/s"), ("fragments", "fragments", "packets/s"),
        ("ns_rx", "rx", "ns"), ("ns_builder", "builder", "ns"), ("ns_source", "generator", "ns")])
    for case in cases:
        name = name_of(case)
        results = with_bounds(bench, case, found[name], found["copy"])
        for table in (throughput, costs):
            table.add(name, results, conditions_of(bench, case), missing.get(name))
    warm = [row["name"] for row in throughput.rows if row["conditions"]["sources_in_cache"]]
    if warm:
        throughput.notes.append("the caches hold what the sources send in: " + "; ".join(warm))
    return [throughput, costs]


def _scale_table(bench, title, cases):
    """cases: {row: Case}. Costs beside those of the first row, round by round."""
    payloads = sorted({case.load.payload for case in cases.values()})
    experiments = {"copy": lambda: bench.copy_bound(payloads)}
    experiments.update({name: lambda case=case: run_case(bench, case)
                        for name, case in cases.items()})
    found, missing = bench.interleave(experiments)
    table = Table(title, [
        ("built", "built", "bytes/s"), ("per_cpu", "rx + builder", "bytes/s"),
        ("of_copy", "of copy", "share"), ("ns_receiving", "rx + builder/segment", "ns"),
        ("of_first", "of the first", "share")], [GENERATOR_NOTE])
    first = next(iter(cases))
    for name, case in cases.items():
        results = with_bounds(bench, case, found[name], found["copy"])
        for result, base in zip(results, found[first]):
            if "per_cpu" in result and "per_cpu" in base:
                result["of_first"] = result["per_cpu"] / base["per_cpu"]
        table.add(name, results, conditions_of(bench, case), missing.get(name))
    return table


def run_scale(bench):
    """Sub-suite `scale`: what one more source, slot or builder costs."""
    counts = (40, 4, 400, 1238, 4096)
    small = {f"{n} sources": Case(Load.of(mfp=20_000, sources=n)) for n in counts}
    tables = [_scale_table(bench, "scale: sources, MFPs of 20 kB", small)]
    if not bench.quick:
        large = {f"{n} sources": Case(Load.of(sources=n)) for n in counts}
        tables.append(_scale_table(bench, "scale: sources, MFPs of 200 kB", large))
    counts = (64, 4, 16) if bench.quick else (64, 4, 16, 256, 1024)
    slots = {f"{n} slots": Case(Load.of(mfp=20_000), slots=n) for n in counts}
    tables.append(_scale_table(bench, "scale: slots of 0.8 MB", slots))
    builders = {f"{n} on one CPU": Case(Load.of(mfp=20_000), slots=128 // n, builders=n)
                for n in (1, 2, 4, 8)}
    tables.append(_scale_table(bench, "scale: builders", builders))
    reorder = {f"shuffled over {n}": Case(Load.of(mfp=20_000), reorder=n) for n in (0, 32, 1024)}
    tables.append(_scale_table(bench, "scale: segments out of order", reorder))
    return tables
