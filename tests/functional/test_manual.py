# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""The manual's commands do what the manual says."""

import evbtest


def test_manual():
    evbtest.skip("no page has commands to run")


if __name__ == "__main__":
    evbtest.main()
