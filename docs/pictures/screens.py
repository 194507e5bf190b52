#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Takes again what the README shows of `evb top` and `evb web`, top.screen and web.png: the demo, while
its consumer is stopped. `./dev docs --screens` runs it, for about 20 s; make.py draws top.svg."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(ROOT, "tests", "functional"))

import evbtest
import telemetry
from browser import Browser
from test_top import Terminal
from test_web import Web

NAME, GROUP = "demo", "filter"
COLUMNS, ROWS = 100, 24
PAGE = (1500, 535)  # pixels
RATE = 4000  # events/s, which leaves CPU time to the views
EVENTS = 9 * RATE  # what the history shows, and then a consumer that has stood for 5 s


def take_page(work, url):
    os.environ["EVB_SCREENSHOTS"] = HERE
    Browser(work, PAGE).pictured(f"{url}?node={NAME}&theme=light", "web.png")


def take_terminal(terminal):
    screen = terminal.screen("-e").rstrip("\n").replace("\033", "␛")
    with open(os.path.join(HERE, "top.screen"), "w", encoding="utf-8") as file:
        file.write("# `evb top`, taken by screens.py: ␛ stands for the byte of that name.\n" + screen + "\n")


def main():
    with evbtest.Workspace() as work:
        os.environ["RUNTIME_DIRECTORY"] = work.folder("run")
        evb = work.start(evbtest.binary(), "run", os.path.join(ROOT, "configs", "demo.json"),
                         "--set", f"generators[0].rate={RATE}",
                         "--set", f'event_ring.groups=["{GROUP}"]')
        evb.wait_for_line("running")
        consumer = work.start(evbtest.program("slow_consumer"), NAME, GROUP, "0")
        consumer.wait_for_line("joined")
        with Web(work, "--name", NAME) as web, Terminal(work, NAME, columns=COLUMNS, rows=ROWS) as terminal:
            terminal.wait_for(r"^events +[1-9]")
            evb.wait_until(lambda: telemetry.summary(NAME)["events_complete"] > EVENTS, f"{EVENTS} events")
            consumer.suspend()
            terminal.wait_for(rf"consumer group {GROUP} .*stopped [5-9]\.\d s ago.* holds all")
            take_terminal(terminal)
            take_page(work, web.url)
        consumer.kill()
        evb.stop()


if __name__ == "__main__":
    main()
