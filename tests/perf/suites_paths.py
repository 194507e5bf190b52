# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Events from other processes and from the kernel, and the highest rates without a loss."""

import paths
from runs import Load, Table
from suites_build import size_text

AF_XDP_MTU = 3434  # the largest of its profile
HALVINGS = 10  # of a rate, until it is one that loses nothing


def _loads(bench, jumbo):
    if bench.quick:
        return [Load.of(mtu=jumbo, mfp=20_000)]
    return [Load.of(mtu=mtu, mfp=mfp) for mtu in (1500, jumbo) for mfp in (20_000, 200_000)]


def _name(load):
    return f"segment {load.mtu}, MFP {size_text(load.packing * load.fragment)}, " \
           f"{load.sources} sources"


def _run_path(bench, path, title, notes, jumbo=9000):
    """jumbo: the largest MTU of the path."""
    loads = _loads(bench, jumbo)
    payloads = sorted({load.payload for load in loads})
    experiments = {"copy": lambda: bench.copy_bound(payloads)}
    for load in loads:
        experiments[f"driver, {_name(load)}"] = lambda load=load: path.bound(bench, load)
        experiments[_name(load)] = lambda load=load: path.measure(bench, load, 0)
    found, missing = bench.interleave(experiments)
    table = Table(title, [
        ("built", "built", "bytes/s"), ("segments", "segments", "packets/s"),
        ("driver", "driver alone", "packets/s"), ("of_driver", "of driver", "share"),
        ("per_cpu", "rx + builder", "bytes/s"), ("copy", "copy bound", "bytes/s"),
        ("sent_packets", "sent", "packets/s"), ("lost", "lost", ""),
        ("lost_share", "of packets", "share")], notes)
    for load in loads:
        name = _name(load)
        results = []
        for result, driver, copy in zip(found[name], found[f"driver, {name}"], found["copy"]):
            results.append({**result, "driver": driver["packets_per_second"],
                            "of_driver": result["segments"] / driver["packets_per_second"],
                            "copy": bench.best_copy(copy[load.payload])})
        table.add(name, results, load.describe(),
                  missing.get(name) or missing.get(f"driver, {name}"))
    return [table]


def run_memif(bench):
    """Sub-suite `memif`."""
    return _run_path(bench, paths.Memif(), "memif: a process that sends, one that builds", [
        "the sending driver copies each packet into shared memory: the sender may be the slower "
        "side"])


def run_kernel(bench):
    """Sub-suite `kernel`."""
    notes = [
        "the sender sends as fast as the kernel takes it; `driver alone` receives from the same "
        "sender and does nothing",
        "lost: packets that the driver missed, drops of evb, and events without all their data"]
    return [
        *_run_path(bench, paths.Kernel(), "kernel: UDP sockets over veth into af_packet", notes),
        *_run_path(bench, paths.Kernel("af_xdp"), "kernel: UDP sockets over veth into af_xdp", [
            *notes, "native mode, copying: all that a veth can; the driver takes no larger frames"],
                   AF_XDP_MTU)]


# --- lossfree -----------------------------------------------------------------------------------


def highest_rate(measure, start, steps):
    """Looks for the highest rate at which nothing is lost and the sender keeps pace: halves the
    rate of an unlimited run, start, until that is so, and bisects from there. measure(rate) returns
    a result. Returns the result of the best run, or None."""
    low, high, rate, best = 0.0, start * 1.1, start, None
    for step in range(HALVINGS + steps):
        result = measure(rate)
        if result["lost"] == 0 and result["sent_events"] >= 0.98 * rate:
            low, best = rate, {**result, "rate": rate}
        else:
            high = rate
        if best:
            steps -= 1
        if steps < 0 or (not best and step + 1 == HALVINGS):
            break
        rate = (low + high) / 2
    return best


def find_lossfree(bench, path, load):
    """The highest loss-free rate of a path, beside that of an unlimited run."""
    unlimited = path.measure(bench, load, 0)
    best = highest_rate(lambda rate: path.measure(bench, load, rate), unlimited["sent_events"],
                        3 if bench.quick else 8)
    if best is None:
        return {"rate": 0.0, "built": 0.0, "unlimited": unlimited["built"],
                "unlimited_lost": unlimited["lost"]}
    return {**best, "unlimited": unlimited["built"], "unlimited_lost": unlimited["lost"]}


def run_lossfree(bench):
    """Sub-suite `lossfree`."""
    loads = [Load.of(mtu=mtu, mfp=20_000) for mtu in ((9000,) if bench.quick else (1500, 9000))]
    payloads = sorted({load.payload for load in loads})
    experiments = {"copy": lambda: bench.copy_bound(payloads)}
    for path in (paths.Ring(), paths.Memif(), paths.Kernel()):
        for load in loads:
            experiments[f"{path.name}, segment {load.mtu}"] = \
                lambda path=path, load=load: find_lossfree(bench, path, load)
    found, missing = bench.interleave(experiments)
    table = Table("lossfree: the highest rate without one loss", [
        ("rate", "events", "events/s"), ("built", "built", "bytes/s"),
        ("segments", "segments", "packets/s"), ("copy", "copy bound", "bytes/s"),
        ("of_copy", "of copy", "share"), ("unlimited", "unlimited run built", "bytes/s"),
        ("unlimited_lost", "lost there", "")], [
            "bisected over the sender's rate, links drop where they are full; a rate counts only "
            "if the sender kept it: where no unlimited run loses anything, the sender is "
            "the limit"])
    for path in (paths.Ring(), paths.Memif(), paths.Kernel()):
        for load in loads:
            name = f"{path.name}, segment {load.mtu}"
            results = []
            for result, bound in zip(found[name], found["copy"]):
                copy = bench.best_copy(bound[load.payload])
                results.append({**result, "copy": copy, "of_copy": result["built"] / copy})
            table.add(name, results, load.describe(), missing.get(name))
    return [table]
