# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb run --log json`: all that is said is JSON lines on standard error, nothing else. And what
happens when nobody listens."""

import json
import os
import re
import subprocess

import appliance
import evbtest
from evbtest import check, check_equal


def lines_of(process):
    """Everything that a process said; each line must be an object with the fixed fields first."""
    check_equal(process.output(), "", "standard output")
    found = []
    for text in process.errors().splitlines():
        line = json.loads(text)
        check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"]), text)
        check(line["level"] in ("info", "notice", "warning", "error"), text)
        found.append(line)
    return found


def run(work, configuration, *arguments):
    file = work.write("evb.json", configuration)
    return work.evb("run", file, "--log", "json", *arguments)


def test_run_and_its_account():
    with evbtest.Workspace() as work:
        summary = work.path("summary.json")
        configuration = appliance.generated(work, count=50)
        process = run(work, configuration, "--summary", summary)
        check_equal(process.status, 0, process.describe())
        lines = [line for line in lines_of(process) if line["level"] != "warning"]
        check_equal({line["appliance"] for line in lines}, {configuration["name"]}, "appliance")
        check(all("node" not in line for line in lines), "a node where there is only one")
        said = [(line["level"], line["message"].split()[0]) for line in lines]
        check_equal(said, [("info", "running"), ("notice", "the"), ("notice", "wrote"), ("info", "ended")],
                    "lines")
        with open(summary, encoding="utf-8") as file:
            account = json.load(file)
        check_equal(lines[-1]["account"]["events"], account["events"], "account and summary")
        check_equal(account["events"]["complete"], 50, "events")


def test_refusals():
    with evbtest.Workspace() as work:
        configuration = appliance.generated(work)
        configuration["builders"][0]["slots"] = 0
        process = run(work, configuration)
        check_equal(process.status, 1, process.describe())
        line, = lines_of(process)
        check_equal(line["level"], "error", "level")
        check("builders[0].slots: 0 is out of range" in line["message"], line["message"])

        configuration = appliance.generated(work)
        configuration["ports"][0].update(profile="af_packet", device="evb-no-such")
        process = run(work, configuration)
        check_equal(process.status, 1, process.describe())
        line = lines_of(process)[-1]
        check_equal((line["level"], line["appliance"]), ("error", configuration["name"]), "line")
        check('there is no network interface "evb-no-such"' in line["message"], line["message"])


def test_dpdk_speaks_json_too():
    """What DPDK says becomes lines, here of a ring size that its memif driver does not take."""
    with evbtest.Workspace() as work:
        configuration = appliance.generated(work)
        configuration["ports"][0].update(profile="memif", device=work.path("memif.sock"),
                                         options={"role": "server", "rsize": "99"})
        process = run(work, configuration)
        check_equal(process.status, 1, process.describe())
        lines = lines_of(process)
        check_equal(lines[-1]["level"], "error", process.describe())
        check(any("Invalid ring size: 99" in line["message"] for line in lines[:-1]),
              process.describe())


def test_text_stays_text():
    with evbtest.Workspace() as work:
        configuration = appliance.generated(work, count=5)
        process = work.evb("run", work.write("evb.json", configuration), "--log", "text")
        check_equal(process.status, 0, process.describe())
        check(process.output().startswith(f"appliance {configuration['name']}, run 1: "),
              process.describe())
        check("evb: wrote " in process.errors(), process.describe())
        configuration["ports"][0].update(profile="memif", device=work.path("memif.sock"),
                                         options={"role": "server", "rsize": "99"})
        process = work.evb("run", work.write("evb.json", configuration))
        check(all(line.startswith("evb: ") for line in process.errors().splitlines()) and
              re.search("^evb: warning: DPDK: .*Invalid ring size: 99", process.errors(), re.M),
              process.describe())
        process = work.evb("run", work.write("evb.json", configuration), "--log", "xml")
        check_equal(process.status, 1, process.describe())
        check('"xml" is neither text nor json' in process.errors(), process.describe())


def test_outlives_its_reader():
    """Whoever read its output left: the run goes on to its end."""
    with evbtest.Workspace() as work:
        summary = work.path("summary.json")
        # lcores that poll are warned of before the start
        file = work.write("evb.json", appliance.generated(work, count=50, idle={"policy": "poll"}))
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "wb") as gone:
            result = subprocess.run([evbtest.binary(), "run", file, "--summary", summary],
                                    stdout=gone, stderr=gone, cwd=work.directory, check=False)
        check_equal(result.returncode, 0, "status")
        with open(summary, encoding="utf-8") as text:
            check_equal(json.load(text)["events"]["complete"], 50, "events")


if __name__ == "__main__":
    evbtest.main()
