# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb sim`: results, sweeps that continue, the same results however many processes run, and what is
refused."""

import json
import os
import signal

import evbtest
from evbtest import check, check_equal

CONFIGS = os.path.join(evbtest.REPOSITORY, "configs", "sim")
INCAST = os.path.join(CONFIGS, "incast.json")
DAQPIPE = os.path.join(CONFIGS, "daqpipe.json")
LONGEST = 300  # s, of one simulation on a machine that does much else
# Hundreds of nodes have gigabytes of memory that they never touch, unless malloc() fills it.
UNTOUCHED = {"MALLOC_PERTURB_": "0"}
SWEEP = ("--sweep", "fabric.traffic.load=0.2,0.5,1", "--sweep", "fabric.hosts=3,5",
         "--set", "fabric.duration=2ms")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def sim(work, *arguments, status=0, **options):
    result = work.start(evbtest.binary(), "sim", *arguments, **options).finish(LONGEST)
    check_equal(result.status, status, result.describe())
    return result


def test_shipped():
    """Each of configs/sim is simulated, for a short time: that of a system until it has begun, that
    of a large network no longer than it must."""
    times = {"farm-2009.json": 1000, "slow-builder.json": 1000, "lhcb-run3.json": 100,
             "nodes-4096.json": 20}
    with evbtest.Workspace() as work:
        for name in sorted(name for name in os.listdir(CONFIGS) if name.endswith(".json")):
            file, time = work.path("result.json"), times.get(name, 300)
            result = sim(work, os.path.join(CONFIGS, name), "--json", file,
                         "--set", f"fabric.duration={time}us", "--set", "fabric.warm_up=0",
                         environment=UNTOUCHED)
            json_result = load(file)
            check_equal(json_result["simulated_ns"], 1000 * time, name)
            least = 1e7 if name == "farm-2009.json" else 1e9
            check(json_result["throughput"]["mean_bps"] > least, f"{name}: {json_result}")
            mean = f"throughput  {json_result['throughput']['mean_bps'] / 1e9:.2f} Gb/s per host"
            check(mean in result.describe(), result.describe())


def test_result():
    """The sums of the ports are those of the whole; the same seed gives the same file."""
    with evbtest.Workspace() as work:
        files = [work.path(f"{i}.json") for i in range(3)]
        for file, seed in zip(files, ("1", "1", "2")):
            sim(work, INCAST, "--json", file, "--seed", seed,
                "--set", "fabric.traffic.kind=uniform", "--set", "fabric.duration=1ms")
        texts = [open(file, encoding="utf-8").read() for file in files]
        check_equal(texts[0], texts[1], "the same seed")
        check(texts[0] != texts[2], "another seed gives the same")
        sim(work, INCAST, "--json", files[0])
        result = load(files[0])
        lost = sum(port.get("lost_queue", 0) for port in result["ports"])
        check(lost > 0, "nothing was lost")
        check_equal(lost, result["lost_packets"]["queue"], "lost packets")
        check_equal(result["packets_sent"], result["packets_delivered"] + lost
                    + result["packets_underway"], "packets")
        check_equal(sum(result["throughput"]["received_bytes"]),
                    sum(port["bytes"] for port in result["ports"]
                        if port["to"].startswith("host")), "received bytes")


def test_retry():
    """Receivers without room refuse packets, which are sent again; nothing is lost."""
    with evbtest.Workspace() as work:
        file = work.path("result.json")
        result = sim(work, INCAST, "--json", file, "--set", "fabric.flow_control=retry", "--set",
                     "fabric.buffer=16KiB", "--set", "fabric.retry_time=2us")
        found = load(file)
        refused, repeated = found["packets_refused"], found["packets_repeated"]
        check(f"retries     {refused} of {found['hops']} transmissions refused, {repeated} packets "
              "sent again" in result.output(), result.describe())
        for key, total in (("refused", refused), ("repeated", repeated)):
            check_equal(sum(port[key] for port in found["ports"]), total, key)
        check(0 <= refused - repeated <= found["packets_underway"] < refused,
              f"{refused} refused, {repeated} repeated")
        check_equal(found["packets_sent"], found["packets_delivered"] + found["packets_underway"],
                    "packets")
        check_equal(sum(port["packets"] for port in found["ports"]), found["hops"], "transmissions")
        check(any(port["paused_ns"] > 0 for port in found["ports"]), "no port waited")


FAULTS = {"link_rate": "10Gb/s", "duration": "300ms", "traffic": {"kind": "system"}}
STORM = [{"kind": "host-pause", "node": "bu0", "begin": "100ms"}]


def test_faults():
    """A file that a system deploys is simulated with a storm of pauses, which the result names; a
    fault of a node that is not there is refused, by `evb check`, too."""
    system = os.path.join(evbtest.REPOSITORY, "configs", "cluster-4x2.json")
    with evbtest.Workspace() as work:
        file = work.path("result.json")
        fabric = {**FAULTS, "faults": STORM}
        result = sim(work, system, "--json", file, "--set", f"fabric={json.dumps(fabric)}")
        check("storm       host 5 pauses switch 0 since 100.00" in result.output(), result.describe())
        storm = load(file)["storms"]
        check_equal([(one["by"], one["pauses"]) for one in storm],
                    [("host 5", "switch 0")], "storms")
        wrong = json.dumps({**FAULTS, "faults": [{"kind": "silent", "node": "bu9"}]})
        for command in ("sim", "check"):
            result = work.evb(command, system, "--set", f"fabric={wrong}")
            check_equal(result.status, 1, result.describe())
            check('fabric.faults[0].node: there is no node "bu9"' in result.errors(),
                  result.describe())


def test_sweep():
    """The file of a sweep does not depend on --jobs; points that are done are not done again."""
    with evbtest.Workspace() as work:
        one, two = work.path("one.json"), work.path("two.json")
        first = sim(work, INCAST, *SWEEP, "--jobs", "1", "--json", one)
        sim(work, INCAST, *SWEEP, "--jobs", "2", "--json", two)
        whole = open(one, encoding="utf-8").read()
        check_equal(whole, open(two, encoding="utf-8").read(), "one and two jobs")
        four = work.path("four.json")
        sim(work, INCAST, *SWEEP, "--jobs", "4", "--json", four)
        check_equal(whole, open(four, encoding="utf-8").read(), "one and four jobs")
        points = json.loads(whole)["points"]
        check_equal([point["set"] for point in points],
                    [[f"fabric.traffic.load={load}", f"fabric.hosts={hosts}"]
                     for load in ("0.2", "0.5", "1") for hosts in ("3", "5")], "points")
        # Without two of the points, one of them with a result that a simulation would not give.
        kept = points[:1] + points[3:]
        kept[1]["result"]["packets_sent"] = 1
        with open(two, "w", encoding="utf-8") as file:
            json.dump({"points": kept}, file)
        again = sim(work, INCAST, *SWEEP, "--json", two)
        check(f"4 of 6 points are in {two} already" in again.describe(), again.describe())
        resumed = load(two)["points"]
        check_equal(resumed[1:3], points[1:3], "the points that were missing")
        check_equal(resumed[3]["result"]["packets_sent"], 1, "a point that was there")
        other = sim(work, INCAST, *SWEEP, "--seed", "9", "--json", one)
        check("already" not in other.describe(), other.describe())
        check("mean Gb/s" in first.describe(), first.describe())


def test_files():
    """A network of a file is simulated and checked; a sweep does its points again if the file has
    changed."""
    with evbtest.Workspace() as work:
        with open(os.path.join(CONFIGS, "two-rooms.links"), encoding="utf-8") as file:
            network = json.load(file)
        with open(os.path.join(CONFIGS, "two-rooms.json"), encoding="utf-8") as file:
            path = work.write("system.json", json.load(file))
        links = work.write("two-rooms.links", network)
        sweep = ("--sweep", "fabric.traffic.load=0.2,0.4", "--set", "fabric.duration=2ms",
                 "--json", work.path("sweep.json"))
        sim(work, path, *sweep)
        check("2 of 2 points are in" in sim(work, path, *sweep).describe(), "the same file")
        for link in network["links"]:
            link["delay"] = "5us"
        with open(links, "w", encoding="utf-8") as file:
            json.dump(network, file)
        check("already" not in sim(work, path, *sweep).describe(), "another file")
        check_equal(work.evb("check", path).status, 0, "check")
        network["links"][3]["to"] = "nowhere"
        with open(links, "w", encoding="utf-8") as file:
            json.dump(network, file, indent=1)
        for command in ("sim", "check"):
            result = work.evb(command, path)
            check_equal(result.status, 1, result.describe())
            check("fabric.graph: " in result.errors() and
                  '"nowhere" has one link and is not in the list of hosts' in result.errors(),
                  result.describe())
            check("\n" not in result.errors().strip(), result.describe())


def test_interrupted():
    """SIGINT ends a simulation with its results, and a sweep with the points that are done."""
    endless = ("--set", "fabric.duration=1h")
    with evbtest.Workspace() as work:
        file = work.path("result.json")
        process = work.start(evbtest.binary(), "sim", DAQPIPE, *endless, "--json", file)
        process.wait_until(lambda: "simulated in" in process.errors(), "progress")
        process.signal(signal.SIGINT)
        check_equal(process.finish().status, 0, process.describe())
        check(0 < load(file)["simulated_ns"] < 3.6e12, "simulated time")
        check("throughput" in process.output(), process.describe())
        # One point ends soon, the other one never.
        sweep = work.path("sweep.json")
        process = work.start(evbtest.binary(), "sim", INCAST, "--jobs", "2", "--json", sweep,
                             "--sweep", "fabric.duration=1ms,1h")
        process.wait_until(lambda: os.path.exists(sweep) and len(load(sweep)["points"]) == 1,
                           "the first point")
        process.signal(signal.SIGINT)
        check_equal(process.finish().status, 1, process.describe())
        check("1 of 2 points are done" in process.describe(), process.describe())
        check_equal(len(load(sweep)["points"]), 1, "points")


def test_system_is_read_once():
    """A pipe can be read once only: the nodes of a system are not loaded one by one, which takes a
    time that is quadratic in their number."""
    with evbtest.Workspace() as work:
        with open(os.path.join(CONFIGS, "..", "cluster-folded.json"), encoding="utf-8") as file:
            system = json.load(file)
        system["fabric"] = {"duration": "1ms", "warm_up": 0, "traffic": {"kind": "system"}}
        path = work.write("system.json", system)
        result = work.start("/bin/sh", "-c", f"cat {path} | {evbtest.binary()} sim /dev/stdin")
        check_equal(result.finish().status, 0, result.describe())
        check("fabric      3 hosts" in result.describe(), result.describe())


def test_refused():
    """One line says what is wrong."""
    for arguments, expected in (
            (("--set", "fabric.hosts=1"), "fabric.hosts: 1 is out of range 2.."),
            (("--set", "fabric.topology=clos", "--set", "fabric.hosts=1000"),
             "fabric.hosts: 1000, and the topology has room for 2 to 512: change arity"),
            (("--set", "fabric.traffic.kind=daqpipe"),
             "fabric.traffic.kind: daqpipe repeats nothing that is lost"),
            (("--sweep", "fabric.hosts"), "PATH=A,B,... is expected"),
            (("--sweep", "fabric.hosts=4,,5"), "a value is empty"),
            (("--seed", "x"), "fabric.seed: "),
            # The first point is killed when the second one is refused.
            (("--set", "fabric.duration=1h", "--sweep", "fabric.seed=1,x", "--jobs", "2"),
             "fabric.seed: "),
            (("--sweep", "fabric.hosts=4,5", "--json", INCAST), "is no file of a sweep"),
            # Before it simulates for hours.
            (("--set", "fabric.duration=1h", "--json", "/nonexistent/result.json"),
             "/nonexistent/result.json: No such file")):
        with evbtest.Workspace() as work:
            result = sim(work, INCAST, *arguments, status=1)
            check(expected in result.describe(), f"{expected}: {result.describe()}")
            check("signal" not in result.describe(), result.describe())


if __name__ == "__main__":
    evbtest.main()
