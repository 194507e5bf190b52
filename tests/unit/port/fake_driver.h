// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Does with an interface what DPDK's af_xdp driver does: loads the object file that it is given,
// attaches the program that it finds, and puts sockets into the map xsks_map.
#pragma once

#include <bpf/libbpf.h>

struct fake_driver {
	struct bpf_object *object;
	int index;  // of the interface
	int socket; // AF_XDP, of queue 0
};

// Fails the test if a step does.
void fake_driver_open(struct fake_driver *driver, const char *path, int index);

// Without a socket, packets of the queue have nowhere to go.
void fake_driver_remove_socket(const struct fake_driver *driver);
void fake_driver_insert_socket(const struct fake_driver *driver);

void fake_driver_close(struct fake_driver *driver);
