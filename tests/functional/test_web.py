# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb web`: the page, the metrics, the API, what it refuses, and the page in a browser.

EVB_SCREENSHOTS: a folder in which the browser's screenshots are kept.
"""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import threading
import time

import appliance
import cluster
import evbtest
import openmetrics
from browser import Browser, text_of
from evbtest import check, check_equal

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
HISTORY = ("time_ms", "events_complete", "bytes_built", "loss_total", "slots_free",
           "complete_p99_ns")


def running(work, **changes):
    return work.run(appliance.generated(work, sources=4, packing=10, generator={"rate": 300},
                                        **changes))


class Web:
    """Context manager: `evb web` on a free port."""

    def __init__(self, work, *arguments, environment=None):
        self.process = work.start(evbtest.binary(), "web", "--listen", "127.0.0.1:0",
                                  "--interval", "100ms", *arguments, environment=environment)
        line = self.process.wait_for_line("http://")
        self.url = line.strip()
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", self.url)[1])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        status = self.process.stop()
        check(kind is not None or status == 0, f"status {status} of {self.process.describe()}")

    def request(self, path, method="GET", body=None, **headers):
        """(status, headers, body)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=evbtest.PATIENCE_S)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def get(self, path, **headers):
        status, _, body = self.request(path, **headers)
        check_equal(status, 200, f"status of {path}")
        return body

    def json(self, path):
        return json.loads(self.get(path))

    def raw(self, data):
        """Sends bytes on a connection of its own; returns what comes back until it is closed."""
        with socket.create_connection(("127.0.0.1", self.port), evbtest.PATIENCE_S) as connection:
            received = b""
            with contextlib.suppress(OSError):
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while block := connection.recv(65536):
                    received += block
            return received

    def wait_for(self, name, predicate, what):
        def known():
            status, _, body = self.request(f"/api/nodes/{name}")
            return status == 200 and predicate(json.loads(body))
        self.process.wait_until(known, what)


def building(node):
    return node["up"] and node["snapshot"]["summary"]["events_complete"] > 10


# --- what it serves ------------------------------------------------------------------------------


