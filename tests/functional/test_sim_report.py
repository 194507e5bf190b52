# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""`evb sim --report`: the page has what --json writes, needs nothing else, and shows its figures.

EVB_SCREENSHOTS: a folder in which the browser's screenshots are kept.
"""

import json
import os
import re
import shutil

import evbtest
from browser import Browser, text_of
from evbtest import check, check_equal

CONFIGS = os.path.join(evbtest.REPOSITORY, "configs", "sim")
INCAST = os.path.join(CONFIGS, "incast.json")
SLOW = os.path.join(CONFIGS, "slow-receiver.json")


def sim(work, *arguments, status=0):
    result = work.evb("sim", *arguments)
    check_equal(result.status, status, result.describe())
    return result


def page_of(folder):
    with open(os.path.join(folder, "index.html"), encoding="utf-8") as file:
        return file.read()


def data_of(page):
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page,
                        re.DOTALL)
    return json.loads(text)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def test_data():
    """The result of --json, the file and the overrides; the same seed gives the same page."""
    with evbtest.Workspace() as work:
        file, pages = work.path("result.json"), []
        for folder in ("one", "two"):
            sim(work, INCAST, "--report", work.path(folder), "--json", file,
                "--set", "fabric.duration=1ms", "--seed", "7")
            pages.append(page_of(work.path(folder)))
        check_equal(pages[0], pages[1], "the same seed")
        data = data_of(pages[0])
        check_equal(data["result"], load(file), "result")
        check_equal(data["file"], INCAST, "file")
        check_equal(data["set"], ["fabric.duration=1ms", "fabric.seed=7"], "overrides")
        check(data["version"] in work.evb("--version").describe(), data["version"])
        check_equal(data["result"]["fabric"]["seed"], "7", "seed")
        outside = re.findall(r"""(?:src|href)\s*=\s*["']|url\(|@import|https?://""",
                             re.sub(r"http://www\.w3\.org/2000/svg", "", pages[0]))
        check_equal(outside, [], "what the page needs from elsewhere")
        check("default-src 'none'" in pages[0] and "unsafe" not in pages[0], "policy")


def test_series():
    """The time series adds up to the whole."""
    with evbtest.Workspace() as work:
        file = work.path("result.json")
        sim(work, INCAST, "--json", file, "--set", "fabric.warm_up=1ms")
        result = load(file)
        series, lengths, before = result["series"], [], 1000000
        check_equal(len(series), 200, "points")
        for point in series:
            lengths.append(point["time_ns"] - before)
            before = point["time_ns"]
        check_equal(before, result["simulated_ns"], "end")
        received = sum(point["mean_bps"] * length * 1e-9 / 8 * result["hosts"]
                       for point, length in zip(series, lengths))
        check(abs(received / sum(result["throughput"]["received_bytes"]) - 1) < 1e-6,
              f"received {received}")
        lost = sum(port.get("lost_queue", 0) for port in result["ports"])
        check(lost > 0, "nothing was lost")
        check_equal(sum(point["lost_packets"] for point in series), lost, "lost")
        most = max(port["queue_most_bytes"] for port in result["ports"])
        queue = max(point["queue_most_bytes"] for point in series)
        check(0.5 * most < queue <= most, f"queue of {queue}, at most {most}")


def test_escaped():
    """A name of a file that looks like the end of the script."""
    with evbtest.Workspace() as work:
        folder = work.folder("<")
        name = os.path.join(folder, "script><h1>.json")
        shutil.copy(INCAST, name)
        sim(work, name, "--report", work.path("report"), "--set", "fabric.duration=100us")
        page = page_of(work.path("report"))
        check_equal(page.count("</script>"), 2, "ends of scripts")
        check_equal(data_of(page)["file"], name, "name")


def test_refused():
    """Before it simulates for hours."""
    with evbtest.Workspace() as work:
        for arguments in ((), ("--sweep", "fabric.seed=1,2")):
            result = sim(work, INCAST, "--set", "fabric.duration=1h", *arguments,
                         "--report", "/nonexistent/report", status=1)
            check_equal(result.errors(), "evb sim: /nonexistent/report: No such file or directory",
                        result.describe())


def test_browser_shows_a_simulation():
    with evbtest.Workspace() as work:
        browser, file = Browser(work), work.path("result.json")
        sim(work, SLOW, "--report", work.path("report"), "--json", file)
        result = load(file)
        document = browser.pictured(f"file://{work.path('report')}/index.html",
                                    "evb-sim-report.png")
        text = text_of(document)
        for words in (f"{result['throughput']['mean_bps'] / 1e9:.1f} Gb/s",
                      "host 5 receives slowly", "No packet was lost", "traffic.load 0.6"):
            check(words in text, f"no {words!r} on the page: {text}")
        # One cell per port in each map, and a line in each plot.
        cells = document.count('class="cell"')
        check_equal(cells, 2 * len(result["ports"]), "cells")
        check(document.count("<path ") >= 6, "lines")


def test_browser_shows_losses():
    with evbtest.Workspace() as work:
        browser, file = Browser(work), work.path("result.json")
        sim(work, INCAST, "--report", work.path("report"), "--json", file)
        lost = load(file)["lost_packets"]["queue"]
        text = text_of(browser.document(f"file://{work.path('report')}/index.html"))
        for words in (f"queue: {lost}", f"{lost} packets", "Nobody was paused"):
            check(words in text, f"no {words!r} on the page: {text}")


def test_browser_shows_refusals():
    with evbtest.Workspace() as work:
        browser, file = Browser(work), work.path("result.json")
        sim(work, INCAST, "--report", work.path("report"), "--json", file, "--set",
            "fabric.flow_control=retry", "--set", "fabric.buffer=16KiB")
        result = load(file)
        text = text_of(browser.document(f"file://{work.path('report')}/index.html"))
        for words in (f"{result['packets_refused']} of {result['hops']}; "
                      f"{result['packets_repeated']} packets sent again", "packets refused",
                      "Ports in front of a full buffer against time",
                      "Who waited for whose buffers"):
            check(words in text, f"no {words!r} on the page: {text}")


def test_browser_shows_a_sweep():
    with evbtest.Workspace() as work:
        browser, file = Browser(work), work.path("sweep.json")
        sim(work, INCAST, "--report", work.path("report"), "--json", file, "--jobs", "1",
            "--set", "fabric.duration=1ms", "--sweep", "fabric.traffic.load=0.2,0.5,1",
            "--sweep", "fabric.hosts=5,9")
        points = load(file)["points"]
        check_equal(data_of(page_of(work.path("report")))["points"], points, "points")
        document = browser.pictured(f"file://{work.path('report')}/index.html",
                                    "evb-sim-sweep.png")
        text = text_of(document)
        for words in ("sweep of traffic.load and hosts", "hosts 5", "hosts 9", "6 points",
                      f"{points[0]['result']['throughput']['mean_bps'] / 1e9:.2f} Gb/s"):
            check(words in text, f"no {words!r} on the page: {text}")


if __name__ == "__main__":
    evbtest.main()
