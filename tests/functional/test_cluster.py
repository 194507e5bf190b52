# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Systems of several nodes in network namespaces: each event is built on one builder, the one that
the event manager named, byte by byte as it was sent, and nothing is lost; runs are started, paused,
drained and stopped by `evb ctl`; nodes are excluded, included, and leave.

EVB_LONG_TESTS: 10^5 events in each mode in the place of 2000.
"""

import collections
import copy
import glob
import json
import os
import random
import signal
import socket

import appliance
import cluster
import evb_decode
import evbtest
import judge
import telemetry
from evbtest import check, check_equal

LONG = bool(os.environ.get("EVB_LONG_TESTS"))
EVENTS = 100_000 if LONG else 2000
PATIENCE_S = 900 if LONG else 120
SIZE = {"law": "gaussian", "mean": 100, "sigma": 20, "maximum": 240}
PACKING = 2
SLOT_SIZE = "128KiB"


def base(work, file, packing=PACKING, count=0, rate=0, writers=True, mtu=1500, **changes):
    """A shipped system with smaller fragments and slots, and writers on each builder node's own
    folder. count: events of each source before the end of the run, 0 for no end."""
    configuration = appliance.merged(cluster.shipped(file), {
        "name": work.name(),
        "sources": {"packing": packing},
        "events": {"deadline": "30s"},
        # Nodes that start at once on one machine would race for its hugepages.
        "memory": {"kind": "shm"},
        **changes,
    })
    for builder in configuration.get("builders", ()):
        builder["slot_size"] = SLOT_SIZE
    for node in configuration["nodes"]:
        for port in node["ports"]:
            port["mtu"] = mtu
        for builder in node.get("builders", ()):
            builder["slot_size"] = SLOT_SIZE
        for generator in node.get("generators", ()):
            generator.update(size=dict(SIZE), events=count)
            if rate:
                generator["rate"] = rate
        if writers and (node.get("builders") or "builders" in configuration):
            node["writers"] = [{"name": "files", "format": "mep",
                                "directory": work.folder(f"events-{node['name']}")}]
    return configuration


def folded(work, mode, **changes):
    return base(work, "cluster-folded.json",
                **appliance.merged({"event_manager": {"mode": mode}}, changes))


# --- what was sent, and what was built ---------------------------------------------------------


def sent_by(work, configuration, generator, count, first=0):
    """{event id: {source: MFP}} that `evb gen` writes to a file for the same generator. first: the
    event id to begin with."""
    path = work.path("sent.mfp")
    size = generator["size"]
    ids = ",".join(map(str, generator["ids"]))
    process = work.evb("gen", "--out", path, "--sources", ids, "--events", str(count),
                       "--first-event", str(first),
                       "--packing", str(configuration["sources"]["packing"]),
                       "--law", size["law"], "--mean", str(size["mean"]),
                       "--sigma", str(size["sigma"]), "--maximum", str(size["maximum"]))
    check_equal(process.status, 0, process.describe())
    data = evb_decode.read(path)
    os.unlink(path)
    found = collections.defaultdict(dict)
    for mfp in evb_decode.mfps(data):
        if mfp.event_id != evb_decode.END_OF_RUN:
            found[mfp.event_id][mfp.source_id] = data[mfp.offset:mfp.offset + mfp.size]
    return found


def all_sent(work, configuration, count, first=0):
    expected = collections.defaultdict(dict)
    for node in configuration["nodes"]:
        for generator in node.get("generators", ()):
            for event, blocks in sent_by(work, configuration, generator, count, first).items():
                expected[event].update(blocks)
    return expected


def builders(configuration):
    return [node["name"] for node in configuration["nodes"]
            if node.get("builders") or "builders" in configuration]


def built(work, configuration):
    """(node, event id, {source: MFP}) of all files; no event may be there twice."""
    seen = {}
    for node in builders(configuration):
        for path in judge.files(work.path(f"events-{node}")):
            for event, blocks in judge.read_meps(path):
                check(event not in seen, f"event {event} is on {node} and on {seen.get(event)}")
                seen[event] = node
                yield node, event, blocks


def check_built(work, configuration, expected):
    """Each event once, byte by byte. Returns {event id: node}."""
    where = {}
    for node, event, blocks in built(work, configuration):
        check(event in expected, f"event {event} was never sent")
        check_equal(sorted(blocks), sorted(expected[event]), f"sources of event {event} on {node}")
        for source, mfp in blocks.items():
            check(mfp == expected[event][source],
                  f"event {event} on {node}: the MFP of source {source} differs")
        where[event] = node
    lost = expected.keys() - where.keys()
    check(not lost, f"{len(lost)} events were not built, the first is {min(lost, default=None)}")
    return where


def check_generated(work, configuration, count=None, complete=True):
    """Of a run without a known end: the events are those from 0 on, without a gap, each once, all
    payloads as generated. Returns {event id: node}."""
    where = {event: node for node, event, blocks in built(work, configuration)
             if not complete or check_complete(event, blocks)}
    packing = configuration["sources"]["packing"]
    count = count or len(where)
    check_equal(sorted(where), [packing * index for index in range(count)], "events built")
    files = [path for node in builders(configuration)
             for path in judge.files(work.path(f"events-{node}"))]
    process = work.evb("dump", "--verify", "--quiet", "--payload", "generated", *files)
    check_equal(process.status, 0, process.describe())
    return where


def check_complete(event, blocks):
    missing = [source for source, mfp in blocks.items()
               if judge.is_error_mfp(mfp, judge.MISSING_TYPE)]
    check_equal(missing, [], f"missing sources of event {event}")
    return True


def check_healthy(summaries):
    """Nothing lost anywhere, everything counted, nobody paused."""
    for node, summary in summaries.items():
        evbtest.check_identities(summary)
        check_equal(evbtest.drops(summary), {}, f"drops of {node}")
        check_equal(summary["losses"], False, f"losses of {node}")
        check_equal(summary["packets"]["pause"], 0, f"pause frames received by {node}")
        check_equal(summary["events"]["incomplete"], 0, f"incomplete events of {node}")


def complete(summaries):
    return sum(summary["events"]["complete"] for summary in summaries.values())


# --- whole runs --------------------------------------------------------------------------------


def run_to_the_end(work, configuration, count):
    """Returns {event id: node} after all has been judged."""
    with cluster.System(work, configuration) as system:
        system.start()
        summaries = system.end(PATIENCE_S)
    check_healthy(summaries)
    check_equal(complete(summaries), count, "events built in all")
    where = check_built(work, configuration, all_sent(work, configuration, count))
    for node in builders(configuration):
        check_equal(sum(at == node for at in where.values()),
                    summaries[node]["events"]["complete"], f"events in the files of {node}")
        check(node in where.values(), f"{node} has built nothing")
    return where


def test_push():
    with evbtest.Workspace() as work:
        run_to_the_end(work, folded(work, "push", count=EVENTS), EVENTS)


def test_pull():
    with evbtest.Workspace() as work:
        run_to_the_end(work, folded(work, "pull", count=EVENTS), EVENTS)


def test_pace_by_the_links_that_nodes_report():
    """link_rate auto: a veth device has 10 Gb/s, in the namespace of its node alone."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=50, writers=False)
        for node in configuration["nodes"][1:]:
            node["ports"][0]["link_rate"] = "auto"
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system, 1)
            with telemetry.Telemetry(f"{system.name}-{system.manager}") as client:
                credits = client.query("/evb/credits/all")
            rates = [credits[f"credits_{i}"]["rate_bytes"] for i in range(3)]
            check_equal(rates, [0, 10e9 / 8 * 0.9, 10e9 / 8 * 0.9], "rates of grants")
            system.ctl("stop")
            system.end(PATIENCE_S)


