// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/port_capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pcapng.h>

#include "dpdk/release.h"
#include "port/eal.h"
#include "port/port.h"

#define BURST      32
#define IDLE_US    50
#define POOL_CACHE 256u
#define SPARE      1024u // mbufs in addition to the descriptors

struct capturing {
	const struct port_capture_parameters *parameters;
	struct port_capture_counters *counters;
	struct profile profile;
	struct port port;
	struct rte_mempool *copies; // mbufs for packets in their pcapng blocks
	rte_pcapng_t *file;
	uint64_t end_tsc; // 0: no limit
};

static int fail(char *error, const char *what, const char *why)
{
	snprintf(error, PORT_CAPTURE_ERROR_SIZE, "%s: %s", what, why);
	return -1;
}

static int open_port(struct capturing *capturing, char *error)
{
	const struct port_settings *config = capturing->parameters->port;
	uint32_t mbufs = capturing->profile.rx_descriptors + SPARE;
	uint32_t buffer = port_buffer_size(&capturing->profile, config->mtu);
	uint32_t copy = rte_pcapng_mbuf_size(buffer);
	struct port_parameters port = {
		.config = config,
		.profile = &capturing->profile,
		.n_rx_queues = 1,
		.n_tx_queues = 1,
		.pool_mbufs = mbufs,
		.pool_cache = POOL_CACHE,
	};
	const uint32_t cpu = 0;
	struct eal_parameters eal = {
		.name = config->name,
		.cpus = &cpu,
		.n_cpus = 0,
		.memory = port_pool_bytes(mbufs, buffer) + port_pool_bytes(SPARE, copy),
		.kind = MEMORY_AUTO,
	};
	struct eal_state state;

	if (eal_start(&eal, &state, error) != 0)
		return -1;
	if (port_open(&capturing->port, &port, error) != 0)
		return -1;
	capturing->copies =
	    port_pool_create("copies", SPARE, POOL_CACHE, copy, capturing->port.numa_node);
	return capturing->copies != NULL ? 0 : fail(error, "copies", "no memory for packets");
}

static int open_file(struct capturing *capturing, const char *path, char *error)
{
	const struct port_capture_parameters *p = capturing->parameters;
	char comment[2 * EVB_PATH_SIZE + 128];
	struct utsname system = { 0 };
	int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (descriptor < 0)
		return fail(error, path, strerror(errno));
	(void)uname(&system); // if it fails, the file lacks the system's name
	snprintf(comment, sizeof(comment), "captured at port %s (%s %s)", p->port->name,
		 p->port->profile, p->port->device);
	capturing->file =
	    rte_pcapng_fdopen(descriptor, system.release, system.machine, "evb", comment);
	if (capturing->file == NULL) {
		close(descriptor);
		return fail(error, path, "pcapng headers cannot be written");
	}
	if (dpdk_pcapng_begin(capturing->file, capturing->port.id, capturing->port.pool,
			      capturing->copies) != 0) {
		rte_pcapng_close(capturing->file);
		return fail(error, path, "pcapng headers cannot be written");
	}
	return 0;
}

static bool is_over(const struct capturing *capturing)
{
	const struct port_capture_parameters *p = capturing->parameters;

	return *p->stop != 0 || (p->packets > 0 && capturing->counters->packets >= p->packets) ||
	       (p->limit_bytes > 0 && capturing->counters->bytes >= p->limit_bytes) ||
	       (capturing->end_tsc != 0 && rte_rdtsc() >= capturing->end_tsc);
}

static int write_burst(struct capturing *capturing, struct rte_mbuf **mbufs, unsigned n,
		       const char *path, char *error)
{
	struct rte_mbuf *copies[BURST];
	uint64_t wanted = capturing->parameters->packets;
	unsigned n_copies = 0;
	ssize_t written;

	for (unsigned i = 0; i < n; i++) {
		if (wanted > 0 && capturing->counters->packets + n_copies >= wanted)
			break;
		copies[n_copies] =
		    dpdk_pcapng_copy(capturing->port.id, mbufs[i], capturing->copies, UINT32_MAX);
		if (copies[n_copies] == NULL) {
			capturing->counters->missed++;
			continue;
		}
		capturing->counters->bytes += rte_pktmbuf_pkt_len(mbufs[i]);
		n_copies++;
	}
	written = rte_pcapng_write_packets(capturing->file, copies, (uint16_t)n_copies);
	rte_pktmbuf_free_bulk(copies, n_copies);
	if (written < 0)
		return fail(error, path, strerror(errno));
	capturing->counters->packets += n_copies;
	return 0;
}

static int capture(struct capturing *capturing, const char *path, char *error)
{
	struct rte_mbuf *mbufs[BURST];
	int result = 0;

	while (result == 0 && !is_over(capturing)) {
		uint16_t n = rte_eth_rx_burst(capturing->port.id, 0, mbufs, BURST);

		if (n == 0) {
			rte_delay_us_sleep(IDLE_US);
			continue;
		}
		result = write_burst(capturing, mbufs, n, path, error);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	return result;
}

int port_capture(const struct port_capture_parameters *parameters,
		 struct port_capture_counters *counters, char *error)
{
	struct capturing capturing = { .parameters = parameters, .counters = counters };
	char part[EVB_PATH_SIZE + 8];
	int result;

	snprintf(part, sizeof(part), "%s.part", parameters->path);
	if (profile_load(&capturing.profile, parameters->port, error) != 0)
		return -1;
	capturing.port.id = RTE_MAX_ETHPORTS;
	result = open_port(&capturing, error);
	if (result == 0)
		result = open_file(&capturing, part, error);
	if (result == 0) {
		if (parameters->duration_ns > 0)
			capturing.end_tsc =
			    rte_rdtsc() + (uint64_t)((double)parameters->duration_ns * 1e-9 *
						     (double)rte_get_tsc_hz());
		result = capture(&capturing, part, error);
		counters->missed += port_missed(&capturing.port);
		rte_pcapng_close(capturing.file);
		if (result == 0 && rename(part, parameters->path) != 0)
			result = fail(error, parameters->path, strerror(errno));
	}
	rte_mempool_free(capturing.copies);
	port_close(&capturing.port);
	eal_stop();
	return result;
}
