#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`./dev demo cluster`: the folded system of configs/cluster-folded.json, three nodes that read out
and build, each in a network namespace of this machine, over a bridge. Shows them live, and ends
with the account of all. Needs root; nothing is left behind.

    cluster_demo.py [SECONDS]
"""

import cluster
import demo
import evbtest


def scaled(value, unit):
    """A number as people read it."""
    for prefix in ("", "k", "M"):
        if value < 1000:
            return f"{value:.3g} {prefix}{unit}"
        value /= 1000
    return f"{value:.3g} G{unit}"


def take(system):
    """Events built by each node, and what the event manager knows."""
    states = {node: system.status(node) for node in system.nodes}
    return ({node: state["events"]["complete"] for node, state in states.items()},
            states[system.manager]["system"])


def show(second, passed, before, now):
    built, totals = now
    rates = {node: (count - before[0][node]) / passed for node, count in built.items()}
    print(f"{second:4} s  " +
          "  ".join(f"{node} {rate:5.0f}" for node, rate in rates.items()) +
          f"  sum {sum(rates.values()):5.0f} events/s"
          f" | granted {totals['released'] + totals['outstanding']}"
          f"  waiting {totals['waiting']}  in flight {totals['outstanding']}", flush=True)


def watch(system, seconds):
    before = take(system)
    for second, passed in demo.each_second(seconds):
        now = take(system)
        show(second, passed, before, now)
        before = now


def account(summaries):
    """Prints what all nodes together have done; returns whether anything was lost."""
    def total(*path):
        values = list(summaries.values())
        for key in path:
            values = [value[key] for value in values]
        return sum(values)

    seconds = max(summary["seconds"] for summary in summaries.values())
    dropped = sum(sum(evbtest.drops(summary).values()) for summary in summaries.values())
    built, size = total("events", "complete"), total("bytes_built")
    print("\nnode          events built     bytes built")
    for node, summary in summaries.items():
        print(f"  {node:10}  {summary['events']['complete']:12}  {summary['bytes_built']:14}")
    print(f"  {'all':10}  {built:12}  {size:14}")
    print()
    print(f"in {seconds:.1f} s: {scaled(built / seconds, 'events/s')}, "
          f"{scaled(size / seconds, 'B/s')} built")
    print(f"incomplete {total('events', 'incomplete')}, discarded {total('events', 'discarded')}")
    print(f"segments   {total('segments', 'received')} received, {total('segments', 'placed')} "
          f"placed, {total('segments', 'local')} of them without a network; {dropped} dropped")
    print(f"packets    {total('packets', 'received')} received, {total('packets', 'control')} of "
          f"them control messages, {total('packets', 'pause')} pause frames; "
          f"{total('packets', 'missed')} missed")
    return any(summary["losses"] for summary in summaries.values())


def run(seconds):
    with evbtest.Workspace() as work:
        configuration = cluster.shipped("cluster-folded.json")
        configuration["name"] = work.name()
        # Ctrl-C is for this program; the nodes are drained by the event manager.
        with cluster.System(work, configuration, launcher=("setsid",)) as system:
            print("starting nodes " + ", ".join(system.nodes) + "; the event manager is on "
                  + system.manager, flush=True)
            for node in system.nodes:
                system.start(node)
            system.wait_for_state("running")
            try:
                watch(system, seconds)
            except KeyboardInterrupt:
                print("\nstopping", flush=True)
            system.command("drain")
            return demo.EXIT_LOSSES if account(system.end()) else 0


if __name__ == "__main__":
    demo.main(run, 10)