def test_the_builder_that_was_named():
    """Where builders take strict turns it is known which one the event manager names."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", count=EVENTS // 4, event_manager={
            "policy": "round-robin", "strict": True, "relax_after": "10s"})
        where = run_to_the_end(work, configuration, EVENTS // 4)
        check_turns(configuration, where)


def check_turns(configuration, where):
    names = builders(configuration)
    for event, node in where.items():
        check_equal(node, names[event // PACKING % len(names)], f"builder of event {event}")


def test_static():
    """The formula names the builder: event index modulo builders. Nobody holds the sources back:
    the slots have room for all that one node may send while another does not run. The run ends two
    deadlines after the last event."""
    events = EVENTS // 2
    with evbtest.Workspace() as work:
        configuration = folded(work, "static", count=events, rate=1000, events={"deadline": "2s"})
        for builder in configuration["builders"]:
            builder["slots"] = 512
        check_turns(configuration, run_to_the_end(work, configuration, events))


def test_two_generators_and_several_builders():
    """A node with two generators, and one with two builders."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", count=EVENTS // 4)
        a, b, _ = configuration["nodes"]
        second = copy.deepcopy(a["generators"][0])
        a["generators"][0]["ids"] = ["1-2"]
        a["generators"].append({**second, "name": "more", "ids": [3]})
        b["builders"] = [{**configuration["builders"][0], "name": name} for name in ("b0", "b1")]
        run_to_the_end(work, configuration, EVENTS // 4)


def split(work, mode="push", **changes):
    """The manager, two readout nodes and two builder nodes. changes: also mtu."""
    configuration = base(work, "cluster-4x2.json",
                         **appliance.merged({"event_manager": {"mode": mode}}, changes))
    return cluster.only_nodes(configuration, "manager", "ru0", "ru1", "bu0", "bu1")


def test_split_push():
    with evbtest.Workspace() as work:
        run_to_the_end(work, split(work, "push", count=EVENTS // 2, mtu=9000), EVENTS // 2)


def test_split_pull():
    with evbtest.Workspace() as work:
        run_to_the_end(work, split(work, "pull", count=EVENTS // 2), EVENTS // 2)


# --- run control -------------------------------------------------------------------------------


RATE = 200  # events a second, where a test needs a run to last


def test_nodes_share_the_cpus():
    """lcores auto: each node on a veth has its part of the machine's CPUs."""
    n_cpus = len(os.sched_getaffinity(0))
    if n_cpus < 2 or n_cpus < os.cpu_count():
        evbtest.skip("the test may use one CPU, or not all of the machine")
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=50, writers=False)
        # Nodes that are more than the CPUs do not share them.
        names = [node["name"] for node in configuration["nodes"]]
        configuration = cluster.only_nodes(configuration, *names[:n_cpus])
        with cluster.System(work, configuration) as system:
            system.start()
            used = {}
            for node in system.nodes:
                with telemetry.Telemetry(f"{system.name}-{node}") as client:
                    lcores = client.query("/evb/lcore/all")
                used[node] = {one["cpu"] for key, one in lcores.items() if key != "count"}
            system.ctl("stop")
            system.end(PATIENCE_S)
        for node, cpus in used.items():
            check(len(cpus) <= n_cpus // len(used), f"CPUs of {node}: {used}")
        check(not used["a"] & used["b"], f"two nodes are on one CPU: {used}")


def released(status):
    return status["system"]["released"]


def wait_for_more(system, more=50):
    """Until this many more events have been built."""
    before = released(system.status())
    system.wait_for(lambda status: released(status) >= before + more, f"{more} more events")


def frames_of(system, node, peer):
    """Control frames of the peer that have reached the node."""
    with telemetry.Telemetry(f"{system.name}-{node}") as client:
        return client.query("/evb/control/info", peer)["frames_received"]


def counts_of_steps(system, node):
    with telemetry.Telemetry(f"{system.name}-{node}") as client:
        found = client.query("/evb/step/all")
    return {step["name"]: step["latency_ns"]["count"]
            for key, step in found.items() if key != "count"}


def wait_for_steps(system, events):
    """Until each published event counts once in each step: its grant on every node, which all send,
    and the other steps on the node that has built it."""
    def agree(_):
        found = [counts_of_steps(system, node) for node in system.nodes]
        sums = {name: sum(one[name] for one in found) for name in found[0]}
        return len(sums) == 6 and sums.pop("grant") == len(found) * events and \
            set(sums.values()) == {events}

    system.wait_for(agree, f"{events} events in each step")


def test_phase_barrier_of_folded_nodes():
    """Nodes wait for each other after each event, and the event manager's node reads, too: all know how
    far the others are, and none waits until its longest wait is over."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=RATE, writers=False,
                               event_manager={"phase_barrier": 1, "heartbeat_timeout": "10s"})
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system, 3 * RATE)
            readouts = []
            for node in system.nodes:
                with telemetry.Telemetry(f"{system.name}-{node}") as client:
                    readouts.append(client.query("/evb/readout/info", "boards"))
            system.ctl("stop")
            system.end(PATIENCE_S)
        check(any(one["held_phase"] > 0 for one in readouts), f"nobody waited: {readouts}")
        check_equal([one["phase_timeouts"] for one in readouts], [0, 0, 0], "waits that were too long")


def test_states():
    """Each state is seen on every node, and the run number on every ring and file. In the pause all
    counters rest."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=RATE, run_number=4711,
                               event_manager={"start": "manual"})
        with cluster.System(work, configuration) as system:
            system.start("b", "c")
            system.wait_for_state("configured", ("b", "c"))
            system.start("a")
            system.wait_for_state("ready")
            status = system.status()
            check_equal((status["system"]["registered"], status["system"]["announced"]), (3, 0),
                        "nodes that are there, and events announced before the start")
            check_refused(system, ("pause",), "no run")
            check_refused(system, ("drain",), "no run")
            system.command("start")
            system.wait_for_state("running")
            check_refused(system, ("start",), "a run is there already")
            wait_for_more(system)
            system.command("pause")
            system.wait_for_state("paused")
            paused = system.wait_for(lambda status: status["system"]["outstanding"] == 0,
                                     "nothing in flight")
            heard = frames_of(system, "a", "b")
            system.wait_for(lambda _: frames_of(system, "a", "b") >= heard + 10, "b is heard")
            check_equal(released(system.status()), released(paused), "events built in a pause")
            wait_for_steps(system, released(paused))
            system.command("resume")
            system.wait_for_state("running")
            wait_for_more(system)
            system.command("drain")
            summaries = system.end()
        check_healthy(summaries)
        check_generated(work, configuration, complete(summaries))
        for node in system.nodes:
            check_equal(summaries[node]["run_number"], 4711, f"run number of {node}")
            names = [os.path.basename(path) for path in judge.files(work.path(f"events-{node}"))]
            check(names and all("run004711" in name for name in names), f"files {names}")
            check("run 4711" in system.processes[node].output(), system.processes[node].describe())


def check_refused(system, command, why, node=None):
    process = system.ctl(*command, node=node)
    check_equal((process.status, process.output()), (1, ""), process.describe())
    check(why in process.errors() and process.errors().count("\n") == 0, process.describe())


def test_draining_is_seen():
    """Nobody takes the events, so all slots are full and the drain goes on until a stop; `evb ctl`
    answers meanwhile. The nodes end when the events that they hold are taken."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=RATE, writers=False,
                               events={"deadline": "30s", "drain_timeout": "5min"},
                               event_ring={"groups": ["main"]})
        with cluster.System(work, configuration) as system:
            system.start()
            system.wait_for(lambda status: status["system"]["waiting"] > 20, "no free slot")
            system.command("drain")
            system.wait_for_state("draining")
            check_refused(system, ("start",), "a run is there already")
            system.command("stop")
            system.wait_for_state("stopped")
            consumers = [work.start(evbtest.program("slow_consumer"), process.name, "main", "0")
                         for process in system.processes.values()]
            for process in (*consumers, *system.processes.values()):
                check_equal(process.finish().status, 0, process.describe())


def test_stop():
    """At once: what is under way is given up, and the nodes end."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=RATE)
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system)
            system.command("stop")
            for node, summary in system.end().items():
                evbtest.check_identities(summary)
                check(summary["events"]["complete"] > 0, f"{node} has built nothing")


def test_stop_behind_full_links():
    """Nobody takes the events of builders that nobody paces, so their slots and links fill and data
    has to wait; the commands to their nodes do not wait behind it. Nodes that have stopped wait for
    their consumers, which come then."""
    with evbtest.Workspace() as work:
        configuration = split(work, "static", rate=2000, writers=False, links={"depth": 256},
                              events={"deadline": "30s", "drain_timeout": "20s"},
                              event_ring={"groups": ["main"]})
        with cluster.System(work, configuration) as system:
            system.start()
            for node in ("bu0", "bu1"):
                wait_for_full_links(work, system.processes[node].name)
            system.command("pause")
            system.wait_for_state("paused")
            system.command("stop")
            system.wait_for_state("stopped")
            consumers = [work.start(evbtest.program("slow_consumer"), system.processes[node].name,
                                    "main", "0") for node in ("bu0", "bu1")]
            summaries = system.end()
            for process in consumers:
                check_equal(process.finish().status, 0, process.describe())
        # A port that rx does not read fast enough has no room for what nobody paces.
        for summary in summaries.values():
            evbtest.check_identities(summary, missed=summary["packets"]["missed"])


def wait_for_full_links(work, name):
    """Until rx has found its only link full many times."""
    def full():
        process = work.evb("stat", "--json", "--name", name, "/evb/link/all")
        return json.loads(process.output())["/evb/link/all"]["link_0"]["full"]

    evbtest.wait_until(lambda: full() > 10_000, f"{name}: its link is found full")


def test_exclude_and_include_a_builder():
    """Its events go to the other builder; nothing is lost."""
    with evbtest.Workspace() as work:
        configuration = split(work, rate=RATE)
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system)
            system.command("exclude", "bu1")
            check_refused(system, ("exclude", "bu1"), "excluded already")
            status = system.wait_for(lambda status: status["node"]["excluded"], "bu1 is told",
                                     "bu1")
            grants = system.status("bu1")["node"]["grants"]
            wait_for_more(system)
            status = system.status("bu1")
            check_equal(status["node"]["grants"], grants, "grants of bu1 while it is excluded")
            check_equal(status["node"]["tokens_used"], 0, "what bu1 holds while it is excluded")
            system.command("include", "bu1")
            check_refused(system, ("include", "bu1"), "not excluded")
            system.wait_for(lambda status: status["node"]["grants"] > grants, "grants", "bu1")
            wait_for_more(system)
            system.command("drain")
            summaries = system.end()
        for summary in summaries.values():
            evbtest.check_identities(summary)
        where = check_generated(work, configuration)
        check_equal(set(where.values()), {"bu0", "bu1"}, "builders")


def test_exclude_a_readout():
    """Events go on without its sources, incomplete; included again, they are complete again."""
    with evbtest.Workspace() as work:
        configuration = split(work, rate=RATE, events={"deadline": "10s"})
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system)
            system.command("exclude", "ru1")
            system.wait_for(lambda status: status["system"]["incomplete"] >= 20,
                            "incomplete events")
            system.command("include", "ru1")
            wait_for_more(system, 200)
            incomplete = system.status()["system"]["incomplete"]
            wait_for_more(system)
            check_equal(system.status()["system"]["incomplete"], incomplete,
                        "incomplete events after the readout was included again")
            system.command("drain")
            summaries = system.end()
        for summary in summaries.values():
            evbtest.check_identities(summary)
        check_generated(work, configuration, complete=False)


def test_status_for_people():
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=RATE, writers=False)
        with cluster.System(work, configuration) as system:
            system.start()
            system.wait_for_state("running")
            shown = system.ctl("status").output()
            check_equal(shown.splitlines()[0], f"{system.name}-a: running, run 1", shown)
            check("3 of 3 nodes are there" in shown, shown)
            shown = system.ctl("status", node="c").output()
            check("registered at the event manager, node a" in shown, shown)
            check_refused(system, ("pause",), "ask node a", node="b")
            check_refused(system, ("exclude", "d"), "there is no node")
            check_refused(system, ("status",), "none is called", node="d")
            system.command("drain")
            system.end()
            check_refused(system, ("status",), "not running")


