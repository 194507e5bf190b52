# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Metrics outside evb: OpenMetrics text, the endpoint of DPDK's exporter, alerts and dashboard, and
Debian's Prometheus against a running appliance."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import appliance
import evbtest
import openmetrics
import prometheus
import telemetry
from evbtest import check, check_equal

ENDPOINT = os.path.join(os.path.dirname(evbtest.binary()), "configs", "deploy",
                        "telemetry-endpoints", "evb.py")
LINT_FINDINGS = 3  # exit status of `promtool check metrics`


def running(work):
    """An appliance that builds events, with faults that show in the counters."""
    return work.run(appliance.generated(
        work, sources=3, packing=10, generator={"rate": 300, "faults": {"duplicate": 0.01}}))


def stat(work, *arguments):
    process = work.evb("stat", *arguments)
    check_equal(process.status, 0, f"status of {process.describe()}")
    return process.output() + "\n"


# --- text --------------------------------------------------------------------------------------


def test_openmetrics():
    """Two nodes in one answer, read by our strict parser."""
    with evbtest.Workspace() as work:
        processes = [running(work), running(work)]
        for process in processes:
            process.wait_until(lambda name=process.name: telemetry.summary(name)[
                "events_complete"] > 20, "events are built")
        before = {process.name: telemetry.summary(process.name) for process in processes}
        names = [option for process in processes for option in ("--name", process.name)]
        families = openmetrics.parse(stat(work, "--openmetrics", *names))
        after = {process.name: telemetry.summary(process.name) for process in processes}
        for name in before:
            check_equal(openmetrics.value(families, "evb_up", node=name), 1, "up")
            check_equal(openmetrics.value(families, "evb_state", node=name, evb_state="running"), 1,
                        "running")
            for key, family in (("events_complete", "evb_events_complete"),
                                ("bytes_built", "evb_built_bytes"),
                                ("segments_placed", "evb_segments_placed")):
                found = openmetrics.value(families, family, node=name)
                check(before[name][key] <= found <= after[name][key],
                      f"{family} of {name} is {found}, {key} {before[name][key]} and then "
                      f"{after[name][key]}")
            check_equal([labels["source"] for _, labels, _ in
                         families["evb_source_blocks_whole"].samples if labels["node"] == name],
                        ["4097", "4098", "4099"], "sources")
            check_equal(openmetrics.value(families, "evb_builder_group_configured", node=name,
                                          builder="b0", group="files"), 1, "group")
        link = families["evb_link_enqueued"].samples[0][1]
        check_equal((link["producer"], link["consumer"]), ("rx.wire", "builder.b0"), "link")


def test_openmetrics_of_one_that_does_not_run():
    with evbtest.Workspace() as work:
        process = work.evb("stat", "--openmetrics", "--name", work.name())
        check_equal(process.status, 1, f"status of {process.describe()}")
        families = openmetrics.parse(process.output() + "\n")
        check_equal([value for _, _, value in families["evb_up"].samples], [0], "up")
        check("no appliance" in process.errors(), f"why: {process.describe()}")


def test_build():
    """OpenMetrics and --version name the same build."""
    with evbtest.Workspace() as work:
        process = running(work)
        families = openmetrics.parse(stat(work, "--openmetrics", "--name", process.name))
        build = families["evb_build"].samples[0][1]
        xdp = {"yes": "with", "no": "without"}[build["xdp"]]
        check_equal(work.evb("--version").output().strip(),
                    f"evb {build['version']} ({build['commit']}), DPDK {build['dpdk']}, {xdp} XDP",
                    "evb --version")


def test_prometheus_reads_the_text():
    """Its parsers of both formats, and its lint."""
    with evbtest.Workspace() as work:
        process = running(work)
        status, output = prometheus.promtool(
            "check", "metrics", text=stat(work, "--prometheus", "--name", process.name))
        check_equal((status, output), (0, ""), "promtool check metrics")
        # It reads OpenMetrics where it imports data, which need times.
        lines = stat(work, "--openmetrics", "--name", process.name).splitlines()
        timed = [line if line.startswith("#") else f"{line} 1700000000" for line in lines]
        file = work.write("metrics.om", "\n".join(timed) + "\n")
        status, output = prometheus.promtool("tsdb", "create-blocks-from", "openmetrics", file,
                                             work.folder("blocks"))
        check_equal(status, 0, f"promtool tsdb create-blocks-from openmetrics: {output}")


# --- the endpoint of DPDK's exporter ---------------------------------------------------------------


