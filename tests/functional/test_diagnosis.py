# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What is wrong is said in one sentence, the same by `evb stat`, `evb top`, `evb web`, `evb ctl
status`, the metrics, the log and the account."""

import json
import os
import re
import signal

import appliance
import cluster
import ejfat_sender
import evbtest
import network
import openmetrics
import telemetry
from browser import Browser
from evbtest import check, check_equal
from test_top import Terminal
from test_web import Web

WELL = "all is well"
TIME = r"\d+(\.\d+)? (s|min)\b"  # in a sentence: it differs between two looks


def timeless(text):
    return re.sub(TIME, "TIME", text)


def diagnosis(name):
    with telemetry.Telemetry(name) as client:
        return client.query("/evb/diagnosis")


def wait_for(process, pattern):
    """Until the diagnosis of an appliance matches; returns the sentence without its times."""
    process.wait_until(lambda: re.fullmatch(pattern, diagnosis(process.name)["sentence"]),
                       f"the diagnosis is {pattern!r}")
    return timeless(diagnosis(process.name)["sentence"])


def said_by_stat(work, name, status):
    process = work.evb("stat", "--name", name, "--diagnosis")
    check_equal(process.status, status, f"status of {process.describe()}")
    return re.match(r"problem  (.*)\n         .", process.output())[1]


def said_by_ctl(work, name):
    process = work.evb("ctl", evbtest.control_socket(name), "status")
    check_equal(process.status, 0, process.describe())
    return re.search(r"^problem  (.*)\n         .", process.output(), re.MULTILINE)[1]


def said_by_top(work, name):
    with Terminal(work, name, columns=200, rows=50) as terminal:
        return terminal.wait_for(r"^[!*] (?!not asked)(.*[^ ]) *$")[1]


def said_by_web(work, name):
    with Web(work, "--name", name) as web:
        web.wait_for(name, lambda node: node["up"] and node["snapshot"]["diagnosis"], "a finding")
        [node] = web.json("/api/nodes")["nodes"]
        whole = web.json(f"/api/nodes/{name}")["snapshot"]["diagnosis"][0]
        check_equal(timeless(node["diagnosis"]["sentence"]), timeless(whole["sentence"]),
                    "the list of nodes")
        return whole["sentence"]


def label_of(work, name):
    """The sentence without its times and rates, as alerts have it, and its severity."""
    process = work.evb("stat", "--openmetrics", "--name", name)
    _, labels, value = openmetrics.parse(process.output() + "\n")["evb_diagnosis_severity"].samples[0]
    return labels["diagnosis"], value


def check_views(work, process, sentence, severity=2):
    """All views of a running appliance say this, and their statuses and levels agree."""
    name = process.name
    for view, said in (("stat", said_by_stat(work, name, 2 if severity == 2 else 0)),
                       ("ctl", said_by_ctl(work, name)), ("web", said_by_web(work, name)),
                       ("top", said_by_top(work, name))):
        check_equal(timeless(said), sentence, view)
    label, level = label_of(work, name)
    check_equal(level, severity, "severity in the metrics")
    check(not re.search(TIME, label), f"a label that changes: {label}")
    check(set(re.findall(r"\w+", label)) <= set(re.findall(r"\w+", sentence)),
          f"{label!r} is not of {sentence!r}")


def is_logged(process, sentence):
    return any(timeless(line).startswith(f"evb: {sentence}")
               for line in process.errors().splitlines())


def wait_for_log(process, sentence):
    evbtest.wait_until(lambda: is_logged(process, sentence), "the log has it",
                       shown=process.describe)


def check_account(process, sentence):
    """The ended appliance had it in its account, its summary and its log."""
    found = [timeless(line) for line in re.findall(r"^problem  (.*)$", process.output(),
                                                   re.MULTILINE)]
    check(sentence in found, f"{sentence!r} is not in {process.describe()}")
    listed = [timeless(one["sentence"]) for one in process.summary()["diagnosis"]]
    check_equal(listed, found, "summary and account")
    check(is_logged(process, sentence), f"not in the log of {process.describe()}")


def pictured(work, name, picture):
    if os.environ.get("EVB_SCREENSHOTS"):
        with Web(work, "--name", name) as web:
            web.wait_for(name, lambda node: node["up"], "up")
            Browser(work).pictured(f"{web.url}?theme=light", picture)


# --- slots -------------------------------------------------------------------------------------


def filtered(work, **changes):
    """An appliance whose events wait for group `filter`."""
    return appliance.generated(work, sources=4, packing=10, writer=None, builders=[
        {"name": "b0", "slots": 128, "slot_size": "64KiB"}], event_ring={"groups": ["filter"]},
        generator={"rate": 2000}, **changes)


def consume(work, name):
    consumer = work.start(evbtest.program("slow_consumer"), name, "filter", "0")
    consumer.wait_for_line("joined")
    return consumer


def test_stopped_consumer():
    """A consumer that a signal has stopped is named with its process, in all views; the page too."""
    with evbtest.Workspace() as work:
        process = work.run(filtered(work))
        consumer = consume(work, process.name)
        wait_for(process, WELL)
        consumer.suspend()
        sentence = wait_for(
            process, rf"consumer group filter \(1 member, pid {consumer.pid}, stopped {TIME} ago\) "
            "holds all 128 slots of b0")
        check_views(work, process, sentence)
        check(f"kill -CONT {consumer.pid}" in diagnosis(process.name)["remedy"], "no remedy")
        pictured(work, process.name, "diagnosis-consumer.png")
        wait_for_log(process, sentence)
        consumer.signal(signal.SIGCONT)
        wait_for(process, WELL)
        check_equal(work.evb("stat", "--name", process.name, "--diagnosis").output(), WELL, "stat")
        consumer.suspend()
        wait_for(process, ".* stopped .*")
        process.stop()
        check_account(process, sentence)
        check(any("over after" in line for line in process.errors().splitlines()),
              f"not over: {process.describe()}")


def test_page_names_the_culprit():
    with evbtest.Workspace() as work:
        browser = Browser(work)
        process = work.run(filtered(work))
        wait_for(process, "consumer group filter has no member and holds all 128 slots of b0")
        with Web(work, "--name", process.name) as web:
            web.wait_for(process.name, lambda node: node["up"], "up")
            document = browser.showing(
                ("running", "consumer group filter has no member and holds all 128 slots of b0",
                 "start a consumer of group filter"), web.url)
            check(re.search(r'class="pill bad"[^>]*>running', document), "the pill is not red")
        process.kill()


# --- sources -----------------------------------------------------------------------------------


def test_packing_that_differs():
    with evbtest.Workspace() as work:
        evbtest.need_root()
        net = work.enter(network.Network(1500))
        stream = ejfat_sender.Stream([1, 2], 60, packing=10, size=(100, 400))
        plan = ejfat_sender.Plan(stream, 1500)
        port = {"name": "wire", "profile": "af_packet", "device": net.evb.device,
                "address": f"{network.EVB_ADDRESS}/24"}
        process = work.run(appliance.builder(work, port, stream, sources={"packing": 5}, events={
            "deadline": "100ms", "on_end_of_run": "ignore"}), namespace=net.evb)
        wait_for(process, WELL)
        with net.host.socket(2, 2) as udp:
            plan.send(ejfat_sender.connect(udp, network.EVB_ADDRESS), 8000,
                      telemetry.taken(process.name))
        sentence = wait_for(process, "source 1 sends MFPs of 10 fragments, sources.packing is 5; "
                            "1 more source differs")
        check_views(work, process, sentence)
        process.stop()
        check_account_of_difference(process, sentence)


def check_account_of_difference(process, sentence):
    """The log has a line for each source."""
    check(sentence in process.output(), f"{sentence!r} is not in {process.describe()}")
    check(f"evb: {sentence.split(';')[0]}: correct one of the two" in process.errors(),
          f"not in the log of {process.describe()}")


# --- the end of the run ------------------------------------------------------------------------


def test_draining_with_a_full_disk():
    """Ctrl-C while the writer waits for room: what it waits for, for how long at most, and how to end
    at once."""
    with evbtest.Workspace() as work:
        evbtest.need_root()
        disk = work.folder("disk")
        configuration = appliance.generated(work, sources=4, packing=10, writer=None,
                                            generator={"rate": 2000})
        configuration["writers"] = [{"name": "disk", "directory": disk, "format": "mep"}]
        file = work.write("full.json", configuration)
        process = work.start("unshare", "--mount", "sh", "-c",
                             'mount -t tmpfs -o size=1m none "$0" && exec "$@"', disk,
                             evbtest.binary(), "run", file, name=configuration["name"])
        process.wait_for_line("running")
        sentence = wait_for(process, rf"writer\.disk waits for room on {disk} \(for {TIME}\)")
        check_views(work, process, sentence)
        pictured(work, process.name, "diagnosis-disk.png")
        process.signal(signal.SIGINT)
        sentence = wait_for(process, rf"draining: writer\.disk waits for room on {disk} \(60 s at "
                            r"most\); Ctrl-C again ends at once")
        check_views(work, process, sentence)
        wait_for_log(process, sentence)
        process.signal(signal.SIGINT)
        process.finish()
        check_equal(process.status, -signal.SIGINT, "status after the second Ctrl-C")


def test_end_and_crash_are_told_apart():
    with evbtest.Workspace() as work:
        for how, state, words in (("stop", "ended", "has ended in order"),
                                  ("kill", "died", "crashed or was killed")):
            configuration = filtered(work)
            process = work.run(configuration, "--set", "events.drain_timeout=100ms")
            name = process.name
            with Web(work, "--name", name) as web, Terminal(work, name, columns=120) as terminal:
                web.wait_for(name, lambda node: node["up"], "up")
                terminal.wait_for(r"running \d\d:")
                getattr(process, how)()
                web.wait_for(name, lambda node, state=state: node["state"] == state, state)
                [node] = web.json("/api/nodes")["nodes"]
                check(words in node["error"], f"{node['error']!r} after {how}")
                terminal.wait_for(words)
            stat, ctl = work.evb("stat", "--name", name), work.evb(
                "ctl", work.write("c.json", configuration), "status")
            check_equal((stat.status, ctl.status), (1, 1), "statuses")
            for told in (stat.errors(), ctl.errors()):
                check_equal("crashed or was killed" in told, how == "kill", told)


# --- a system ----------------------------------------------------------------------------------


def test_silent_node():
    """One node of three loses its power: how many events wait for it, and until when."""
    with evbtest.Workspace() as work:
        evbtest.need_root()
        configuration = cluster.shipped("cluster-folded.json")
        configuration["name"] = work.name()
        configuration["event_manager"]["in_doubt_timeout"] = "25s"
        for node in configuration["nodes"]:
            for generator in node["generators"]:
                # Events that lack a segment wait at their builders until the deadline.
                generator.update({"rate": 200, "faults": {"loss": 0.01}})
        with cluster.System(work, configuration) as system:
            system.start()
            manager = system.processes[system.manager]
            system.processes["c"].wait_until(
                lambda: telemetry.summary(f"{system.name}-c")["events_open"] > 3, "events are open")
            system.processes["c"].kill(leaves_will=False)
            sentence = wait_for(manager, rf"node c silent for {TIME}: \d+ events? in doubt; goes on "
                                rf"in {TIME}")
            check_views(work, manager, sentence)
            names = [f"{system.name}-{node}" for node in system.nodes]
            if os.environ.get("EVB_SCREENSHOTS"):
                with Web(work, *[word for name in names for word in ("--name", name)]) as web:
                    web.wait_for(manager.name, lambda node: node["up"], "up")
                    Browser(work).pictured(f"{web.url}?node={manager.name}&theme=light",
                                           "diagnosis-node.png")
            with Terminal(work, *names, columns=200, rows=50) as terminal:
                terminal.wait_for(rf"^>!{manager.name} .* node c silent for")
                terminal.wait_for(rf"^ !{names[2]} +DOWN|^ !{names[2]} +DIED")
            wait_for(manager, rf"node c silent for {TIME}: the others go on without it")
            for rate in json.loads(work.evb(
                    "stat", "--name", manager.name, "--json", "/evb/credits/all").output()).values():
                check(all(one["rate_bytes"] > 0 or one["rate_permille"] == 1000
                          for one in rate.values() if isinstance(one, dict)), f"a cut: {rate}")


def test_killed_node():
    """Its last will tells it from one that is silent."""
    with evbtest.Workspace() as work:
        evbtest.need_root()
        configuration = cluster.shipped("cluster-folded.json")
        configuration["name"] = work.name()
        with cluster.System(work, configuration) as system:
            system.start()
            manager = system.processes[system.manager]
            system.processes["c"].wait_until(
                lambda: telemetry.summary(f"{system.name}-c")["events_complete"] > 0, "it builds")
            system.processes["c"].kill()
            sentence = wait_for(manager, rf"node c crashed or was killed {TIME} ago: the others go "
                                "on without it")
            check_views(work, manager, sentence)


if __name__ == "__main__":
    evbtest.main()
