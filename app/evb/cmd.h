// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The subcommands of evb: they parse arguments and print; lib/ does the work. argv[0] is the name
// of the subcommand. Each returns the exit status: 0 done, 1 refused or failed, 2 losses.
#pragma once

#include <stdbool.h>

int cmd_check(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_ctl(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_gen(int argc, char **argv);
int cmd_host(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_replay(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_sim(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_take(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_web(int argc, char **argv);

// `evb record --pcap FILE`: captures the packets that a port receives.
int record_port(int argc, char **argv);
// Whether the arguments have the option --pcap.
bool record_port_is_asked(int argc, char **argv);
