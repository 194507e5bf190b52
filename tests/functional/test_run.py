# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb run` and `evb check` as a user meets them: options, signals, exit status, messages,
telemetry, bounded memory.

EVB_SOAK_EVENTS lengthens the memory test.
"""

import json
import os
import pty
import re
import shutil
import signal
import subprocess

import appliance
import ejfat_sender
import evbtest
import frames
import judge
import telemetry
from evbtest import check, check_equal
from hosts import check_documented

RATE = 500
SOAK_EVENTS = int(os.environ.get("EVB_SOAK_EVENTS", "30000"))


def endless(work, **changes):
    """A generator without end."""
    return appliance.generated(work, sources=4, packing=10, count=0, generator={"rate": RATE},
                               **changes)


def wait_for_events(process, count):
    """Until it has finished so many events."""
    def finished():
        seen = telemetry.summary(process.name)
        return seen["events_complete"] + seen["events_incomplete"]

    process.wait_until(lambda: finished() >= count, f"{count} events")


def check_all_built(summary):
    evbtest.check_identities(summary)
    check_equal(evbtest.drops(summary), {}, "drops")
    check_equal(summary["events"]["incomplete"], 0, "incomplete events")
    check(summary["events"]["complete"] > 0, "no event was built")


# --- configuration -----------------------------------------------------------------------------


def test_check_prints_the_plan():
    with evbtest.Workspace() as work:
        file = work.write("evb.json", endless(work))
        process = work.evb("check", file)
        check_equal(process.status, 0, f"status of {process.describe()}")
        for word in ("rx.wire", "builder.b0", "source.boards", "writer.files", "MiB"):
            check(word in process.output(), f"{word} is not in the plan: {process.describe()}")


def test_check_tells_the_outside():
    """Addresses, services and files are in the text and in the JSON; of a system, all nodes."""
    with evbtest.Workspace() as work:
        file = work.write("evb.json", endless(work))
        process = work.evb("check", file, "--set", "ports[0].address=10.1.2.3/24")
        plan = json.loads(work.evb("check", "--json", file, "--set",
                                   "ports[0].address=10.1.2.3/24").output())
        for section, of, text in (("addresses", "wire", "10.1.2.3/24"),
                                  ("services", "transport", "UDP port 19522: receives segments"),
                                  ("files", "files", f"writes into {work.path('events')}")):
            check({"of": of, "text": text} in plan[section], f"{section} {plan[section]}")
            check(f"\n{section}\n" in process.output() and f"  {of:12} {text}" in process.output(),
                  process.describe())
        check_equal([port["name"] for port in plan["ports"]], ["wire"], "ports")
        check(plan["memory"]["bytes"] > plan["memory"]["slot_bytes"] > 0, f"{plan['memory']}")
        system = os.path.join(evbtest.REPOSITORY, "configs", "cluster-4x2.json")
        plans = json.loads(work.evb("check", "--json", system).output())
        check_equal([plan["name"] for plan in plans],
                    [f"four-two-{node}" for node in ("manager", "ru0", "ru1", "ru2", "ru3", "bu0",
                                                     "bu1")], "nodes")


def test_set_overrides_the_file():
    with evbtest.Workspace() as work:
        file = work.write("evb.json", endless(work))
        plan = work.evb("check", file, "--set", "builders[0].name=renamed")
        check("builder.renamed" in plan.output(), f"not overridden: {plan.describe()}")
        summary = work.path("summary.json")
        process = work.start(evbtest.binary(), "run", file, "--set", "generators[0].events=20",
                             "--set", "run_number=99", "--summary", summary, summary=summary)
        result = process.end()
        check_equal((result["events"]["complete"], result["run_number"]), (20, 99),
                    "events and run number")


def refused(work, arguments, begin):
    """Both commands refuse with one line that begins so; no folder or file is left."""
    for command in ("check", "run"):
        process = work.evb(command, *arguments)
        check_equal(process.status, 1, f"status of {process.describe()}")
        lines = process.errors().splitlines()
        check(any(line.removeprefix("evb: ").startswith(begin) for line in lines),
              f"no line beginning with {begin!r} from {process.describe()}")
        check_equal(len(lines), 1, f"lines of errors of {process.describe()}")
        check_documented(lines[0])


def test_bad_configurations():
    cases = (
        (["builders[0].slots=0"], "builders[0].slots"),
        (["builders[0].slot_size=\"1 parsec\""], "builders[0].slot_size"),
        (["builders[0].slotz=1"], "builders[0].slotz"),
        (["events.on_incomplete=maybe"], "events.on_incomplete"),
        (["events.deadline=true"], "events.deadline"),
        (["ports[0].address=10.0.0.999/24"], "ports[0].address"),
        (["generators[0].port=elsewhere"], "generators[0].port"),
        (["sources.ids=[70000]"], "sources.ids[0]"),
        (["sources.packing=0"], "sources.packing"),
        (["ports[0].profile=no_such_profile"], "ports[0].profile"),
        (["lcores=[{\"cpu\":0,\"roles\":[\"rx.wire\"]}]"], "lcores"),
    )
    with evbtest.Workspace() as work:
        file = work.write("evb.json", endless(work))
        for overrides, path in cases:
            options = [argument for override in overrides for argument in ("--set", override)]
            refused(work, [file, *options], f"{file}: {path}")
        broken = work.write("broken.json", '{"name": "x", ')
        refused(work, [broken], f"{broken}: ")
        missing = work.path("missing.json")
        refused(work, [missing], f"{missing}: ")
        refused(work, [work.write("empty.json", "{}")], work.path("empty.json") + ": ")


def test_slots_too_small():
    """Slots that cannot hold one event are refused before anything starts."""
    with evbtest.Workspace() as work:
        configuration = appliance.generated(work, sources=64, packing=100, count=1)
        file = work.write("evb.json", configuration)
        refused(work, [file, "--set", "builders[0].slot_size=4KiB"],
                f"{file}: builders[0].slot_size")


def test_bad_options():
    with evbtest.Workspace() as work:
        for arguments in (["run"], ["run", "--no-such-option"], ["no-such-command"],
                          ["run", "x.json", "--duration", "soon"]):
            process = work.evb(*arguments)
            check_equal(process.status, 1, f"status of {process.describe()}")
            check(process.errors(), f"no message from {process.describe()}")
        errors = work.evb("recrd").errors()
        check('did you mean "record"?' in errors, errors)


def test_short_help_and_times():
    """-h is --help where it has no other meaning. A bare number is in seconds."""
    with evbtest.Workspace() as work:
        check_equal(work.evb("run", "-h").output(), work.evb("run", "--help").output(), "help")
        for interval, accepted in (("0.05", False), ("0.5", True), ("90", False), ("250ms", True)):
            errors = work.evb("top", "--interval", interval, "--no-such").errors()
            check_equal("out of range" not in errors, accepted, f"--interval {interval}: {errors}")
        for duration in ("1", "1s", "1000ms", "0.001ks"):
            errors = work.evb("run", "--duration", duration, "no-such-file.json").errors()
            check_equal("--duration" in errors, duration == "0.001ks", errors)


# --- the end of a run --------------------------------------------------------------------------


def test_end_of_run():
    with evbtest.Workspace() as work:
        summary = work.run(appliance.generated(work, count=100)).end()
        check_all_built(summary)
        check_equal(judge.event_counts(summary), (100, 0), "events")
        check_equal(len(judge.read_directory(work.path("events"))), 100, "events in files")


def test_end_of_run_line():
    with evbtest.Workspace() as work:
        process = work.run(appliance.generated(work, count=10))
        process.end()
        line = "the sources ended the run: 8 of 8 sent their end of run"
        check(line in process.errors(), f"no line tells who ended the run: {process.errors()}")


def test_end_of_run_ignored():
    with evbtest.Workspace() as work:
        process = work.run(appliance.generated(work, count=10,
                                               events={"on_end_of_run": "ignore"}))
        process.wait_until(lambda: telemetry.summary(process.name)["events_ends_of_run"] == 1,
                           "the end of run counted")
        # By its own clock, so that it had its turns: it looks 10 times per second.
        end = telemetry.summary(process.name)["uptime_seconds"] + 2
        process.wait_until(lambda: telemetry.summary(process.name)["uptime_seconds"] >= end,
                           "the run goes on")
        summary = process.drain()
        check_equal(judge.event_counts(summary), (10, 0), "events")


def test_duration():
    with evbtest.Workspace() as work:
        process = work.run(endless(work), "--duration", "1")
        summary = process.end()
        check_all_built(summary)
        check(summary["seconds"] >= 0.95, f"ran for {summary['seconds']} s")


def test_events():
    with evbtest.Workspace() as work:
        summary = work.run(endless(work), "--events", "50").end()
        check_all_built(summary)
        check_equal(judge.event_counts(summary), (50, 0), "events")


def last_progress(command, wanted):
    """The first match of `wanted` in what a command shows on a terminal; the command ends by itself."""
    ours, its = pty.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=its, stderr=its) as process:
        os.close(its)
        shown = b""
        while not (found := re.search(wanted, shown)):
            try:
                shown += os.read(ours, 4096)
            except OSError:
                raise evbtest.Failure(f"no {wanted} in {shown}") from None
        process.terminate()
        try:
            while os.read(ours, 4096):
                pass
        except OSError:
            pass  # the program has ended, and with it its side of the terminal
    os.close(ours)
    return found


def test_progress():
    """On a terminal: how much is done, and how long the rest takes; where no end is known, neither."""
    with evbtest.Workspace() as work:
        file = work.write("evb.json", endless(work))
        for options in (("--duration", "100"), ("--events", str(100 * RATE))):
            found = last_progress([evbtest.binary(), "run", file, *options],
                                  rb"\r[^\r]* +(\d+) s  (\d+) %, (\d+) s left  ")
            seconds, percent, left = map(int, found.groups())
            check(0 <= percent <= 100 and (options[0] == "--events" or
                                           99 <= seconds + left <= 101), f"{found.group()}")
        found = last_progress([evbtest.binary(), "run", file], rb"\r[^\r]* \d+ s  ([^\r]*)slots free")
        check(b"left" not in found.group(), f"{found.group()}")


def test_signals_drain():
    for number in (signal.SIGINT, signal.SIGTERM):
        with evbtest.Workspace() as work:
            process = work.run(endless(work))
            wait_for_events(process, 20)
            process.signal(number)
            summary = process.end()
            check_all_built(summary)
            found = judge.read_directory(work.path("events"))
            check_equal(sorted(found), [10 * index for index in range(len(found))], "event ids")
            check_equal(len(found), summary["events"]["complete"], "events in files")
            check_equal(evbtest.leftovers(process.name), [], "files in shared memory")


def test_second_signal_kills():
    """A drain that cannot end, as nobody reads the events, can be cut short."""
    for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)):
        with evbtest.Workspace() as work:
            stuck = endless(work, writer=None, event_ring={"groups": ["nobody"]},
                            events={"drain_timeout": "1h"})
            stuck["builders"][0]["slots"] = 4
            process = work.run(stuck)
            process.wait_until(lambda: telemetry.summary(process.name)["slots_free"] == 0,
                               "no slot is free")
            process.signal(first)
            file = work.write("stuck.json", stuck)
            for turn in ("it drains", "it waits for consumers", "it still does"):
                process.wait_until(lambda: '"draining"' in work.evb(
                    "ctl", file, "status", "--json").output(), turn)
            process.signal(second)
            process.finish()
            check_equal(process.status, -second, f"status of {process.describe()}")
            # What it left does not block the next run of the name.
            stuck["event_ring"]["groups"] = []
            check_all_built(work.run(stuck, "--events", "50").end())


def test_strict():
    for loss, status in ((0, 0), (0.02, 2)):
        with evbtest.Workspace() as work:
            configuration = appliance.generated(work, count=200,
                                                generator={"faults": {"loss": loss}})
            configuration["events"]["deadline"] = "300ms"
            summary = work.run(configuration, "--strict").end(expected_status=status)
            evbtest.check_identities(summary)
            check_equal(summary["events"]["incomplete"] > 0, loss > 0, "losses")


def test_summary():
    """Every key that the manual promises, with the right kind of value."""
    with evbtest.Workspace() as work:
        configuration = appliance.generated(work, sources=5, count=100)
        configuration["run_number"] = 31
        summary = work.run(configuration).end()
        check_equal((summary["name"], summary["run_number"]), (configuration["name"], 31), "names")
        check(summary["bytes_built"] > 100 * 5 * 10 * 100, f"bytes {summary['bytes_built']}")
        keys = {"complete", "incomplete", "discarded", "flushed"}
        check(keys <= summary["events"].keys(), f"keys of events {summary['events']}")
        latency = [summary["latency_ns"][key] for key in ("p50", "p99", "p999", "max")]
        check(0 < latency[0] and latency == sorted(latency), f"latencies {latency}")
        check_equal(summary["sources"]["expected"], 5, "expected sources")
        check_equal([source["id"] for source in summary["sources"]["list"]],
                    configuration["sources"]["ids"], "ids of the sources")
        check_equal([source["mfps"] for source in summary["sources"]["list"]], [100] * 5, "MFPs")
        for lcore in summary["lcores"]:
            shares = [lcore[key] for key in ("busy", "idle", "backpressured")]
            check(all(0 <= share <= 1 for share in shares) and 0.9 < sum(shares) < 1.1,
                  f"shares of lcore {lcore}")


def test_placements():
    """All roles fused on one lcore, or spread over two in any way: the same events."""
    if os.cpu_count() < 2:
        evbtest.skip("needs two CPUs")
    roles = ["source.boards", "rx.wire", "builder.b0", "writer.files"]
    placements = [[roles], [list(reversed(roles))], [roles[:2], roles[2:]],
                  [roles[:1] + roles[2:3], roles[1:2] + roles[3:]]]
    for placement in placements:
        with evbtest.Workspace() as work:
            configuration = appliance.generated(work, count=300)
            configuration["lcores"] = [{"cpu": cpu, "roles": on} for cpu, on in
                                       enumerate(placement)]
            summary = work.run(configuration).end()
            check_all_built(summary)
            check_equal(judge.event_counts(summary), (300, 0), f"events of {placement}")
            check_equal(len(summary["lcores"]), len(placement), "lcores")


# --- telemetry ---------------------------------------------------------------------------------


def quiet_run(work, events=200):
    """A run that has built all of a capture without an end of run and waits for more."""
    stream = ejfat_sender.Stream(range(0x1001, 0x1005), events, packing=5)
    plan = ejfat_sender.Plan(stream, end_of_run=False)
    plan.duplicate(0.05)
    path = work.path("packets.pcap")
    frames.write_capture(path, plan.frames())
    port = {"name": "file", "profile": "pcap", "device": path}
    process = work.run(appliance.builder(work, port, stream))

    def is_quiet():
        seen = telemetry.summary(process.name)
        return (seen["segments_placed"] + telemetry.total(seen, "segment_drop_")
                == len(plan.packets))

    process.wait_until(is_quiet, "the fate of all segments of the capture")
    return process, plan


def test_telemetry_counts_on():
    """In a run, counters only grow."""
    with evbtest.Workspace() as work:
        process = work.run(endless(work))
        last = telemetry.summary(process.name)
        gauges = ("latency_", "slots_", "events_open")
        counters = [key for key in last if not key.startswith(gauges) or key == "events_opened"]

        def has_counted():
            now = telemetry.summary(process.name)
            before = dict(last)
            last.update(now)
            backwards = {key: (before[key], now[key]) for key in counters if now[key] < before[key]}
            check_equal(backwards, {}, "counters that ran backwards")
            return now["segments_placed"] > before["segments_placed"]

        for _ in range(20):
            process.wait_until(has_counted, "more segments")
        check_all_built(process.drain())


def test_telemetry_conserves():
    """At a quiet moment the sums are exact, and equal those of the final summary."""
    with evbtest.Workspace() as work:
        process, plan = quiet_run(work)
        seen = telemetry.summary(process.name)
        dropped = telemetry.total(seen, "segment_drop_"), telemetry.total(seen, "packet_drop_")
        check_equal(seen["segments_placed"] + dropped[0], seen["segments_received"],
                    f"sum of segments {seen}")
        check_equal(seen["loss_total"], sum(dropped), "sum of drops")
        check_equal(seen["segments_placed"], plan.good, "segments placed")
        check_equal(dropped[0], plan.counts["duplicate"], "segments dropped")
        with telemetry.Telemetry(process.name) as client:
            sources = [client.query("/evb/source/info", str(source))
                       for source in client.query("/evb/source/list")]
        check_equal(len(sources), len(plan.stream.sources), "sources")
        check_equal(sum(source["segments_placed"] for source in sources), plan.good,
                    "segments placed, summed over sources")
        summary = process.drain()
        evbtest.check_identities(summary)
        for kind in ("placed", "received"):
            check_equal(summary["segments"][kind], seen[f"segments_{kind}"], f"segments {kind}")
        check_equal(summary["events"]["complete"], seen["events_complete"], "complete events")


def test_every_telemetry_command_answers():
    with evbtest.Workspace() as work:
        process = work.run(endless(work))
        with telemetry.Telemetry(process.name) as client:
            check_equal(client.greeting["pid"], process.pid, "pid in the greeting")
            commands = [command for command in client.query("/") if command.startswith("/evb/")]
            check("/evb/summary" in commands, f"commands {commands}")
            for command in commands:
                group = command.removesuffix("/info")
                names = client.query(f"{group}/list") if f"{group}/list" in commands else [""]
                check(names or group in ("/evb/diagnosis", "/evb/stranger"), f"{group}/list is empty")
                for name in names if group != command else [""]:
                    answer = client.query(command, str(name))
                    may_be_empty = ("/evb/diagnosis/list", "/evb/stranger/list")
                    check((answer or command in may_be_empty) and "error" not in answer,
                          f"{command},{name} answers {answer}")
                check(client.query("/help", command), f"no help for {command}")
            for command, name in (("/evb/role/info", "nobody"), ("/evb/source/info", "9"),
                                  ("/evb/link/info", "x"), ("/evb/port/info", "")):
                check("error" in client.query(command, name), f"{command},{name} is no error")
        process.drain()


def test_telemetry_clients():
    """DPDK's own client, and evb's."""
    with evbtest.Workspace() as work:
        process, plan = quiet_run(work)
        stat = work.evb("stat", "--json", "--name", process.name, "/evb/summary")
        check_equal(stat.status, 0, f"status of {stat.describe()}")
        check(isinstance(json.loads(stat.output()), dict), f"JSON from {stat.describe()}")
        plain = work.evb("stat", "--name", process.name)
        check_equal(plain.status, 0, f"status of {plain.describe()}")
        check(str(plan.good) in plain.output(), f"segments placed in {plain.describe()}")
        upstream = shutil.which("dpdk-telemetry.py")
        if upstream:
            result = subprocess.run(["/usr/bin/python3", upstream, "-f", f"evb-{process.name}"],
                                    input="/evb/summary\nquit\n", capture_output=True, text=True,
                                    timeout=evbtest.PATIENCE_S, check=False)
            check_equal(result.returncode, 0, f"dpdk-telemetry.py: {result.stderr}")
            check(str(plan.good) in result.stdout, f"dpdk-telemetry.py: {result.stdout}")
        process.drain()
        nobody = work.evb("stat", "--name", process.name)
        check_equal(nobody.status, 1, f"status of {nobody.describe()}")


# --- memory ------------------------------------------------------------------------------------


def test_memory_is_bounded():
    """The resident size does not grow once all slots and buffers have been used."""
    with evbtest.Workspace() as work:
        configuration = endless(work, events={"deadline": "50ms"})
        configuration["generators"][0].update(
            rate=6000, faults={"loss": 0.001, "duplicate": 0.001, "reorder_window": 16})
        configuration["writers"][0]["rotate_size"] = "1MiB"
        process = work.run(configuration)
        wait_for_events(process, SOAK_EVENTS // 4)
        before = process.resident_bytes()
        wait_for_events(process, SOAK_EVENTS)
        after = process.resident_bytes()
        evbtest.check_identities(process.drain())
        check(after <= before * 1.02 + (1 << 20),
              f"resident size grew from {before >> 10} to {after >> 10} KiB")


if __name__ == "__main__":
    evbtest.main()
