#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Faults at random, done to a system of real processes, and what they did to its events:

    chaos.py [--minutes N | --faults N] [--seed S] [--mode push|pull] [--within S] [--verbose]
    chaos.py --histories N [--seed S]
    chaos.py --stops S[,S...] [--times N] [--system FILE] [--nodes NODE[,NODE...]]
    chaos.py --kill NODE [--without-will] [--system FILE] [--source-buffer N] [--silence MS] [--doubt MS]
    chaos.py --standby N [--seed S] [--mode push|pull] [--timeout S] [--within S] [--verbose]

Faults come in rounds of one to three at a time. A round is over when the system runs again: all
nodes take part, and events are complete. At the end the run is drained, and a table tells what was
done and what became of the events, as their consumers saw them; a row counts for a kind all that
happened in its rounds. `./dev chaos` calls this program.

--stops stops each node of a system of configs/ for so many seconds (SIGSTOP), N times, and tells
what was lost, or came in vain; --kill kills a node (SIGKILL) and tells the rate of the others.
--standby kills, stops and cuts off the elected event manager N times, and tells how long take-overs
took after heartbeat_timeout, and whether two nodes were ever in office.

Exit status 1: an event was lost, or published twice without the flag, or is incomplete without a
cause; the system did not run again within the seconds given; a process ended by itself, or an
account is wrong.
"""

import argparse
import collections
import signal
import sys
import time

import chaos_faults
import chaos_standby
import chaos_stops
import claims
import evbtest
from chaos_campaign import Campaign
from chaos_forge import Forger
from chaos_system import Chaos

WITHIN_S = 5.0


def drops_by_cause(summaries):
    causes = collections.Counter()
    for summary in summaries.values():
        causes.update(evbtest.drops(summary))
    return ", ".join(f"{cause} {count}" for cause, count in sorted(causes.items())) or "none"


def run(minutes=None, n_faults=None, seed=1, mode="push", within=WITHIN_S, verbose=False,
        kinds=chaos_faults.KINDS, heartbeat_timeout="500ms", deadline="300ms", quiet=True):
    """Prints the table. Returns what is wrong. quiet: the machine gives each process the CPU within
    the deadline, so that each incomplete event has a fault as its cause."""
    with evbtest.Workspace() as work, \
            Chaos(work, mode, heartbeat_timeout, deadline) as chaos:
        chaos.forger = Forger(chaos, seed)
        chaos.begin()
        campaign = Campaign(chaos, seed, kinds, quiet)
        campaign.begin()
        end = time.monotonic() + 60 * minutes if minutes else None
        summaries = {}
        try:
            while campaign.count < n_faults if n_faults else time.monotonic() < end:
                campaign.round(n_faults - campaign.count if n_faults else 3, evbtest.PATIENCE_S)
                if verbose:
                    print(campaign.rounds[-1].describe(), flush=True)
                    if campaign.rounds[-1].seconds > 2:
                        print(*(f"    {at} {why}" for at, why in chaos.waited_for), sep="\n",
                              flush=True)
            summaries = campaign.end()
        except evbtest.Failure as failure:
            chaos.failures.append(f"{', '.join(campaign.rounds[-1].what)}: {failure}")
        chaos.forger.close()
        print(f"seed {seed}, mode {mode}, {len(chaos.account.times)} events")
        print(campaign.table())
        print(f"dropped by nodes that were there at the end: {drops_by_cause(summaries)}")
        return campaign.verdict(within)


def changes_of(options):
    """The keys of event_manager that --kill changes."""
    changes = {}
    if options.source_buffer:
        changes["source_buffer"] = options.source_buffer
    if options.silence:
        changes["heartbeat_timeout"] = f"{options.silence}ms"
        changes["heartbeat"] = f"{options.silence * 200}us"
    if options.doubt:
        changes["in_doubt_timeout"] = f"{options.doubt}ms"
    return changes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--faults", type=int, help="end after so many, not by time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=("push", "pull"), default="push")
    parser.add_argument("--within", type=float,
                        help=f"seconds in which the system must run again ({WITHIN_S}), or a standby "
                        f"take over after heartbeat_timeout ({chaos_standby.LATER_S})")
    parser.add_argument("--standby", type=int, metavar="N", help="so many take-overs, instead")
    parser.add_argument("--timeout", type=float, default=0.5,
                        help="heartbeat_timeout of --standby, seconds")
    parser.add_argument("--histories", type=int,
                        help="so many histories of processes that claim one node, instead")
    parser.add_argument("--stops", help="seconds for which nodes are stopped, with commas")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--nodes", help="those that are stopped, with commas; else all")
    parser.add_argument("--kill", metavar="NODE", help="a node that is killed")
    parser.add_argument("--without-will", action="store_true",
                        help="as by a loss of power: what would send its last will is killed before")
    parser.add_argument("--system", default="cluster-folded.json", help="a file of configs/")
    parser.add_argument("--source-buffer", type=int, help="events, in the place of the file's")
    parser.add_argument("--silence", type=int, metavar="MS",
                        help="heartbeat_timeout, in the place of the file's")
    parser.add_argument("--doubt", type=int, metavar="MS",
                        help="in_doubt_timeout, in the place of the file's")
    parser.add_argument("--verbose", action="store_true", help="tell each round")
    parser.add_argument("--only", help="kinds of faults, or beginnings of them, with commas")
    options = parser.parse_args()
    kinds = chaos_faults.KINDS
    if options.only:
        kinds = [kind for kind in kinds if kind.kind.startswith(tuple(options.only.split(",")))]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        if options.histories:
            wrong = claims.run(options.histories, options.seed)
        elif options.stops:
            wrong = chaos_stops.run_stops(
                options.system, [float(text) for text in options.stops.split(",")], options.times,
                only=options.nodes.split(",") if options.nodes else None)
        elif options.standby:
            wrong = chaos_standby.run(options.standby, options.seed, options.mode, options.timeout,
                                      options.within or chaos_standby.LATER_S, options.verbose)
        elif options.kill:
            wrong = chaos_stops.run_kill(options.system, options.kill, not options.without_will,
                                         **changes_of(options))
        else:
            wrong = run(options.minutes, options.faults, options.seed, options.mode,
                        within=options.within or WITHIN_S, verbose=options.verbose, kinds=kinds)
    except (evbtest.Skip, evbtest.Failure) as reason:
        sys.exit(f"chaos: {reason}")
    for line in wrong:
        print(f"wrong: {line}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
