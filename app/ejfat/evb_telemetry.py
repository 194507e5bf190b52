# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What a load balancer wants to know of a running evb, from its telemetry (docs/telemetry.md)."""

import contextlib
import dataclasses
import glob
import json
import os
import socket

from refusal import Refusal

PATIENCE_S = 1.0
LARGEST_RESPONSE = 1 << 16


class Away(Exception):
    """evb does not respond; one line says why."""


def _folder():
    """Of the sockets, as DPDK chooses it."""
    base = os.environ.get("RUNTIME_DIRECTORY")
    if not base and os.geteuid() == 0:
        base = "/var/run"
    return os.path.join(base or os.environ.get("XDG_RUNTIME_DIR") or "/tmp", "dpdk")


def running():
    """Names of the appliances that have a socket, sorted."""
    paths = glob.glob(os.path.join(_folder(), "evb-*", "dpdk_telemetry.v2"))
    return sorted(os.path.basename(os.path.dirname(path))[len("evb-"):] for path in paths)


@dataclasses.dataclass
class WorkerView:
    """Of a receiving evb. Counters are of its run."""

    ready: bool
    fill: float  # 0 to 1: of the fullest event ring or link
    events_seen: int
    events_complete: int
    events_failed: int  # incomplete and discarded
    events_delivered: int  # published, and released by all consumers
    bytes_received: int
    packets_received: int


class Appliance:
    """The appliance of this name, or the only one that runs. It may end and come back."""

    def __init__(self, name):
        self._wanted = name
        self.name = name
        self._socket = None

    def close(self):
        if self._socket:
            self._socket.close()
        self._socket = None

    def _find(self):
        if self._wanted:
            return self._wanted
        names = running()
        if not names:
            raise Away("no evb runs here")
        if len(names) > 1:
            raise Refusal(f"several appliances run here, choose one with --name: {' '.join(names)}")
        return names[0]

    def _connect(self):
        self.name = self._find()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.settimeout(PATIENCE_S)
            connection.connect(os.path.join(_folder(), f"evb-{self.name}", "dpdk_telemetry.v2"))
            connection.recv(LARGEST_RESPONSE)  # the greeting
        except OSError:
            connection.close()
            raise
        self._socket = connection
        self._wanted = self.name  # another one that runs later is not meant

    def _query(self, command, parameters=""):
        try:
            if not self._socket:
                self._connect()
            self._socket.send((f"{command},{parameters}" if parameters else command).encode())
            value = json.loads(self._socket.recv(LARGEST_RESPONSE))[command]
        except (OSError, ValueError, KeyError) as error:
            self.close()
            why = error.strerror if isinstance(error, OSError) and error.strerror else "no response"
            raise Away(f"evb {self.name or ''} does not run: {why}".replace("  ", " ")) from None
        if not isinstance(value, dict) or "error" in value:
            raise Away(f"evb {self.name} is starting, or too old: it has no {command}")
        return value

    def _things(self, group):
        """All things of a group: [{key: value}]."""
        things, count = [], 1
        while len(things) < count:
            page = self._query(f"/evb/{group}/all", str(len(things)) if things else "")
            count = page.pop("count", 0)
            if not page:
                break
            things += page.values()
        return things

    def _is_running(self):
        info = self._query("/evb/info")
        return info.get("state") == "running"

    def worker(self):
        """WorkerView; Away if evb does not run."""
        if not self._is_running():
            raise Away(f"evb {self.name} is not running")
        summary = self._query("/evb/summary")
        builders = self._things("builder")
        if not builders:
            raise Refusal(f"evb {self.name} has no builder: register the node that builds events")
        try:
            shares = [1 - b["slots_free"] / b["slots"] for b in builders]
            shares += [link["used"] / link["depth"] for link in self._links()]
            published = summary["events_complete"] + summary["events_incomplete"]
            return WorkerView(
                ready=True,
                fill=min(1.0, max(0.0, *shares)),
                events_seen=summary["events_opened"] - summary["events_ends_of_run"],
                events_complete=summary["events_complete"],
                events_failed=summary["events_incomplete"] + summary["events_discarded"],
                events_delivered=max(0, published - sum(b["events_held"] for b in builders)),
                bytes_received=summary["packets_received_bytes"],
                packets_received=summary["segments_received"])
        except (KeyError, TypeError, ZeroDivisionError):
            raise Away(f"evb {self.name} is starting or stopping") from None

    def _links(self):
        with contextlib.suppress(Away):
            return self._things("link")
        return []

    def tick(self):
        """Tick that the generators' segments carry now; Away if none sends."""
        if not self._is_running():
            raise Away(f"evb {self.name} is not running")
        ticks = [generator["tick"] for generator in self._things("generator")
                 if generator.get("events") is not None and "tick" in generator]
        if not ticks:
            raise Refusal(f"evb {self.name} has no generator whose events are counted: the sync "
                          "messages belong to the process that sends the data")
        return max(ticks)
