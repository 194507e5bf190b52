# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb sim --trace`: the time line has what the result counts."""

import collections
import json
import os

import evbtest
from evbtest import check, check_equal

CONFIGS = os.path.join(evbtest.REPOSITORY, "configs")
INCAST = os.path.join(CONFIGS, "sim", "incast.json")
SLOW = os.path.join(CONFIGS, "sim", "slow-receiver.json")
DAQPIPE = os.path.join(CONFIGS, "sim", "daqpipe.json")
ROOMS = os.path.join(CONFIGS, "sim", "two-rooms.json")
CLUSTER = os.path.join(CONFIGS, "cluster-8x4.json")
MOST = 200000


def sim(work, *arguments, status=0):
    result = work.evb("sim", *arguments)
    check_equal(result.status, status, result.describe())
    return result


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def traced(work, *arguments):
    """The elements of the time line, and the result."""
    trace, file = work.path("time.json"), work.path("result.json")
    sim(work, *arguments, "--trace", trace, "--json", file)
    return load(trace)["traceEvents"], load(file)


def spans(elements, category):
    """Begin and end of each, in microseconds, and what is said of it."""
    ends = {element["id"]: element["ts"] for element in elements
            if element.get("cat") == category and element["ph"] == "e"}
    begins = [element for element in elements
              if element.get("cat") == category and element["ph"] == "b"]
    check_equal(len(begins), len(ends), f"ends of each {category}")
    return [(begin["ts"], ends[begin["id"]], begin["args"]) for begin in begins]


def test_messages_and_losses():
    with evbtest.Workspace() as work:
        elements, result = traced(work, INCAST, "--set", "fabric.duration=4ms")
        messages = spans(elements, "message")
        check_equal(sum(1 for *_, what in messages if what["lost"]), result["messages_lost"], "lost")
        whole = [end - begin for begin, end, what in messages if not what["lost"]]
        check_equal(len(whole), result["messages_delivered"], "delivered")
        mean = result["message_latency"]["mean_ns"] / 1000
        check(abs(sum(whole) / len(whole) - mean) < 0.01, f"mean of {mean} us")
        losses = collections.Counter(element["name"] for element in elements
                                     if element["ph"] == "i")
        check_equal(losses, {"lost: queue": result["lost_packets"]["queue"]}, "losses")


def test_pauses_and_faults():
    with evbtest.Workspace() as work:
        elements, result = traced(work, SLOW)
        names = {element["tid"]: element["args"]["name"] for element in elements
                 if element["name"] == "thread_name" and element["pid"] == 3}
        paused, begun = collections.Counter(), {}
        for element in elements:
            if element["ph"] == "B":
                begun[element["tid"]] = element["ts"]
            elif element["ph"] == "E":
                paused[names[element["tid"]]] += element["ts"] - begun.pop(element["tid"])
        for tid, begin in begun.items():  # until the end of the simulation
            paused[names[tid]] += result["simulated_ns"] / 1000 - begin
        for port in result["ports"]:
            time = paused[f"{port['from']} to {port['to']}"]
            check(abs(time - port["paused_ns"] / 1000) < 0.01, f"{time} us of {port}")
        faults = [(element["ts"], element["dur"]) for element in elements if element["ph"] == "X"]
        check_equal(faults, [(1000.0 * i, 500.0) for i in range(2, 10)], "faults")


def test_events():
    with evbtest.Workspace() as work:
        elements, result = traced(work, CLUSTER, "--set", "fabric.traffic.kind=system",
                                  "--set", "fabric.duration=5ms")
        times = [end - begin for begin, end, _ in spans(elements, "event")]
        published = result["system"]["published"]
        check_equal(len(times), published["n"], "events")
        check(abs(max(times) - published["most_ns"] / 1000) < 0.01, f"most {max(times)} us")


def test_names_of_a_graph():
    """Hosts and switches have the names that the file of the network gives them."""
    with evbtest.Workspace() as work:
        elements, result = traced(work, ROOMS, "--set", "fabric.flow_control=none", "--set",
                                  "fabric.buffer=8KiB", "--set", "fabric.duration=1500us")
        ports = {f"{port['from']} to {port['to']}" for port in result["ports"]}
        names = {element["args"]["name"] for element in elements
                 if element["name"] == "thread_name" and element["pid"] == 3}
        check(names and names <= ports, f"{names} of {ports}")
        check(any("(cavern)" in name for name in names), f"{names}")
        hosts = {port["from"] for port in result["ports"] if port["from"].startswith("host")}
        check_equal({element["name"] for element in elements
                     if element.get("cat") == "message"}, hosts, "senders")
        check_equal({what["to_host"] for *_, what in spans(elements, "message")}, hosts,
                    "receivers")


def test_full():
    """It says what is missing, and what it has is a time line."""
    with evbtest.Workspace() as work:
        trace = work.path("time.json")
        result = sim(work, DAQPIPE, "--set", "fabric.duration=5ms", "--trace", trace)
        check("has the first 200000 elements, not the " in result.errors(), result.describe())
        elements = [element for element in load(trace)["traceEvents"] if element["ph"] in "bBEiX"]
        check_equal(len(elements), MOST, "elements")
        for arguments, expected in (((INCAST, "--trace", "/nonexistent/x"), "No such file"),
                                    ((INCAST, "--trace", "/dev/full"), "No space left")):
            result = sim(work, *arguments, status=1)
            check(expected in result.errors(), result.describe())


if __name__ == "__main__":
    evbtest.main()
