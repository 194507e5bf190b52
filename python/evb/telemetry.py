# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Counters of a running evb, by the socket of DPDK's telemetry, version 2.

    with evb.Telemetry("demo") as telemetry:
        print(telemetry.summary()["events_complete"])
        for builder, counters in telemetry.all("builder").items():
            print(builder, counters["slots_free"])

docs/telemetry.md has the commands, docs/metrics.md each counter.
"""

import contextlib
import json
import os
import socket

__all__ = ["Telemetry", "TelemetryError", "running"]

_PREFIX, _SOCKET = "evb-", "dpdk_telemetry.v2"
_GREETING_SIZE = 1 << 16  # bytes, more than any
_RUNTIME = "RUNTIME_DIRECTORY"


class TelemetryError(RuntimeError):
    """evb refused a request: its line says why."""


def directory():
    """Where the sockets of this user's appliances are."""
    base = os.environ.get(_RUNTIME)
    if not base and os.geteuid() == 0:
        base = "/var/run"
    return os.path.join(base or os.environ.get("XDG_RUNTIME_DIR") or "/tmp", "dpdk")


def _connect(name, folder, timeout):
    """A connection, and the greeting. Of a dead process only the socket's file is left."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        connection.settimeout(timeout)
        connection.connect(os.path.join(folder, _PREFIX + name, _SOCKET))
        return connection, json.loads(connection.recv(_GREETING_SIZE))
    except BaseException:
        connection.close()
        raise


def running(folder=None, timeout=5.0):
    """The names of the running appliances, sorted."""
    folder, names = folder or directory(), []
    for entry in sorted(os.listdir(folder) if os.path.isdir(folder) else ()):
        if entry.startswith(_PREFIX):
            name = entry[len(_PREFIX):]
            with contextlib.suppress(OSError, ValueError):
                _connect(name, folder, timeout)[0].close()
                names.append(name)
    return names


class Telemetry:
    """A connection to the appliance `name`; without a name, to the only running one.

    Raises OSError if it does not run, or does not respond within `timeout` seconds. Threads may not
    share one.
    """

    def __init__(self, name=None, folder=None, timeout=5.0):
        folder = folder or directory()
        if name is None:
            names = running(folder, timeout)
            if len(names) != 1:
                raise TelemetryError(f"which appliance? {len(names)} are running: "
                                     f"{', '.join(names) or 'none'}")
            [name] = names
        self.name = name
        self._socket, self.greeting = _connect(name, folder, timeout)

    def query(self, command, *parameters):
        """The value of a response: query("/evb/builder/info", "b0"). None if DPDK does not know
        the command. Raises TelemetryError if evb refuses it."""
        self._socket.send(",".join(map(str, (command, *parameters))).encode())
        response = self._socket.recv(self.greeting["max_output_len"])
        if not response:
            raise ConnectionResetError(f"the appliance {self.name} has ended")
        value = json.loads(response).get(command)
        if isinstance(value, dict) and value.keys() == {"error"}:
            raise TelemetryError(value["error"])
        return value

    def summary(self):
        """All counters, summed over roles: {name: number}."""
        return self.query("/evb/summary")

    def list(self, thing):
        """The names or numbers of all things of a group, such as "builder"."""
        names, page = [], None
        while page is None or page:
            page = self.query(f"/evb/{thing}/list", *([len(names)] if names else []))
            if page is None:
                raise TelemetryError(f"there is no group {thing!r}")
            names += page
        return names

    def all(self, thing):
        """The counters of all things of a group: {name or number: {counter: value}}."""
        return {name: self.query(f"/evb/{thing}/info", name) for name in self.list(thing)}

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
