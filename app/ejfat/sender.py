# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A sending evb behind a load balancer: sync messages, from which the balancer predicts the tick at
which its next epoch begins, and the list of addresses that may send.

A sync message, 28 bytes, big endian (E2SAR 0.3.2, include/e2sarHeaders.hpp):

     0 'L' 'C' | 2 u8 version 2 | 3 u8 0 | 4 u32 source id | 8 u64 tick now
    16 u32 ticks per second | 20 u64 Unix time in ns

The ticks are those of the data: segments of evb carry event number / packing, which all sources
have in common. E2SAR's segmenter sends microseconds instead, which only a single source can: two
would give the same event different ticks, and the balancer would send it to two workers. Ticks come
from telemetry, a few milliseconds late; the balancer predicts 800 ms ahead.
"""

import collections
import socket
import struct
import time

import evb_telemetry
from balancer import CallFailed
from refusal import Refusal, say
from worker import GOODBYE_S, Trouble, call_until

SYNC = struct.Struct("!2sBBIQIQ")
SYNC_VERSION = 2
FIRST_PERIOD_S = 0.1  # the first messages follow each other faster, until the rate is known


class Rate:
    """Ticks per second over the last two periods."""

    PERIODS = 2

    def __init__(self):
        self._samples = collections.deque(maxlen=self.PERIODS + 1)

    def add(self, tick, at):
        """at: seconds of a clock that does not go back. Returns the rate; at least 1, as E2SAR has
        it: with 0 the balancer would extrapolate what it received before."""
        if self._samples and (tick < self._samples[-1][0] or at <= self._samples[-1][1]):
            self._samples.clear()  # evb began a new run
        self._samples.append((tick, at))
        (first, since), (last, until) = self._samples[0], self._samples[-1]
        rate = round((last - first) / (until - since)) if until > since else 1
        return min(max(rate, 1), 2**32 - 1)


class Sender:
    """options: the command's arguments. stop: threading.Event."""

    def __init__(self, balancer, appliance, options, stop):
        if not balancer.uri.sync:
            raise Refusal("EJFAT_URI: has no sync=ADDRESS:PORT: take the URI that `evb-ejfat "
                          "reserve` printed")
        self._balancer = balancer
        self._appliance = appliance
        self._options = options
        self._stop = stop
        self._added = False
        self._calls = Trouble(f"balancer {balancer.uri.target()} responds")
        self._evb = Trouble("evb sends")
        self._network = Trouble("sync messages are sent again")

    def run(self):
        try:
            if self._options.address and not self._add():
                return
            self._send_syncs()
        finally:
            self._remove()

    def _addresses(self):
        return [str(address) for address in self._options.address]

    def _add(self):
        """Tries until it succeeds; False: stopped before."""
        reply = call_until(self._stop, self._calls, lambda: self._balancer.call(
            "AddSenders", lbId=self._balancer.uri.lb_id, senderAddresses=self._addresses()))
        if reply is None:
            return False
        self._added = True
        say(f"added: {' '.join(self._addresses())} may send to load balancer "
            f"{self._balancer.uri.lb_id}")
        return True

    def _remove(self):
        if not self._added:
            return
        try:
            self._balancer.call("RemoveSenders", timeout_s=GOODBYE_S,
                                lbId=self._balancer.uri.lb_id, senderAddresses=self._addresses())
        except CallFailed as failure:
            raise Refusal(f"{failure}; {' '.join(self._addresses())} may send until the "
                          "reservation ends") from None
        say("removed")

    def _send_syncs(self):
        address, port = self._balancer.uri.sync[0]
        family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as udp:
            try:
                udp.connect((str(address), port))
            except OSError as error:
                raise Refusal(f"sync messages to {address}: {error.strerror}: give this machine a "
                              "route to the balancer") from None
            say(f"syncs: to {address} port {port}, every {self._options.interval:g} s")
            self._loop(udp)

    def _loop(self, udp):
        rate, period = Rate(), min(FIRST_PERIOD_S, self._options.interval)
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                tick = self._appliance.tick()
                self._evb.ends()
                self._send(udp, tick, rate.add(tick, time.monotonic()))
            except evb_telemetry.Away as away:
                self._evb.begins(f"{away}; no sync messages")
                period, rate = min(FIRST_PERIOD_S, self._options.interval), Rate()
            else:
                period = min(2 * period, self._options.interval)
            due = max(due + period, time.monotonic() - period)
            self._stop.wait(max(0.0, due - time.monotonic()))

    def _send(self, udp, tick, rate):
        try:
            udp.send(SYNC.pack(b"LC", SYNC_VERSION, 0, self._options.source_id, tick, rate,
                               time.time_ns()))
            self._network.ends()
        except OSError as error:
            self._network.begins(f"sync messages: {error.strerror}; trying again")
