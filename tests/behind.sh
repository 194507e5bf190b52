#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command on the CPU time that other sessions leave: tests/behind.sh COMMAND [ARGUMENT...]
# Linux shares CPUs among sessions first, each of which counts as much as any other, and among the
# processes of a session by their nice values afterwards (sched(7), "The autogroup feature"). So a nice
# value alone leaves a command that has a session of its own, as each test of meson has, its full share.
echo 10 2>/dev/null >/proc/self/autogroup
exec nice -n 10 "$@"
