# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A running evb as a worker of a load balancer: registered, its state sent periodically, and
deregistered at the end."""

import time

import evb_telemetry
from balancer import Backoff, CallFailed, timestamp
from refusal import Refusal, complain, say

GOODBYE_S = 2.0
# The balancer adds the control signal to the weight as it was registered, which may be as small as
# the signal, until it has scaled the weights to a mean of 1000 in its next epoch, 1 s later.
UNSCALED_S = 2.0
LASTING_S = 60.0  # a session that ends sooner is not registered again at once


def control_signal(fill, gain, set_point):
    """Change of the worker's weight in an epoch, where the mean weight is 1000: proportional to
    the distance of the fill from the set point. The balancer adds it up, so there is no integral
    part here."""
    return gain * (set_point - fill)


class Trouble:
    """Prints a trouble when it begins or changes, and once that it is over."""

    def __init__(self, over):
        self._over = over
        self._trouble = None

    def begins(self, text, kind=None):
        """kind: what makes it another trouble, the text without it."""
        kind = kind or text
        if kind != self._trouble:
            complain(text)
        self._trouble = kind

    def ends(self):
        if self._trouble is not None:
            say(self._over)
        self._trouble = None


def call_until(stop, trouble, call):
    """The reply to call(), which is tried until it succeeds; None: stopped before. Refusal where
    another attempt does not help."""
    backoff = Backoff()
    while not stop.is_set():
        try:
            reply = call()
        except CallFailed as failure:
            if failure.final:
                raise Refusal(str(failure)) from None
            trouble.begins(f"{failure}; trying again", failure.code)
            stop.wait(backoff.next())
        else:
            trouble.ends()
            return reply
    return None


class Worker:
    """options: the command's arguments. stop: threading.Event."""

    def __init__(self, balancer, appliance, options, stop):
        self._balancer = balancer
        self._appliance = appliance
        self._options = options
        self._stop = stop
        self._session = None  # reply to Register
        self._registered_at = 0.0
        self._calls = Trouble(f"balancer {balancer.uri.target()} responds")
        self._evb = Trouble("evb runs: ready")

    def run(self):
        backoff = Backoff()
        try:
            while not self._stop.is_set():
                if self._register():
                    self._send_states()
                if time.monotonic() - self._registered_at > LASTING_S:
                    backoff = Backoff()
                self._stop.wait(backoff.next())
        finally:
            self._deregister()

    def _register(self):
        """Tries until it succeeds; False: stopped before."""
        options = self._options
        session = call_until(self._stop, self._calls, lambda: self._balancer.call(
            "Register", lbId=self._balancer.uri.lb_id, name=options.worker_name,
            weight=options.weight, ipAddress=str(options.address),
            udpPort=options.udp_port, portRange=options.udp_ports.bit_length() - 1,
            minFactor=options.min_factor, maxFactor=options.max_factor,
            keepLbHeader=options.keep_lb_header))
        if session is None:
            return False
        self._session = session
        self._registered_at = time.monotonic()
        say(f"registered: worker {session.sessionId} of load balancer "
            f"{self._balancer.uri.lb_id}, {options.worker_name} at {options.address}, UDP port "
            f"{options.udp_port}"
            + (f" to {options.udp_port + options.udp_ports - 1}"
               if options.udp_ports > 1 else ""))
        return True

    def _send_states(self):
        """Until stopped, or the balancer does not know the session any more."""
        period, due, backoff = self._options.interval, time.monotonic(), Backoff()
        while not self._stop.is_set():
            try:
                self._send_state()
                self._calls.ends()
                backoff = Backoff()
            except CallFailed as failure:
                if failure.final:
                    self._session = None
                    complain(f"{failure}; registering again")
                    return
                self._calls.begins(f"{failure}; trying again", failure.code)
                self._stop.wait(backoff.next())
            due = max(due + period, time.monotonic() - period)
            self._stop.wait(max(0.0, due - time.monotonic()))

    def _view(self):
        """WorkerView, or None while evb does not run."""
        try:
            view = self._appliance.worker()
        except evb_telemetry.Away as away:
            self._evb.begins(f"{away}; not ready")
            return None
        self._evb.ends()
        return view

    def _send_state(self):
        view, options = self._view(), self._options
        state = {"isReady": False, "fillPercent": 1.0}
        if view:
            signal = control_signal(view.fill, options.gain, options.set_point)
            if time.monotonic() - self._registered_at < UNSCALED_S:
                signal = 0.0
            state = {
                "isReady": view.ready,
                "fillPercent": view.fill,
                "controlSignal": signal,
                "totalEventsRecv": view.events_seen,
                "totalEventsReassembled": view.events_complete,
                "totalEventsReassemblyErr": view.events_failed,
                "totalEventsDequeued": view.events_delivered,
                "totalBytesRecv": view.bytes_received,
                "totalPacketsRecv": view.packets_received,
            }
        self._balancer.call("SendState", token=self._session.token,
                            timeout_s=max(1.0, options.interval), lbId=self._balancer.uri.lb_id,
                            sessionId=self._session.sessionId,
                            timestamp=timestamp(self._balancer.messages), **state)

    def _deregister(self):
        if not self._session:
            return
        try:
            self._balancer.call("Deregister", token=self._session.token, timeout_s=GOODBYE_S,
                                lbId=self._balancer.uri.lb_id, sessionId=self._session.sessionId)
        except CallFailed as failure:
            raise Refusal(f"{failure}; not deregistered: the balancer sends no new events 2 s after "
                          "the last state, and removes the worker after 60 s") from None
        say("deregistered")