def ask(name, request):
    """Sends bytes to a control socket; its answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.settimeout(evbtest.PATIENCE_S)
        client.connect(evbtest.control_socket(name))
        client.send(request)
        return json.loads(client.recv(1 << 20))


def test_requests_by_hand():
    """Whatever is written to the control socket is answered, and changes nothing."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=RATE, writers=False)
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system)
            draw = random.Random(1)
            for request, why in (
                    (b"{", "a request is a JSON object"),
                    (b"{}", "a request names its \"command\""),
                    (b'{"command": 1}', "a request names its \"command\""),
                    (b'{"command": "begin"}', "there is no command \"begin\""),
                    (b'{"command": "exclude"}', "exclude: which node?"),
                    (b'{"command": "exclude", "node": 1}', "exclude: which node?"),
                    (b'{"command": "include", "node": ""}', "include: there is no node \"\""),
                    (b'{"command": "resume"}', "the run is not paused")):
                answer = ask(f"{system.name}-a", request)
                check_equal(answer, {"ok": False, "error": answer.get("error")}, f"{request}")
                check(why in answer["error"], f"{request}: {answer}")
            for _ in range(300):
                answer = ask(f"{system.name}-a", draw.randbytes(draw.randrange(1, 4096)))
                check_equal(answer["ok"], False, "garbage")
            check_equal(system.status()["state"], "running", "state after all that")
            system.command("drain")
            check_healthy(system.end())


