# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""LSEB 2.0, an event builder of 2017 for LHCb (github.com/manzali/lseb): two nodes on the loopback.

Each node is a process with a readout unit and a builder unit, as a folded node of evb. The readout
units send bulks of 600 fragments to the builder units in turn, through libfabric, and do so with
buffers that were made at the start. A builder unit looks at the first header of a bulk.
"""

import re
import socket
import statistics
import time

import evbtest

NODES = ("a", "b")
BULK = 600  # fragments
HEADER = 24  # bytes of a fragment, which count for MAXIMUM and for the rate
MEAN, SIGMA, MAXIMUM = 200, 20, 240  # bytes of a fragment
CREDITS = 20  # bulks of each connection that are under way
REPORT_S = 5  # it prints its rates so often

_RATES = re.compile(r"Readout Unit: ([0-9.e+-]+) Gb/s|Builder Unit: ([0-9.e+-]+) MHz")


def free_ports(number):
    """Ports of the loopback that nobody has at the moment."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def configuration(ports):
    """Its file. It reads numbers from texts."""
    return {
        "LOG_LEVEL": "INFO",
        # More fragments per second than it can send.
        "GENERATOR": {"MEAN": str(MEAN), "STD_DEV": str(SIGMA), "FREQUENCY": "40000000"},
        "GENERAL": {"MAX_FRAGMENT_SIZE": str(MAXIMUM), "BULKED_EVENTS": str(BULK),
                    "CREDITS": str(CREDITS)},
        "ENDPOINTS": {node: {"HOST": "127.0.0.1", "PORT": str(port)}
                      for node, port in zip(NODES, ports)},
    }


def reports(text):
    """Of what a node has printed: the rates of its readout unit, in bytes per second, and those of its
    builder unit, in fragments per second."""
    found = list(_RATES.finditer(text))
    return ([float(match.group(1)) * 1e9 / 8 for match in found if match.group(1)],
            [float(match.group(2)) * 1e6 for match in found if match.group(2)])


def complete(processes, number):
    """Whether each unit of each node has reported so often."""
    return all(len(rates) >= number for process in processes for rates in reports(process.errors()))


def result(nodes):
    """Rates per node, without the first report of each unit, which has the start in it. nodes: the
    reports() of each node."""
    sent = [statistics.mean(sent[1:]) for sent, _ in nodes]
    built = [statistics.mean(built[1:]) for _, built in nodes]
    return {"built": statistics.mean(sent), "fragments": statistics.mean(built)}


def _wait_for_reports(processes, number):
    for process in processes:
        process.wait_until(lambda: complete(processes, number), f"{number} reports of each unit",
                           timeout=evbtest.PATIENCE_S + REPORT_S * number)
    return sum(process.cpu_seconds() for process in processes), time.monotonic()


def measure(work, program, number):
    """A run in which each unit reports so often after its first report; rates per node."""
    file = work.write("lseb.json", configuration(free_ports(len(NODES))))
    # Its transport takes the address of an interface of its choice otherwise.
    processes = [work.start(program, "-c", file, "-n", node, environment={"FI_TCP_IFACE": "lo"})
                 for node in NODES]
    cpu, start = _wait_for_reports(processes, 1)
    end_cpu, end = _wait_for_reports(processes, number + 1)
    for process in processes:
        process.kill()  # it has no other end
    found = result([reports(process.errors()) for process in processes])
    built = found["built"] * len(NODES) * (end - start)
    return {**found, "cpu_gb": 1e9 * (end_cpu - cpu) / built}
