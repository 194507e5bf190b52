# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""A short run of chain.py with two kills: each accepted event of the real file is in the files of the
recorders byte by byte, and the results are in the order of events.

EVB_LONG_TESTS, and in CI: the three modes, with producers and with boards, and each kind of kill.
"""

import chain
import evbtest


def check_chain(**options):
    wrong = chain.run(**options)
    evbtest.check(not wrong, f"{options}: {'; '.join(wrong[:20])}")


def test_chain():
    check_chain(events=200, rate=400, n_kills=len(chain.KILLS) if evbtest.LONG else 2,
                kinds=None if evbtest.LONG else ("builder node", "recorder"))


def test_modes():
    if not evbtest.LONG:
        evbtest.skip("takes long")
    for mode in ("push", "pull", "static"):
        check_chain(mode=mode, events=5000)
        check_chain(mode=mode, events=5000, boards="udp")


if __name__ == "__main__":
    evbtest.main()
