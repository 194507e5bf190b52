# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""ledger_consumer.c in Python: ledger_consumer.py NAME GROUP LEDGER HOLD"""

import os
import sys

import evb

WAIT_S = 0.1


class Ledger:
    def __init__(self, reader, path):
        self._reader = reader
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.held = []

    def note(self, what, event):
        os.write(self._file, f"{os.getpid()} {what} {event.event_id}\n".encode())

    def release(self, index):
        event = self.held.pop(index)
        self.note("releasing", event)
        event.release()
        self.note("released", event)

    def consume(self, hold):
        """Until the run is over."""
        while True:
            try:
                event = self._reader.next(WAIT_S)
            except evb.EndOfRun:
                return
            if event is not None:
                self.note("got", event)
                # Every fragment is looked at, so that a view is alive when the process is killed.
                for source in event.mep:
                    assert all(fragment.data.sum() > 0 for fragment in source)
                self.held.append(event)
            # Nothing to read may mean that all slots are held, also by this process.
            if len(self.held) == hold or (event is None and self.held):
                self.release(self.held[0].event_id % len(self.held))


def main():
    name, group, path, hold = sys.argv[1:]
    with evb.Reader(name, group) as reader:
        ledger = Ledger(reader, path)
        print("joined", flush=True)
        ledger.consume(int(hold))
        while ledger.held:
            ledger.release(-1)


if __name__ == "__main__":
    main()
