# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Debian's Prometheus under test conditions: promtool, and a server on a loopback port."""

import json
import os
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import evbtest
from evbtest import check

RULES = os.path.join(evbtest.REPOSITORY, "configs", "deploy", "prometheus")
DASHBOARD = os.path.join(evbtest.REPOSITORY, "configs", "deploy", "grafana", "evb-dashboard.json")


def need(program):
    path = shutil.which(program)
    if not path:
        evbtest.skip(f"{program} is not installed (package prometheus)")
    return path


def promtool(*arguments, text=None):
    """Runs promtool; returns (status, what it printed)."""
    result = subprocess.run([need("promtool"), *arguments], input=text, text=True,
                            capture_output=True, timeout=evbtest.PATIENCE_S, check=False)
    return result.returncode, result.stdout + result.stderr


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def dashboard_expressions():
    """Every PromQL expression of the dashboard, with its variables filled in."""
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    texts = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    texts += [one["expr"] for one in dashboard["annotations"]["list"] if "expr" in one]
    return [text.replace("$node", ".*").replace("$__rate_interval", "1m") for text in texts]


def metric_names(expression):
    """Names of evb's metrics in an expression."""
    return set(re.findall(r"\bevb_[a-z0-9_]+", expression))


class Prometheus:
    """Context manager: a server that scrapes one address every second."""

    def __init__(self, work, target):
        self._work = work
        self._target = target
        self._url = f"http://127.0.0.1:{free_port()}"
        self.process = None

    def __enter__(self):
        with open(os.path.join(RULES, "prometheus.yml"), encoding="utf-8") as file:
            text = file.read()
        for old, new in (("127.0.0.1:8080", self._target),
                         ("- evb-alerts.yml", f"- {RULES}/evb-alerts.yml"),
                         ("scrape_interval: 5s", "scrape_interval: 1s"),
                         ("evaluation_interval: 5s", "evaluation_interval: 1s")):
            check(old in text, f"no {old!r} in prometheus.yml")
            text = text.replace(old, new)
        self.process = self._work.start(
            need("prometheus"), f"--config.file={self._work.write('prometheus.yml', text)}",
            f"--storage.tsdb.path={self._work.folder('prometheus')}",
            f"--web.listen-address={urllib.parse.urlsplit(self._url).netloc}")
        self.process.wait_until(self._is_ready, "Prometheus is ready")
        return self

    def __exit__(self, *_):
        self.process.stop()

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"{self._url}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except (urllib.error.URLError, OSError):
            return False

    def ask(self, path, **parameters):
        """The data of an answer of its API."""
        url = f"{self._url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=evbtest.PATIENCE_S) as answer:
                result = json.load(answer)
        except urllib.error.HTTPError as error:
            raise evbtest.Failure(f"{path} {parameters}: {error.read().decode()}") from error
        check(result["status"] == "success", f"{path} {parameters}: {result}")
        return result["data"]

    def query(self, expression):
        """[(labels, value)] now."""
        return [(one["metric"], float(one["value"][1]))
                for one in self.ask("query", query=expression)["result"]]

    def wait_for(self, expression, wanted, timeout=evbtest.PATIENCE_S):
        """Waits until some value of the expression is as wanted; returns all of them."""
        def found():
            values = self.query(expression)
            return values if any(wanted(value) for _, value in values) else None

        return evbtest.wait_until(found, expression, timeout, lambda: self.query(expression))
