# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Everything that threads share, used at the same time: lcores that build, and clients that read
all that telemetry has. The build with ThreadSanitizer runs this: a report of it is an exit status."""

import threading

import appliance
import evbtest
import judge
import telemetry
from evbtest import check, check_equal

READERS = 2
ROUNDS = 10  # of all commands, by each reader
EVENTS = 500


def commands(client):
    """The commands that need no parameter."""
    return [command for command in client.query("/") if command.startswith("/evb/")
            and command.rpartition("/")[2] not in ("info", "source", "list")]


def read_all(name, failures):
    try:
        for _ in range(ROUNDS):
            with telemetry.Telemetry(name) as client:
                for command in commands(client):
                    client.query(command)
    except Exception as error:  # told by the thread that waits
        failures.append(error)


def check_run(configuration, work, events):
    """Reads telemetry while the appliance builds, and at its end."""
    evb = work.run(configuration)
    failures = []
    readers = [threading.Thread(target=read_all, args=(evb.name, failures))
               for _ in range(READERS)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    check_equal(failures, [], "failures of the readers")
    evb.wait_until(lambda: telemetry.summary(evb.name)["events_complete"] >= events, "the events")
    summary = evb.drain()
    evbtest.check_identities(summary)
    check_equal(evbtest.drops(summary), {}, "drops")
    complete, incomplete = judge.event_counts(summary)
    check(complete >= events and incomplete == 0, f"{complete} complete, {incomplete} incomplete")


def test_lcores_and_telemetry():
    with evbtest.Workspace() as work:
        check_run(appliance.generated(work, generator={"rate": 2000}), work, EVENTS)


def test_node_of_a_system():
    """With an event manager, whose state telemetry reads, and a readout."""
    with evbtest.Workspace() as work:
        base = appliance.generated(work, generator={"rate": 2000}, writer=None)
        node = {key: base.pop(key) for key in ("ports", "generators")}
        node["generators"][0]["ids"] = base["sources"]["ids"]
        base.update(event_ring={"groups": []},
                    nodes=[{"name": "a", "manager": True, **node}])
        name = base["name"]
        file = work.write("system.json", base)
        summary = work.path("summary.json")
        evb = work.start(evbtest.binary(), "run", file, "--node", "a", "--summary", summary,
                         summary=summary, name=f"{name}-a")
        evb.wait_for_line("running")
        failures = []
        read_all(evb.name, failures)
        check_equal(failures, [], "failures of the reader")
        evb.wait_until(lambda: telemetry.summary(evb.name)["events_complete"] >= EVENTS,
                       "the events")
        found = evb.drain()
        evbtest.check_identities(found)


if __name__ == "__main__":
    evbtest.main()
