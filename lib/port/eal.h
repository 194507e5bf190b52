// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Starts DPDK's environment abstraction layer (EAL). All its arguments are derived from the plan;
// users never pass EAL arguments. Control thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/memory_kind.h"

#define EAL_ERROR_SIZE    2048
#define EAL_MAX_ARGUMENTS 64
#define EAL_DEVICE_SIZE   512 // of a PCI device with its arguments

struct eal_parameters {
	const char *name;     // of the appliance; DPDK's runtime directory is called "evb-NAME"
	const uint32_t *cpus; // of the worker lcores, in order; the control thread uses the first
	unsigned n_cpus;
	uint64_t memory; // bytes that packet pools, rings and roles need
	enum memory_kind kind;
	const char *const
	    *pci; // PCI devices that the EAL may probe (port_pci_device()); none: no PCI bus
	unsigned n_pci;
};

struct eal_state {
	bool hugepages;
	char arguments[1024]; // as given to the EAL, for the log
};

// Starts the EAL. It uses ordinary memory if there are no hugepages, or, with kind `auto`, too few.
// Returns 0, or -1 with one line in error[EAL_ERROR_SIZE].
int eal_start(const struct eal_parameters *parameters, struct eal_state *state, char *error);

// Bytes of free hugepages of all sizes on a NUMA node, or on all nodes if it is negative.
uint64_t eal_free_hugepages(int numa_node);

// The value that nr_hugepages (2 MiB) of a NUMA node must have so that `missing` more bytes are
// free.
uint64_t eal_hugepages_to_reserve(int numa_node, uint64_t missing);

// Bytes that the EAL needs for objects of `bytes` bytes, with the headers and alignment of its
// allocator.
uint64_t eal_memory(uint64_t bytes);

// Ends the EAL; does nothing if it was not started.
void eal_stop(void);
