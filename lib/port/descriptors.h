// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Lists the open file descriptors of this process. DPDK does not report the descriptors of its
// drivers; evb finds them by comparing the lists before and after a driver is started. Control
// thread.
#pragma once

#include <stdbool.h>

struct descriptors {
	int *list;
	unsigned n;
};

// Lists the descriptors that are open now. Returns 0, or -1 if /proc is not mounted or memory ran
// out. A list of all zeros is empty; descriptors_free() accepts it.
int descriptors_list(struct descriptors *descriptors);

bool descriptors_has(const struct descriptors *descriptors, int descriptor);

void descriptors_free(struct descriptors *descriptors);
