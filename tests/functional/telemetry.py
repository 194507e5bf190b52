# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A client of DPDK's telemetry socket (version 2): one JSON answer a request."""

import json
import os
import socket

import evbtest


class Telemetry:
    """Context manager: a connection to the appliance of this name. folder: its run-time folder."""

    def __init__(self, name, folder=None):
        self._path = os.path.join(folder or evbtest.runtime_directory(), f"evb-{name}",
                                  "dpdk_telemetry.v2")
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.greeting = None
        self._maximum = 1 << 16

    def __enter__(self):
        self._socket.settimeout(evbtest.PATIENCE_S)
        self._socket.connect(self._path)
        self.greeting = json.loads(self._socket.recv(self._maximum))
        self._maximum = max(self._maximum, self.greeting["max_output_len"])
        return self

    def __exit__(self, *_):
        self._socket.close()

    def query(self, command, parameters=""):
        """The answer's value; None for a command that does not exist or refused."""
        request = f"{command},{parameters}" if parameters else command
        self._socket.send(request.encode())
        return json.loads(self._socket.recv(self._maximum))[command]


def summary(name):
    """What /evb/summary of the appliance of this name tells now: {key: number}."""
    with Telemetry(name) as client:
        return client.query("/evb/summary")


def taken(name):
    """Returns a function: how many packets the appliance has received or counted as missed."""
    def count():
        now = summary(name)
        return now["packets_received"] + now["packets_missed"]
    return count


def total(counters, prefix):
    return sum(value for key, value in counters.items() if key.startswith(prefix))