def test_alone():
    """An appliance of no system can be asked and drained; there is no event manager to command."""
    with evbtest.Workspace() as work:
        configuration = appliance.generated(work, sources=4, packing=10,
                                            generator={"rate": 1000})
        evb = work.run(configuration)
        file = work.write("alone.json", configuration)
        status = work.evb("ctl", file, "status", "--json")
        status = json.loads(status.output())
        check_equal((status["state"], status["run"], status["pid"]), ("running", 1, evb.pid),
                    "the status")
        shown = work.evb("ctl", file, "status").output()
        check(shown.startswith(f"{evb.name}: running, run 1\n"), shown)
        for command in (("start",), ("pause",), ("resume",), ("exclude", "a")):
            refused = work.evb("ctl", file, *command)
            check_equal((refused.status, refused.output()), (1, ""), refused.describe())
            check("there is no event manager" in refused.errors(), refused.describe())
        # By its socket.
        drain = work.evb("ctl", evbtest.control_socket(evb.name), "drain")
        check_equal((drain.status, drain.output()), (0, ""), drain.describe())
        summary = evb.end()
        evbtest.check_identities(summary)
        check_equal(summary["losses"], False, "losses")
        gone = work.evb("ctl", file, "status")
        check("is not running" in gone.errors(), gone.describe())


