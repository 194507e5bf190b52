# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Two evb processes joined by a memif: a node that generates, a node that builds."""

import os

import appliance
import evbtest
import judge
import telemetry
from evbtest import check, check_equal

EVENTS = 300
KILLS = 12
STREAM = 300  # events until the sender sends at its full rate
SOURCES = 8
ADDRESS = "10.9.0.1"


def nodes(work, mtu, size=400, **generator):
    """(builder node, generator node)"""
    whole = appliance.generated(work, SOURCES, packing=20, count=EVENTS, size=size,
                                generator={"destination": {"address": ADDRESS}, **generator})
    socket = work.path("memif.sock")
    builder = {key: value for key, value in whole.items() if key != "generators"}
    source = {key: whole[key] for key in ("sources", "generators")}
    # Its link comes up with the client, which starts later.
    builder["ports"] = [{**memif("server", socket, mtu, ADDRESS), "link_timeout": 0}]
    source.update(name=work.name(), ports=[memif("client", socket, mtu, "10.9.0.2")])
    return builder, source


def memif(role, socket, mtu, address):
    return {"name": "wire", "profile": "memif", "device": socket, "mtu": mtu,
            "address": f"{address}/24", "options": {"role": role}}


def run_two(mtu, device=None, **generator):
    with evbtest.Workspace() as work:
        builder, source = nodes(work, mtu, **generator)
        for node in (builder, source) if device else ():
            node["ports"][0]["device"] = device
        receiving = work.run(builder)
        sending = work.run(source)
        sending.end()
        summary = receiving.end()
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, "drops")
        check_equal(judge.event_counts(summary), (EVENTS, 0), "events")
        found = judge.read_directory(work.path("events"))
        check_equal(sorted(found), [20 * index for index in range(EVENTS)], "event ids")
        for path in judge.files(work.path("events")):
            check(work.verify(path), f"{path} does not verify")


def test_mtu_1500():
    run_two(mtu=1500)


def test_mtu_9000():
    run_two(mtu=9000)


def test_mtu_65000():
    """Blocks of 80 kB, each in a packet that is full and a smaller one."""
    run_two(mtu=65000, size=4000)


def test_rate():
    run_two(mtu=9000, rate=300)


def test_name_alone():
    """A socket in the folder in which both run."""
    run_two(mtu=9000, device="memif.sock")


def test_sender_restarts():
    """A generator node that comes again meets the same builder node."""
    with evbtest.Workspace() as work:
        builder, source = nodes(work, 1500, rate=200)
        receiving = work.run(builder)
        sending = work.run(source)
        receiving.wait_until(
            lambda: telemetry.summary(receiving.name)["events_complete"] > 10,
            "events of the first generator node")
        sending.kill()
        source["generators"][0]["first_event"] = 10**6
        again = work.run(source)
        again.end()
        summary = receiving.end()
        evbtest.check_identities(summary)
        found = judge.read_directory(work.path("events"))
        second = [event for event in found if event >= 10**6]
        check_equal(sorted(second), [10**6 + 20 * index for index in range(EVENTS)],
                    "events of the second generator node")


def test_sender_killed_in_a_burst():
    """The receiver survives it. Its lcore shares a CPU with busy processes, so that it is often away in
    the middle of a burst when the driver learns that the sender is dead."""
    with evbtest.Workspace() as work:
        builder, source = nodes(work, 9000, events=0)
        cpu = min(os.sched_getaffinity(0))
        builder["idle"] = {"policy": "poll"}
        builder["lcores"] = [{"cpu": cpu, "roles": ["rx.wire", "builder.b0"]}]
        del builder["writers"]
        for _ in range(2):
            work.start("taskset", "-c", str(cpu), "/bin/sh", "-c", "while :; do :; done")
        receiving = work.run(builder)

        def complete():
            return telemetry.summary(receiving.name)["events_complete"]
        for kill in range(KILLS):
            before = complete()
            source["generators"][0]["first_event"] = 10**8 * kill
            sending = work.run(source)
            receiving.wait_until(lambda before=before: complete() > before + STREAM,
                                 "events of this sender")
            sending.kill()
        check(receiving.running(), receiving.describe())


if __name__ == "__main__":
    evbtest.main()
