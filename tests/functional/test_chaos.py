# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Some rounds of chaos.py, each kind of fault once at the least, with long timeouts: whatever a
loaded machine delays, no event is lost, or published twice without the flag, and the system runs
again; and some histories of processes that claim one node.

EVB_LONG_TESTS, and in CI: two minutes of rounds in the place of a number of faults.
"""

import chaos
import chaos_faults
import claims
import evbtest

SLOTS_LOST = (chaos_faults.ForgedSegments,)  # until the deadline
WITHOUT_LOSS = [kind for kind in chaos_faults.KINDS if not kind.loses and kind not in SLOTS_LOST]
WITH_LOSS = [kind for kind in chaos_faults.KINDS if kind.loses or kind in SLOTS_LOST]


def check_nothing_wrong(n_faults, **options):
    extent = {"minutes": 1} if evbtest.LONG else {"n_faults": n_faults}
    wrong = chaos.run(seed=1, within=evbtest.PATIENCE_S, **extent, **options)
    evbtest.check(not wrong, "\n".join(wrong))


def test_faults_without_loss():
    """All events are complete."""
    check_nothing_wrong(n_faults=len(WITHOUT_LOSS), kinds=WITHOUT_LOSS, deadline="10s",
                        heartbeat_timeout="2s")


def test_faults_with_loss():
    """Events are incomplete while data is lost, and complete again when it is over."""
    check_nothing_wrong(n_faults=len(WITH_LOSS), kinds=WITH_LOSS, mode="pull",
                        deadline="500ms", heartbeat_timeout="1s", quiet=False)


def test_claims():
    """Processes of one node: one is in step in the end, and the others are refused."""
    wrong = claims.run(10, seed=11, within=evbtest.PATIENCE_S)
    evbtest.check(not wrong, "\n".join(wrong))


if __name__ == "__main__":
    evbtest.main()