def test_wrong_arguments():
    with evbtest.Workspace() as work:
        file = work.write("system.json", folded(work, "push"))
        for arguments, why in (((), "name a configuration"), ((file,), "and a command"),
                               ((file, "begin"), "there is no command \"begin\""),
                               ((file, "exclude"), "which node?"),
                               ((file, "drain", "a"), "not about a node"),
                               ((file + "x", "status"), "cannot be opened"),
                               ((file, "status", "--node", "d"), "none is called \"d\""),
                               ((file, "status"), "is not running")):
            process = work.evb("ctl", *arguments)
            check_equal((process.status, process.output()), (1, ""), process.describe())
            check(why in process.errors(), process.describe())


# --- who does not belong, who leaves -----------------------------------------------------------


def test_wrong_node():
    with evbtest.Workspace() as work:
        file = work.write("system.json", folded(work, "push"))
        for node, why in (("d", "none is called \"d\", there are a, b, c"),
                          (None, "choose one with --node: a, b, c")):
            process = work.evb("run", file, *(("--node", node) if node else ()))
            check_equal(process.status, 1, process.describe())
            check_equal(process.errors(), f"{file}: nodes: {why}", "the error")


def test_other_configuration():
    """A node that was started with another configuration is told so, in one line, and ends; the
    others wait."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", writers=False)
        with cluster.System(work, configuration) as system:
            system.start("a", "b")
            other = system.launch("c", "--set", "sources.packing=3").finish()
            check_equal(other.status, 1, other.describe())
            check_equal(other.errors().splitlines()[-1],
                        "evb: the event manager refuses this node: its configuration is not the "
                        "manager's", "the error")
            system.wait_for(lambda status: status["system"]["registered"] == 2, "two nodes")
            check(system.status()["state"] in ("configured", "ready"), "a run has started")
            system.start("c")
            system.wait_for_state("running")
            system.command("drain")
            system.end()


def test_builder_leaves():
    """On SIGTERM a builder node gives back what it holds; the other builds it."""
    with evbtest.Workspace() as work:
        configuration = split(work, rate=RATE)
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system)
            check_equal(system.processes["bu1"].stop(), 0, "status of the one that leaves")
            wait_for_more(system)
            state = system.status()["system"]
            check_equal((state["state"], state["registered"]), ("running", 4), "state and nodes")
            system.command("drain")
            summaries = system.end(nodes=("manager", "ru0", "ru1", "bu0"))
        for summary in summaries.values():
            evbtest.check_identities(summary)
        where = check_generated(work, configuration)
        check_equal(set(where.values()), {"bu0", "bu1"}, "builders")


def test_manager_stops():
    """SIGTERM on the manager's node drains the whole system."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", rate=RATE)
        with cluster.System(work, configuration) as system:
            system.start()
            wait_for_more(system)
            system.processes["a"].signal(signal.SIGTERM)
            summaries = system.end()
        check_healthy(summaries)
        check_generated(work, configuration, complete(summaries))


def test_nothing_is_left():
    """No namespaces, sockets or shared memory of a system that has ended."""
    with evbtest.Workspace() as work:
        configuration = folded(work, "push", count=50, writers=False)
        with cluster.System(work, configuration) as system:
            system.start()
            system.end()
            check_equal(evbtest.leftovers(system.name), [], "files in shared memory")
            check_equal(glob.glob(evbtest.control_socket(f"{system.name}*")), [],
                        "control sockets")


if __name__ == "__main__":
    evbtest.main()
