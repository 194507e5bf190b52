// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Internal to the steering: xdp.c attaches and detaches the program, xdp_maps.c reads and writes
// its maps.
#pragma once

#include <net/if.h>
#include <pthread.h>

#include "port/descriptors.h"
#include "port/xdp.h"

struct bpf_link;
struct evb_steer;

struct xdp {
	char port[EVB_NAME_SIZE];
	char interface[IF_NAMESIZE];
	int index; // of the interface
	int object_file;
	char object_path[32];
	struct descriptors before; // descriptors that were open before the driver opened its own
	int sockets[STEER_MAX_QUEUES];
	unsigned n_sockets;
	int driver_map; // the driver's xsks_map, which the driver closes; -1: not found yet
	struct evb_steer *program;
	struct bpf_link *link;
	char report[XDP_REPORT_SIZE];

	// Descriptors of the maps, -1 before xdp_steer().
	int settings_map, sources_map, addresses_map, causes_map, strangers_map;
	unsigned n_cpus;
	pthread_mutex_t lock; // protects the next two, which several threads may change
	struct steer_settings settings;
	unsigned n_addresses;
};

// Writes settings and sources into the maps of the loaded program. Returns 0, or a negative errno.
int xdp_maps_fill(struct xdp *xdp, const struct xdp_rules *rules);
