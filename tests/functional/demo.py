# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""What the demos of `./dev demo` have in common: the time line that people watch, and the way out."""
import os
import signal
import sys
import time

import evbtest

EXIT_LOSSES = 2


def each_second(seconds):
    """Yields (second, time since the one before in s) at the end of each second of the demo."""
    start = last = time.monotonic()
    for second in range(1, seconds + 1):
        time.sleep(max(0, start + second - time.monotonic()))
        moment = time.monotonic()
        yield second, moment - last
        last = moment


def main(run, seconds):
    """Ends the process with what run() returns. It gets the seconds of the command line, or these."""
    if len(sys.argv) > 2 or not all(text.isdigit() and int(text) for text in sys.argv[1:]):
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} [SECONDS]")
    # Leave through the clean-up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        sys.exit(run(int(sys.argv[1]) if len(sys.argv) > 1 else seconds))
    except (evbtest.Skip, evbtest.Failure) as reason:
        sys.exit(f"demo: {reason}")
    except KeyboardInterrupt:
        sys.exit(130)
