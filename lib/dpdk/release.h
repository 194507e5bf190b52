// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The differences between the releases of DPDK that evb is built with: 22.11, 23.11 and 24.11.
// Where a function has changed between them, evb calls the one defined here. Sources: the headers
// and doc/guides/rel_notes of these releases; every change below came after 22.11 and before 23.11.
#pragma once

#include <pthread.h>
#include <stdint.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_telemetry.h>
#include <rte_thread.h>
#include <rte_version.h>

#define DPDK_IS_22_11 (RTE_VERSION < RTE_VERSION_NUM(23, 11, 0, 0))

// What the body of a thread returns: `return 0`.
#if DPDK_IS_22_11
typedef void *dpdk_thread_result;
#else
typedef uint32_t dpdk_thread_result;
#endif

// Starts a thread that runs on the CPUs that DPDK leaves to control threads. name: at most 15
// characters. The caller ends it with pthread_join(). Returns 0, or a negative errno.
static inline int dpdk_control_thread(pthread_t *thread, const char *name,
				      dpdk_thread_result (*body)(void *), void *argument)
{
#if DPDK_IS_22_11
	return rte_ctrl_thread_create(thread, name, NULL, body, argument);
#else
	rte_thread_t id = { 0 };
	int result = rte_thread_create_control(&id, name, body, argument);

	*thread = (pthread_t)id.opaque_id;
	return result;
#endif
}

// Adds an unsigned value to a dictionary of telemetry. Thread: the one that composes the response.
// Returns 0, or a negative errno if the dictionary is full or the key is too long or has wrong
// characters.
static inline int dpdk_add_uint(struct rte_tel_data *data, const char *key, uint64_t value)
{
#if DPDK_IS_22_11
	return rte_tel_data_add_dict_u64(data, key, value);
#else
	return rte_tel_data_add_dict_uint(data, key, value);
#endif
}

// For the files that allow what DPDK calls experimental, as pcapng was in 22.11.
#ifdef ALLOW_EXPERIMENTAL_API

#include <rte_pcapng.h>

// Copies a packet that a port received into a block of a pcapng file, with the present time.
// length: bytes to copy at most. Returns the copy, which the caller frees, or NULL if the pool is
// empty or the block does not fit into its mbufs.
static inline struct rte_mbuf *dpdk_pcapng_copy(uint16_t port_id, const struct rte_mbuf *packet,
						struct rte_mempool *pool, uint32_t length)
{
#if DPDK_IS_22_11
	return rte_pcapng_copy(port_id, 0, packet, pool, length, rte_get_tsc_cycles(),
			       RTE_PCAPNG_DIRECTION_IN);
#else
	return rte_pcapng_copy(port_id, 0, packet, pool, length, RTE_PCAPNG_DIRECTION_IN, NULL);
#endif
}

// Prepares a pcapng file for the packets of a port, before the first of them is copied.
// pool_of_port and pool_of_copies: one packet of each is allocated and freed.
//
// 22.11 wrote the blocks of all ports when it opened the file. It relates the TSC to the time of
// day when it converts the first timestamp, and cannot convert earlier timestamps correctly: a
// dummy packet with a later timestamp is converted first. Later releases have one block to be added
// per port, and relate the clocks when they open the file.
//
// Returns 0, or -1 if the file cannot be written.
static inline int dpdk_pcapng_begin(rte_pcapng_t *file, uint16_t port_id,
				    struct rte_mempool *pool_of_port,
				    struct rte_mempool *pool_of_copies)
{
#if DPDK_IS_22_11
	struct rte_mbuf *dummy = rte_pktmbuf_alloc(pool_of_port);

	RTE_SET_USED(file);
	if (dummy == NULL)
		return 0;
	rte_pktmbuf_free(rte_pcapng_copy(port_id, 0, dummy, pool_of_copies, 0,
					 rte_get_tsc_cycles() + rte_get_tsc_hz(),
					 RTE_PCAPNG_DIRECTION_IN));
	rte_pktmbuf_free(dummy);
	return 0;
#else
	RTE_SET_USED(pool_of_port);
	RTE_SET_USED(pool_of_copies);
	return rte_pcapng_add_interface(file, port_id, NULL, NULL, NULL) < 0 ? -1 : 0;
#endif
}

#endif
