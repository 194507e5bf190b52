// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The largest sizes that evb supports. The configuration is checked against them, and the reference
// of the keys in the manual states them. Arrays have these sizes, except those by node of a system,
// which have the size that the configuration needs.
#pragma once

#define EVB_NAME_SIZE 32  // bytes of a name with the closing 0; names are [A-Za-z0-9_-]
#define EVB_PATH_SIZE 256 // bytes of a path with the closing 0

// of one appliance
#define EVB_MAX_PORTS      16
#define EVB_MAX_BUILDERS   64
#define EVB_MAX_GENERATORS 16
#define EVB_MAX_WRITERS    16
#define EVB_MAX_RESULTS    4
#define EVB_MAX_GROUPS     8 // of consumers
#define EVB_MAX_DECIDERS   4 // groups of consumers that decide
#define EVB_MAX_CPUS       64
#define EVB_MAX_ROLES      64 // on one lcore

// of a run
#define EVB_MAX_SOURCES 4096

// of a system of nodes
#define EVB_MAX_NODES           1024
#define EVB_MAX_MANAGERS        3    // nodes that can be the event manager
#define EVB_MAX_SYSTEM_BUILDERS 1024 // of all nodes together