def test_page():
    """One file with all it needs; the policy lets its own script run and nothing else."""
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        status, headers, body = web.request("/")
        check_equal((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"), "page")
        text = body.decode()
        outside = re.findall(r"""(?:src|href)\s*=\s*["'](?!data:)|url\(|@import|https?://""",
                             re.sub(r"http://www\.w3\.org/2000/svg", "", text))
        check_equal(outside, [], "references to elsewhere")
        policy = headers["Content-Security-Policy"]
        check("default-src 'none'" in policy and "unsafe" not in policy, policy)
        for tag in ("script", "style"):
            [inline] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
            check(f"{tag}-src 'sha256-{digest}'" in policy, f"{tag} is not in {policy}")


def test_metrics():
    """The same as evb stat tells, in the format that the client asks for."""
    with evbtest.Workspace() as work:
        process = running(work)
        with Web(work, "--name", process.name) as web:
            web.wait_for(process.name, building, "events are built")
            _, headers, body = web.request("/metrics", Accept=OPENMETRICS)
            check_equal(headers["Content-Type"],
                        "application/openmetrics-text; version=1.0.0; charset=utf-8", "type")
            served = openmetrics.parse(body.decode())
            stat = work.evb("stat", "--openmetrics", "--name", process.name)
            told = openmetrics.parse(stat.output() + "\n")
            check_equal(list(served), list(told), "metrics")
            complete = [openmetrics.value(families, "evb_events_complete", node=process.name)
                        for families in (served, told)]
            check(10 < complete[0] <= complete[1], f"complete events {complete}")
            _, headers, body = web.request("/metrics")
            check_equal(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8", "type")
            check(b"# TYPE evb_events_complete_total counter\n" in body, "no text format 0.0.4")


def test_metrics_are_of_now():
    """Not of the last look, which may be long ago."""
    with evbtest.Workspace() as work:
        process = running(work)
        with Web(work, "--name", process.name, "--interval", "1min") as web:
            web.wait_for(process.name, lambda node: node["up"], "the first look")
            counts = []
            for _ in range(2):
                text = web.get("/metrics").decode()
                counts.append(int(re.search(r"^evb_role_polls_total\{.*\} (\d+)$", text,
                                            re.MULTILINE)[1]))
            check(counts[1] > counts[0], f"polls stand still at {counts}")


def test_api():
    with evbtest.Workspace() as work:
        process = running(work)
        with Web(work, "--name", process.name) as web:
            path = f"/api/nodes/{process.name}"
            web.wait_for(process.name, building, "events are built")
            [node] = web.json("/api/nodes")["nodes"]
            check_equal((node["name"], node["up"], node["error"]), (process.name, True, ""), "node")
            whole = web.json(path)["snapshot"]
            check({"info", "summary", "role", "link", "builder", "source", "port", "lcore",
                   "generator", "writer"} <= whole.keys(), f"parts {whole.keys()}")
            check_equal([source["id"] for source in web.json(f"{path}/source")],
                        [0x1001, 0x1002, 0x1003, 0x1004], "sources")
            check_equal(web.json(f"{path}/builder")[0]["group_0"]["name"], "files", "group")
            check(sum(web.json(f"{path}/builder")[0]["latency_complete_ns"].values()) > 0, "times")
            history = web.json(f"{path}/history")
            check({len(history[column]) for column in HISTORY} == {len(history["time_ms"])},
                  "columns differ in length")
            check_equal(history["time_ms"], sorted(history["time_ms"]), "times")
            since = history["time_ms"][-1]
            later = web.json(f"{path}/history?since={since}")["time_ms"]
            check(all(time > since for time in later), f"{later} not after {since}")
            for wrong in ("/api", "/api/", "/api/nodes/", "/api/nodes/nobody", f"{path}/nothing",
                          f"{path}/", f"{path}/history/x", "/index.html", "/..", "/api/nodes/a/b/c",
                          "/api/nodes/" + "x" * 500):
                check_equal(web.request(wrong)[0], 404, f"status of {wrong}")


def test_several_nodes():
    """Without a name, all that run are shown, also those that come later."""
    with evbtest.Workspace() as work:
        first = running(work)
        with Web(work) as web:
            web.wait_for(first.name, building, "the first one")
            second = running(work)
            web.wait_for(second.name, building, "the second one")
            families = openmetrics.parse(web.get("/metrics", Accept=OPENMETRICS).decode())
            for name in (first.name, second.name):
                check(openmetrics.value(families, "evb_events_complete", node=name) > 0, name)


class Stand:
    """Stands for an appliance: a telemetry socket that answers just enough to be shown."""

    def __init__(self, runtime, name):
        self._folder = os.path.join(runtime, "dpdk", f"evb-{name}")
        os.makedirs(self._folder)
        self._sockets = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        self._sockets[0].bind(os.path.join(self._folder, "dpdk_telemetry.v2"))
        self._sockets[0].listen(10)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._sockets[0].accept()
                self._sockets.append(client)
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    @staticmethod
    def _answer(client):
        with contextlib.suppress(OSError):
            client.send(b'{"version":"stand","pid":1,"max_output_len":16384}')
            while request := client.recv(1024):
                command = request.decode().split(",")[0]
                answer = ["/evb/info", "/evb/summary"] if command == "/" else {"run_number": 1}
                client.send(json.dumps({command: answer}).encode())

    def end(self):
        shutil.rmtree(self._folder)
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def test_those_that_ended_make_room():
    """At most 64 are shown: one that starts takes the place of one that does not answer any more."""
    with evbtest.Workspace() as work:
        runtime = work.folder("runtime")
        stands = [Stand(runtime, f"old{number}") for number in range(64)]
        with Web(work, environment={"RUNTIME_DIRECTORY": runtime}) as web:
            def up():
                return {node["name"] for node in web.json("/api/nodes")["nodes"] if node["up"]}
            web.process.wait_until(lambda: len(up()) == 64, "all are shown")
            for stand in stands[:60]:
                stand.end()
            stands += [Stand(runtime, f"new{number}") for number in range(3)]
            web.process.wait_until(lambda: {"new0", "new1", "new2"} <= up(), "new ones are shown")
            check_equal(len(up()), 7, "appliances that run")
        for stand in stands[60:]:
            stand.end()


def test_an_appliance_that_ends():
    with evbtest.Workspace() as work:
        process = running(work)
        with Web(work, "--name", process.name) as web:
            web.wait_for(process.name, building, "events are built")
            process.drain()
            web.wait_for(process.name, lambda node: not node["up"], "that it ended")
            node = web.json(f"/api/nodes/{process.name}")
            check(node["error"] and node["snapshot"]["summary"]["events_complete"] > 10,
                  f"what was known last: {node}")


def test_an_appliance_that_hangs():
    """Others are still shown, and so is it when it goes on."""
    with evbtest.Workspace() as work:
        hanging, other = running(work), running(work)
        with Web(work, "--name", hanging.name, "--name", other.name) as web:
            web.wait_for(hanging.name, building, "events are built")
            hanging.signal(signal.SIGSTOP)
            web.wait_for(hanging.name, lambda node: not node["up"], "that it hangs")
            check("did not answer" in web.json(f"/api/nodes/{hanging.name}")["error"], "why")
            web.wait_for(other.name, building, "that the other runs")
            check_equal(web.request("/")[0], 200, "page")
            hanging.signal(signal.SIGCONT)
            web.wait_for(hanging.name, lambda node: node["up"], "that it goes on")


# --- what it refuses -----------------------------------------------------------------------------


def test_read_only():
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
            status, headers, _ = web.request("/api/nodes", method, b"x" if method == "POST" else None)
            check_equal((status, headers["Allow"]), (405, "GET, HEAD"), method)
        status, headers, body = web.request("/", "HEAD")
        check_equal((status, body), (200, b""), "HEAD")
        check_equal(int(headers["Content-Length"]), len(web.get("/")), "length of HEAD")
        status, _, _ = web.request("/", "GET", b"body", **{"Transfer-Encoding": "chunked"})
        check_equal(status, 400, "GET with a body")


def test_every_answer_has_its_headers():
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        for method, path in (("GET", "/"), ("GET", "/metrics"), ("GET", "/api/nodes"),
                             ("GET", "/nothing"), ("POST", "/")):
            _, headers, _ = web.request(path, method)
            for name, value in (("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"),
                                ("Referrer-Policy", "no-referrer"), ("Cache-Control", "no-store"),
                                ("Cross-Origin-Resource-Policy", "same-origin")):
                check_equal(headers[name], value, f"{name} of {method} {path}")
            check("default-src 'none'" in headers["Content-Security-Policy"], f"policy of {path}")


def test_foreign_names():
    """A name that somebody else's web site made point here is not answered."""
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        for host, status in (("localhost", 200), (f"localhost:{web.port}", 200),
                             ("127.0.0.1:1", 200), ("[::1]:8080", 200), ("evil.example", 403),
                             ("evil.example:8080", 403), ("127.0.0.1.evil.example", 403),
                             ("[evil]", 403), ("", 403), ("x" * 300, 403)):
            check_equal(web.request("/api/nodes", Host=host)[0], status, f"Host: {host}")


def test_bad_requests():
    """None of them ends the server, or keeps it from serving others."""
    random.seed(1)
    requests = [
        b"", b"\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
        b"GET /%00%ff%zz HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /" + b"a" * 100000 + b" HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\n" + b"X: " + b"y" * 100000 + b"\r\n\r\n",
        b"GET / HTTP/1.0\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(20000)) + b"\r\n",
        b"GET / HTTP/1.0\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.0\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET /api/nodes/%s/history?since=nan HTTP/1.0\r\n\r\n",
        b"GET /api/nodes/a/history?since=1e999&since HTTP/1.0\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        *(random.randbytes(random.randrange(1, 3000)) for _ in range(200)),
    ]
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        for request in requests:
            answer = web.raw(request)
            check(answer == b"" or answer.startswith(b"HTTP/1."), f"{request[:60]}: {answer[:60]}")
        check_equal(web.request("/")[0], 200, "page after bad requests")


def test_too_many_connections():
    """What is beyond the limit waits or is refused; when the others go, all is as before."""
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        with contextlib.ExitStack() as stack:
            for _ in range(200):
                connection = socket.create_connection(("127.0.0.1", web.port), evbtest.PATIENCE_S)
                stack.enter_context(connection)
                with contextlib.suppress(OSError):
                    connection.sendall(b"GET / HTTP/1.1\r\n")
            check(web.process.running(), f"ended: {web.process.describe()}")

        def serves():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return web.request("/")[0] == 200
            return False

        web.process.wait_until(serves, "it serves again")


def slow_client(web, stack, source="127.0.0.1", head=b"GET / HTTP/1.1\r\n"):
    connection = socket.create_connection(("127.0.0.1", web.port), evbtest.PATIENCE_S,
                                          source_address=(source, 0))
    stack.enter_context(connection)
    with contextlib.suppress(OSError):
        connection.sendall(head)
    connection.setblocking(False)
    return connection


def is_closed(connection):
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def test_one_address_cannot_take_all_connections():
    """Slow clients of one address leave room for others."""
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        with contextlib.ExitStack() as stack:
            slow = [slow_client(web, stack) for _ in range(80)]
            def open_ones():
                return sum(not is_closed(one) for one in slow)

            web.process.wait_until(lambda: open_ones() <= 16, "64 connections are refused")
            other = slow_client(web, stack, "127.0.0.2",
                                b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
            web.process.wait_until(lambda: is_closed(other), "another address is served")
            check_equal(open_ones(), 16, "connections of one address")


def test_slow_clients_are_ended():
    """A client that sends a byte now and then, or reads nothing, does not stay for ever."""
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        with contextlib.ExitStack() as stack:
            begin = time.monotonic()
            slow = [slow_client(web, stack, head=b"GET / HTTP/1.1\r\nX: ") for _ in range(4)]
            deaf = slow_client(web, stack, head=b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 900)
            while not all(is_closed(one) for one in slow):
                check(time.monotonic() - begin < 20, "a slow sender stays")
                select.select(slow, [], [], 1)  # until one is ended
                for one in slow:
                    with contextlib.suppress(OSError):
                        one.send(b"x")
            check(time.monotonic() - begin > 10, "a slow sender is ended too early")
            web.process.wait_until(lambda: is_closed(deaf), "a client that does not read is ended")


def test_options():
    with evbtest.Workspace() as work, Web(work, "--name", work.name()) as web:
        for arguments, words in (
                (["--listen", "example.org:80"], "no address to listen to"),
                (["--listen", "127.0.0.1:99999"], "no address to listen to"),
                (["--listen", f"127.0.0.1:{web.port}"],
                 f"cannot listen at 127.0.0.1:{web.port}: Address already in use; choose another"),
                (["--listen", "192.0.2.1:8080"], "cannot listen at 192.0.2.1:8080: Cannot assign"),
                (["--interval", "1ms"], "out of range"), (["--interval", "soon"], "--interval"),
                (["--name", "x" * 100], "too long"), (["x"], "Too many arguments")):
            process = work.evb("web", *arguments)
            check_equal(process.status, 1, f"status of {process.describe()}")
            check(words in process.errors(), f"no {words!r} from {process.describe()}")


# --- in a browser --------------------------------------------------------------------------------


def ticks(document):
    return int(re.search(r'data-ticks="(\d+)"', document)[1])


def test_browser_shows_an_appliance():
    with evbtest.Workspace() as work:
        browser = Browser(work)
        process = running(work)
        with Web(work, "--name", process.name) as web:
            web.wait_for(process.name, building, "events are built")
            document = browser.showing(
                ("running", "Complete events", "Throughput", "Latency p99", "Free slots",
                 "4 of 4 without loss", "rx.wire", "builder.b0", "lcore 1", "net_ring",
                 "Nothing was dropped", "boards", "files"),
                f"{web.url}?theme=dark", "evb-web-dark.png")
            text = text_of(document)
            check(ticks(document) >= 2, f"the script looked {ticks(document)} times")
            check(re.search(r"Complete events [\d.]+ k?/s", text), f"no event rate: {text}")
            if os.environ.get("EVB_SCREENSHOTS"):
                browser.pictured(f"{web.url}?theme=light", "evb-web-light.png")


def test_browser_shows_losses():
    with evbtest.Workspace() as work:
        browser = Browser(work)
        configuration = appliance.generated(
            work, sources=4, packing=10, generator={"rate": 300, "faults": {
                "duplicate": 0.05, "silent_source": 0x1003}})
        configuration["events"]["deadline"] = "50ms"
        process = work.run(configuration)
        with Web(work, "--name", process.name) as web:
            web.wait_for(process.name, lambda node: node["up"] and
                         node["snapshot"]["summary"]["events_incomplete"] > 100 and
                         node["snapshot"]["summary"]["segment_drop_duplicate"] > 10, "losses")
            text = text_of(browser.showing(("incomplete", "duplicate", "silent"), web.url))
            worst = re.search(r"main cause (\d+) (\w+)", text)
            check_equal(worst.groups(), (str(0x1003), "silent"), "the worst source")


def test_browser_shows_a_system():
    """The event manager's node: nodes, credits of all builders, readouts; the others a click away. One
    that dies is missed."""
    with evbtest.Workspace() as work:
        evbtest.need_root()
        browser = Browser(work)
        configuration = cluster.shipped("cluster-folded.json")
        configuration["name"] = work.name()
        for node in configuration["nodes"]:
            for generator in node["generators"]:
                generator["rate"] = 100 # the browser needs CPUs, too
        with cluster.System(work, configuration) as system:
            system.start()
            names = [f"{system.name}-{node}" for node in system.nodes]
            options = [option for name in names for option in ("--name", name)]
            with Web(work, *options) as web:
                manager = f"{system.name}-{system.manager}"
                web.wait_for(manager, building, "events are built")
                url = f"{web.url}?node={manager}"
                text = text_of(browser.showing(
                    (*names, "Event manager", "3 of 3 are there", "Builders of the system",
                     "Readouts", "Steps of control", "rx.wire", "process ended"),
                    url, "evb-web-system.png"))
                check("undefined" not in text, f"a value that is not there: {text}")
                check(re.search(r"grants [\d.]+ ?k?/s", text), f"no rate of grants: {text}")
                system.processes["c"].kill()
                web.wait_for(manager, lambda node: any(
                    not one["registered"] for one in node["snapshot"]["credits"]), "c is missed")
                browser.showing(("node c crashed or was killed", f"{system.name}-c crashed"),
                                url, "evb-web-system-less.png")


def test_browser_without_an_appliance():
    with evbtest.Workspace() as work:
        browser = Browser(work)
        name = work.name()
        with Web(work, "--name", name) as web:
            browser.showing((f"no appliance {name} is running",), web.url, "evb-web-empty.png")


if __name__ == "__main__":
    evbtest.main()
