# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb ctl` finds the event manager in office, also where it changes while the command is under way.
Stands respond in the place of the nodes, so that a term ends exactly between two requests."""

import contextlib
import json
import os
import socket
import threading

import evbtest
from evbtest import check, check_equal
from test_cluster import base

ELSEWHERE = {"ok": False, "not_manager": True, "error": "start: no event manager is in office"}


class Stand:
    """Context manager. Stands for the node of a system at its control socket. status: called for each
    request, gives the status; respond: gives the response to any other command."""

    def __init__(self, path, status, respond):
        self.commands, self.looks = [], 0
        self._path, self._status, self._respond = path, status, respond

    def __enter__(self):
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(self._path)
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        os.unlink(self._path)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                with self._listener.accept()[0] as client:
                    command = json.loads(client.recv(4096))["command"]
                    if command == "status":
                        self.looks += 1
                        response = self._status()
                    else:
                        self.commands.append(command)
                        response = self._respond()
                    client.send(json.dumps(response).encode())


def follows(manager):
    """The status of a node that this one manages."""
    return {"ok": True, "node": {"manager": manager}}


def manages(name):
    return {**follows(name), "system": {"nodes": [{"name": "a", "registered": True}]}}


@contextlib.contextmanager
def system(work, heartbeat_timeout="20s"):
    """A system whose nodes a and b can be elected. Yields its file, and the sockets of a and b."""
    configuration = base(work, "cluster-folded.json")
    configuration["nodes"][1]["manager"] = True
    configuration["event_manager"]["heartbeat_timeout"] = heartbeat_timeout
    file = work.write("system.json", configuration)
    yield file, *(evbtest.control_socket(f"{configuration['name']}-{node}") for node in "ab")


def test_a_term_ends_before_the_command():
    """The node that was in office refuses. The command waits for the next manager, and it gets it once."""
    with evbtest.Workspace() as work, system(work) as (file, path_a, path_b):
        refused = threading.Event()

        def refuse():
            refused.set()
            return ELSEWHERE

        looks = iter(range(5))  # of ctl at b, after which b is in office
        with Stand(path_a, lambda: follows("a") if refused.is_set() else manages("a"), refuse) as a, \
                Stand(path_b, lambda: manages("b") if refused.is_set() and next(looks, None) is None
                      else follows("a"), lambda: {"ok": True}) as b:
            done = work.evb("ctl", file, "start")
        check_equal((done.status, done.output()), (0, ""), done.describe())
        check_equal((a.commands, b.commands, next(looks, None)), (["start"], ["start"], None), "commands")


def test_the_manager_died():
    """Its socket is there, but nobody listens. The others still follow it for a while."""
    with evbtest.Workspace() as work, system(work) as (file, path_a, path_b):
        os.makedirs(os.path.dirname(path_a), exist_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as dead:
            dead.bind(path_a)
        try:
            looks = iter(range(5))
            with Stand(path_b, lambda: manages("b") if next(looks, None) is None else follows("a"),
                       lambda: {"ok": True}) as b:
                done = work.evb("ctl", file, "start")
            check_equal((done.status, done.output()), (0, ""), done.describe())
            check_equal((b.commands, next(looks, None)), (["start"], None), "commands")
        finally:
            os.unlink(path_a)


def test_the_manager_is_on_another_machine():
    """The node that runs here says which one it is. Nothing is waited for, and it is asked once."""
    with evbtest.Workspace() as work, system(work) as (file, path_a, _):
        with Stand(path_a, lambda: follows("b"), lambda: {
                **ELSEWHERE, "error": "start: this node is not the event manager: ask node b"}) as a:
            done = work.evb("ctl", file, "start")
        check_equal(done.status, 1, done.describe())
        check_equal(done.errors(), "evb ctl: start: this node is not the event manager: ask node b",
                    "errors")
        check_equal((a.looks, a.commands), (1, ["start"]), "looks and commands")


def test_nobody_is_elected():
    """After 2 s the command is refused with the cause that the node gives."""
    with evbtest.Workspace() as work, system(work, "100ms") as (file, path_a, _):
        with Stand(path_a, lambda: follows(""), lambda: ELSEWHERE) as a:
            done = work.evb("ctl", file, "start")
        check_equal(done.status, 1, done.describe())
        check_equal(done.errors(), f"evb ctl: {ELSEWHERE['error']}", "errors")
        check_equal(a.commands, ["start"], "commands")
        check(a.looks > 1, "ctl did not wait")


if __name__ == "__main__":
    evbtest.main()
