# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The curves of 1998: throughput and time against message size, processor load against throughput.

A message of n bytes takes t = t0 + n / r; n1/2 = t0 * r is the size at which half of r is reached.
The figures of 1998 are those published for the DSNIC (a network interface card for IEEE 1355 links
at 100 Mbit/s in a PC with a Pentium Pro of 200 MHz) and for the T9000 transputer; they are printed
with the words "in 1998" and nothing else is compared with them.
"""

from runs import Load, Table, figure
from suites_build import SPREAD, Case, run_case, size_text
from suites_time import probe

SIZES = (64, 256, 1000, 4000, 16_000, 64_000, 256_000, 1_000_000)
PING_SIZES = (16, 64, 256, 1024, 4096, 16_384, 65_536)

# (what, n1/2 in bytes, t0 in ns, r in bytes/s)
IN_1998 = (
    ("in 1998: DSNIC, both directions, packets of 4096 B", 3000, 187e3, 16.6e6),
    ("in 1998: the same beside another process", 13_000, 783e3, 16.6e6),
    ("in 1998: T9000, through one switch", 26, 3.25e3, 8e6),
)
# (packet size in bytes, processor load) at 8.3 MB/s, one direction
LOAD_IN_1998 = ((256, 0.937), (512, 0.553), (1024, 0.289), (2048, 0.141), (4096, 0.071))


def fit(points):
    """Least squares of t = t0 + n / r over (n, t), each point weighted by 1 / t^2, so that all
    sizes count alike. Returns t0, r, n1/2, and R2, the share of the (weighted) variance of t
    that the line explains."""
    weights = [1 / t**2 for _, t in points]
    total = sum(weights)
    mean_n = sum(w * n for w, (n, _) in zip(weights, points)) / total
    mean_t = sum(w * t for w, (_, t) in zip(weights, points)) / total
    spread = sum(w * (n - mean_n)**2 for w, (n, _) in zip(weights, points))
    slope = sum(w * (n - mean_n) * (t - mean_t)
                for w, (n, t) in zip(weights, points)) / spread
    t0 = mean_t - slope * mean_n
    left = sum(w * (t - t0 - slope * n)**2 for w, (n, t) in zip(weights, points))
    whole = sum(w * (t - mean_t)**2 for w, (_, t) in zip(weights, points))
    return {"t0": t0, "r": 1 / slope, "n_half": t0 / slope, "r2": 1 - left / whole}


def _message_load(size):
    """Four sources, one message an MFP; the largest are of several fragments."""
    packing = -(-size // 64_000)
    return Load(9000, 4, packing, size // packing)


def _fit_row(fits, name, results):
    fits.add(name, [{"n_half": one["n_half"], "t0": one["t0"] * 1e9, "r": one["r"],
                     "r2": one["r2"]} for one in results])


def _add_1998(fits):
    for name, n_half, t0, r in IN_1998:
        row = {"name": name, "conditions": {"year": 1998}, "figures": {}}
        for key, value, unit in (("n_half", n_half, ""), ("t0", t0, "ns"), ("r", r, "bytes/s")):
            row["figures"][key] = figure([value], unit)
        fits.rows.append(row)


def _stream(bench, fits):
    """Messages one after the other through rx and builder: what each costs them."""
    loads = {size_text(size): _message_load(size) for size in SIZES}
    payloads = sorted({min(load.payload, load.mfp_bytes) for load in loads.values()})
    experiments = {"copy": lambda: bench.copy_bound(payloads)}
    experiments.update({name: lambda load=load: run_case(bench, Case(load))
                        for name, load in loads.items()})
    found, missing = bench.interleave(experiments)
    table = Table("curve: throughput against message size, rx and builder on one CPU", [
        ("per_cpu", "rx + builder", "bytes/s"), ("time", "a message", "ns"),
        ("copy", "copy bound", "bytes/s"), ("of_copy", "of copy", "share")], [
            "a message is an MFP, in one block with its header; 4 sources; the small ones come out "
            "of the caches, which the bound does not"])
    points = [[] for _ in range(bench.repetitions)]
    for name, load in loads.items():
        results = []
        for number, (result, bound) in enumerate(zip(found[name], found["copy"])):
            copy = bench.best_copy(bound[min(load.payload, load.mfp_bytes)])
            seconds = load.mfp_bytes / result["per_cpu"]
            points[number].append((load.mfp_bytes, seconds))
            results.append({**result, "time": seconds * 1e9, "copy": copy,
                            "of_copy": result["per_cpu"] / copy})
        table.add(name, results, load.describe(), missing.get(name))
    _fit_row(fits, "rx and builder, messages one after the other",
             [fit(one) for one in points if len(one) > 2])
    return table


def _ping(bench, fits):
    """One message at a time, from a socket of the kernel to the consumer."""
    count = 50 if bench.quick else 500
    found, missing = bench.interleave({"ping": lambda: probe(
        bench, {"policy": "poll"}, 9000, PING_SIZES, count, 1e-4)})
    table = Table("curve: time of one message, kernel socket over veth to consumer",
                  [("p50", "p50", "us"), ("p99", "p99", "us"), ("rate", "n / t", "bytes/s")],
                  ["poll idle; segments of 9000; the way through the kernel is in it"])
    for size in PING_SIZES:
        results = [{**one[size], "rate": size / one[size]["p50"] * 1e9} for one in found["ping"]]
        table.add(size_text(size), results, missing=missing.get("ping"))
    if found["ping"]:
        _fit_row(fits, "one message at a time, kernel socket to consumer",
                 [fit([(size, one[size]["p50"] * 1e-9) for size in PING_SIZES])
                  for one in found["ping"]])
    return table


def _load(bench):
    """How busy rx and builder are against what they build: the generator is on the other CPU."""
    table = Table("curve: processor load against throughput, adaptive idle", [
        ("built", "built", "bytes/s"), ("load", "load of the builder's CPU", "share"),
        ("per_gb", "load at 1 GB/s", "share")], [
            "generator and rx on one CPU, builder on the other; shares are of the rate of an "
            "unlimited run in the same round"])
    shares = (0.1, 0.25, 0.5, 0.75, 1.0)
    key = f"load_cpu_{bench.first}"

    def measure(mtu):
        case = Case(Load.of(mtu=mtu, mfp=20_000), SPREAD)
        highest = run_case(bench, case)["events"]
        return {share: run_case(bench, case, 0 if share == 1 else share * highest, "adaptive")
                for share in shares}

    mtus = (9000,) if bench.quick else (1500, 9000)
    found, missing = bench.interleave({f"segment {mtu}": lambda mtu=mtu: measure(mtu)
                                       for mtu in mtus})
    for name, results in found.items():
        for share in shares:
            rows = [{"built": one[share]["built"], "load": one[share][key],
                     "per_gb": one[share][key] / one[share]["built"] * 1e9} for one in results]
            table.add(f"{name}, {share:.0%}", rows, {"share": share}, missing.get(name))
    for packet, load in LOAD_IN_1998:
        row = {"name": f"in 1998: DSNIC, packets of {packet} B", "conditions": {"year": 1998},
               "figures": {"built": figure([8.3e6], "bytes/s"), "load": figure([load], "share")}}
        table.rows.append(row)
    return table


def run_curve(bench):
    """Sub-suite `curve`."""
    fits = Table("curve: t = t0 + n / r", [
        ("n_half", "n1/2 B", ""), ("t0", "t0", "us"), ("r", "r", "bytes/s"),
        ("r2", "R2", "")], [
            "least squares over the sizes above, weighted by 1 / t^2: small messages count as "
            "much as large ones"])
    tables = [_stream(bench, fits), _ping(bench, fits)]
    _add_1998(fits)
    return [*tables, fits, _load(bench)]