def load_endpoint():
    """As dpdk-telemetry-exporter.py loads it."""
    spec = importlib.util.spec_from_file_location("evb", ENDPOINT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Socket(telemetry.Telemetry):
    """What the exporter gives to an endpoint."""

    def cmd(self, uri, arg=None):
        return self.query(uri, "" if arg is None else str(arg))


def exported(name):
    """The text that the exporter makes of an endpoint: all headers, then all samples."""
    sys.dont_write_bytecode = True
    module = load_endpoint()
    table = module.info()
    with Socket(name) as connection:
        values = module.metrics(connection)
    headers, samples, seen = [], [], set()
    for metric, value, labels in values:
        full = re.sub(r"\W", "_", f"dpdk_evb_{metric}")
        text = ", ".join(f'{key}="{label}"' for key, label in labels.items())
        samples.append(f"{full}{{{text}}} {value}" if text else f"{full} {value}")
        if full not in seen:
            seen.add(full)
            description, kind = table[metric]
            headers += [f"# HELP {full} {description}", f"# TYPE {full} {kind}"]
    return "\n".join(headers + samples) + "\n"


def sample_names(text):
    return {line.split("{")[0].split(" ")[0] for line in text.splitlines()
            if not line.startswith("#")}


def test_exporter_endpoint():
    """It tells the same metrics as evb itself, and Prometheus reads them."""
    with evbtest.Workspace() as work:
        process = running(work)
        process.wait_until(lambda: telemetry.summary(process.name)["events_complete"] > 20,
                           "events are built")
        # On a busy machine a diagnosis can come or go between the two.
        for _ in range(10):
            text, own = exported(process.name), stat(work, "--prometheus", "--name", process.name)
            found = {name.removeprefix("dpdk_") for name in sample_names(text)}
            if found == sample_names(own) - {"evb_up"}:
                break
        check_equal(found, sample_names(own) - {"evb_up"}, "metrics")
        for constant in ("evb_port_link_bytes_per_second", "evb_builder_slot_bytes", "evb_sources"):
            values = [re.findall(rf"^{name}(?:\{{.*\}})? (.*)$", of, re.MULTILINE)
                      for name, of in ((f"dpdk_{constant}", text), (constant, own))]
            check(values[0] and list(map(float, values[0])) == list(map(float, values[1])),
                  f"{constant} is {values}")
        status, output = prometheus.promtool("check", "metrics", text=text)
        check(status in (0, LINT_FINDINGS) and "error while linting" not in output,
              f"promtool check metrics: {output}")
        complete = re.search(r"^dpdk_evb_events_complete_total (\d+)$", text, re.MULTILINE)
        check(complete and int(complete[1]) > 20, "no complete events in the exporter's text")


# --- the socket ------------------------------------------------------------------------------------


def test_all_comes_in_pages():
    """Answers of things that do not fit into one, whole and in order."""
    with evbtest.Workspace() as work:
        process = work.run(appliance.generated(work, sources=300, packing=1,
                                               generator={"rate": 20}))
        process.wait_until(lambda: telemetry.summary(process.name)["events_complete"] > 3,
                           "events are built")
        ids, pages = [], 0
        with telemetry.Telemetry(process.name) as client:
            while len(ids) < 300:
                answer = client.query("/evb/source/all", str(len(ids)))
                check_equal(answer.pop("count"), 300, "count")
                check_equal(list(answer), [f"source_{len(ids) + i}" for i in range(len(answer))],
                            "keys of a page")
                check(all(list(one)[-1] == "blocks_missing" for one in answer.values()), "cut")
                ids += [one["id"] for one in answer.values()]
                pages += 1
            check_equal(ids, list(range(0x1001, 0x1001 + 300)), "sources")
            check(3 < pages < 30, f"{pages} pages")
            limited = client.query("/evb/source/all", "298,1")
            check_equal(list(limited), ["count", "source_298"], "a page of one")
            check_equal(client.query("/evb/source/all", "300"), {"count": 300}, "behind the last")
            check("error" in client.query("/evb/source/all", "x"), "no error")
        families = openmetrics.parse(stat(work, "--openmetrics", "--name", process.name))
        check_equal([int(labels["source"]) for _, labels, _ in
                     families["evb_source_blocks_whole"].samples], ids, "sources in OpenMetrics")


# --- Telegraf --------------------------------------------------------------------------------------


def hollow(value, path):
    """Paths of what Telegraf's dpdk input refuses: nulls and empty dictionaries."""
    if value is None or value == {}:
        return [path]
    members = value.items() if isinstance(value, dict) else []
    return [found for key, one in members for found in hollow(one, f"{path}.{key}")]


def test_answers_are_never_hollow():
    """Nor where there are no generators, writers and links: an appliance that only waits."""
    with evbtest.Workspace() as work:
        waiting = appliance.generated(work, writer=None)
        del waiting["generators"]
        for process in (work.run(waiting), running(work)):
            with telemetry.Telemetry(process.name) as client:
                for command in client.query("/"):
                    if not command.startswith("/evb/"):
                        continue
                    names = [""]
                    if command.endswith("/info") and command != "/evb/info":
                        names = client.query(command.replace("/info", "/list"))
                    for name in names:
                        answer = client.query(command, str(name))
                        check_equal([] if isinstance(answer, list) else hollow(answer, command), [],
                                    f"hollow parts of {command},{name}")


# --- alerts and dashboard --------------------------------------------------------------------------


def test_alert_rules():
    rules = os.path.join(prometheus.RULES, "evb-alerts.yml")
    status, output = prometheus.promtool("check", "rules", rules)
    check_equal(status, 0, f"promtool check rules: {output}")
    status, output = prometheus.promtool(
        "test", "rules", os.path.join(prometheus.RULES, "evb-alerts-test.yml"))
    check_equal(status, 0, f"promtool test rules: {output}")
    with open(rules, encoding="utf-8") as file:
        alerts = re.findall(r"- alert: (\w+)", file.read())
    with open(os.path.join(prometheus.RULES, "evb-alerts-test.yml"), encoding="utf-8") as file:
        tested = set(re.findall(r'alertname="(\w+)"', file.read()))
    check_equal(sorted(tested), sorted(alerts), "alerts that are tested")


def test_rules_and_dashboard_use_metrics_that_there_are():
    places = json.loads(subprocess.check_output(
        os.path.join(os.path.dirname(evbtest.binary()), "metrics_dump")))
    known = set()
    for place in places:
        known.add(f"evb_{place['name'].replace('/', '_')}_info")
        for metric in place["metrics"]:
            if metric["type"] and not metric["hidden"]:
                total = "_total" if metric["type"] == "counter" else ""
                known.add(metric["name"] + total)
            if metric["type"] == "histogram":
                known.add(metric["maximum"])
    known |= {f"{name}_{part}" for name in known for part in ("bucket", "count", "sum")}
    known |= {"evb_up", "evb_ended"}
    with open(os.path.join(prometheus.RULES, "evb-alerts.yml"), encoding="utf-8") as file:
        rules = file.read()
    check_equal(prometheus.metric_names(rules) - known, set(), "unknown metrics in the rules")
    for expression in prometheus.dashboard_expressions():
        check_equal(prometheus.metric_names(expression) - known, set(),
                    f"unknown metrics in {expression}")


def test_dashboard_is_sound():
    with open(prometheus.DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    panels = dashboard["panels"]
    check_equal(len({panel["id"] for panel in panels}), len(panels), "ids of panels")
    taken = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        check(at["x"] + at["w"] <= 24 and not cells & taken, f"place of {panel['title']}")
        taken |= cells
        for target in panel.get("targets", []):
            check_equal(target["datasource"]["uid"], "${datasource}", f"source of {panel['title']}")
    variables = {variable["name"] for variable in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)", json.dumps(panels)))
    check_equal(used - variables, set(), "variables that are not defined")


# --- Prometheus ------------------------------------------------------------------------------------


def start_web(work, *names):
    """Starts `evb web` on a free port; returns its address."""
    options = [option for name in names for option in ("--name", name)]
    process = work.start(evbtest.binary(), "web", "--listen", "127.0.0.1:0", "--interval", "200ms",
                         *options)
    return process.wait_for_line("http://").removeprefix("http://").rstrip("/")


def test_prometheus_scrapes():
    """It scrapes evb web, finds events, loads the rules, and answers the dashboard's questions."""
    prometheus.need("prometheus")
    with evbtest.Workspace() as work:
        process = running(work)
        address = start_web(work, process.name)
        with prometheus.Prometheus(work, address) as server:
            server.wait_for("rate(evb_events_complete_total[10s])", lambda value: value > 0)
            [target] = server.ask("targets")["activeTargets"]
            check_equal((target["health"], target["lastError"]), ("up", ""), "scrape")
            groups = server.ask("rules", type="alert")["groups"]
            check(groups and all(rule["health"] in ("ok", "unknown")
                                 for group in groups for rule in group["rules"]), f"{groups}")
            for expression in prometheus.dashboard_expressions():
                server.query(expression)
            meta = server.ask("metadata")
            check_equal(meta["evb_events_complete"][0]["type"], "counter", "type in OpenMetrics")
            check_equal(server.query("evb_builder_group_members")[0][0]["group"], "files", "group")
            # The appliance ends: that is seen, and the alert on it is on its way.
            process.signal(9)
            process.finish()
            server.wait_for("evb_up", lambda value: value == 0)
            server.wait_for('ALERTS{alertname="EvbDown"}', lambda value: value == 1)


def test_upstream_exporter():
    """DPDK's own exporter, where this DPDK has it (23.11 and later)."""
    exporter = next((path for path in ("/usr/bin/dpdk-telemetry-exporter.py",
                                       "/usr/local/bin/dpdk-telemetry-exporter.py")
                     if os.path.exists(path)), None)
    if exporter is None:
        evbtest.skip("no dpdk-telemetry-exporter.py: it comes with DPDK 23.11")
    result = subprocess.run(["/usr/bin/python3", exporter, "-p", os.path.dirname(ENDPOINT), "-l"],
                            capture_output=True, text=True, timeout=evbtest.PATIENCE_S, check=False)
    check("using endpoint: evb" in result.stdout, f"{result.stdout}{result.stderr}")


if __name__ == "__main__":
    evbtest.main()
