// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The descriptors that this process has open. DPDK does not report those of its drivers; they are
// the descriptors that are open after the driver started and were not before. Control thread.
#pragma once

#include <stdbool.h>

struct descriptors {
	int *list;
	unsigned n;
};

// Lists what is open now. Returns 0, or -1 if /proc or memory is missing. An empty list of before
// (all zeros) is freed like any other.
int descriptors_list(struct descriptors *descriptors);

bool descriptors_has(const struct descriptors *descriptors, int descriptor);

void descriptors_free(struct descriptors *descriptors);
