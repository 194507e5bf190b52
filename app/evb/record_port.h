// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// `evb record --pcap FILE`: captures the packets that a port receives.
#pragma once

#include <stdbool.h>

// Whether the arguments have the option --pcap.
bool record_port_is_asked(int argc, char **argv);

// As a subcommand; see cmd.h.
int record_port(int argc, char **argv);
