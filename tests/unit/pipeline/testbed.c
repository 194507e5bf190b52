// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "testbed.h"

#include <dlfcn.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "packet/segment_mbuf.h"
#include "wire/ejfat.h"
#include "wire/net.h"

const uint8_t frame_source_mac[6] = { 2, 0, 0, 0, 0, 1 };

static char directory[64];

const char *testbed_directory(void)
{
	return directory;
}

static unsigned first_allowed_cpu(void)
{
	unsigned cpu = 0;
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return 0;
	while (cpu + 1 < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed))
		cpu++;
	return cpu;
}

// Replaces the C library's function for DPDK, too: rte_eal_init() loads all drivers that are
// installed, 190 libraries, if it finds itself as a shared library. Tests need few of them.
void *dlopen(const char *file, int mode)
{
	void *(*next)(const char *, int);

	if (file != NULL && (mode & RTLD_NOLOAD) != 0 && strstr(file, "librte_eal") != NULL)
		return NULL;
	*(void **)&next = dlsym(RTLD_NEXT, "dlopen");
	return next(file, mode);
}

static int start_eal(void)
{
	char arguments[][40] = {
		"testbed",
		"--no-huge",
		"--no-shconf",
		"--no-pci",
		"--no-telemetry",
		"--iova-mode=va",
		"-m",
		"128",
		"--lcores",
		"0@N",
		"--log-level",
		"*:critical",
		"--file-prefix",
		"PREFIX",
		"-d",
		"librte_mempool_ring.so",
		"-d",
		"librte_net_null.so",
		"-d",
		"librte_net_pcap.so",
		"-d",
		"librte_net_ring.so",
	};
	char *pointers[RTE_DIM(arguments) + 1] = { NULL };

	snprintf(arguments[9], sizeof(arguments[9]), "0@%u", first_allowed_cpu());
	snprintf(arguments[13], sizeof(arguments[13]), "testbed-%d", (int)getpid());
	for (unsigned i = 0; i < RTE_DIM(arguments); i++)
		pointers[i] = arguments[i];
	return rte_eal_init(RTE_DIM(arguments), pointers);
}

int testbed_start(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(directory, sizeof(directory), "%s/pipeline.XXXXXX",
		 parent != NULL && strlen(parent) < 40 ? parent : "/tmp");
	if (mkdtemp(directory) == NULL || setenv("RUNTIME_DIRECTORY", directory, 1) != 0)
		return -1;
	return start_eal() < 0 ? -1 : 0;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *place)
{
	(void)status;
	(void)flag;
	(void)place;
	return remove(path);
}

int testbed_stop(void **state)
{
	(void)state;
	if (rte_eal_cleanup() != 0)
		return -1;
	return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

struct config *testbed_config(const char *text)
{
	char error[CONFIG_ERROR_SIZE];
	struct config *config;

	if (config_parse(&config, text, strlen(text), "testbed", NULL, NULL, 0, error) != 0)
		fail_msg("%s", error);
	return config;
}

void testbed_open_port(struct testbed_port *port, const struct port_settings *config,
		       uint16_t n_rx_queues, uint16_t n_tx_queues)
{
	struct port_parameters parameters = {
		.config = config,
		.profile = &port->profile,
		.n_rx_queues = n_rx_queues,
		.n_tx_queues = n_tx_queues,
		.pool_mbufs = 64,
	};
	char error[PORT_ERROR_SIZE];

	if (profile_load(&port->profile, config, error) != 0)
		fail_msg("%s", error);
	if (port_open(&port->port, &parameters, error) != 0)
		fail_msg("%s", error);
}

struct rte_mempool *testbed_pool(const char *name, uint32_t n, uint32_t room)
{
	struct rte_mempool *pool = port_pool_create(name, n, 0, room, 0);

	assert_non_null(pool);
	return pool;
}

static void append(struct frame *frame, const void *bytes, uint32_t size)
{
	assert_true(frame->length + size <= sizeof(frame->bytes));
	memcpy(frame->bytes + frame->length, bytes, size);
	frame->length += size;
}

static void append_segment(struct frame *frame, const struct frame_segment *segment)
{
	struct ejfat_re re = {
		.event_number = segment->event_id,
		.offset = segment->offset,
		.length = segment->length,
		.data_id = segment->source_id,
	};
	struct ejfat_lb lb = { .tick = segment->event_id, .version = 2 };
	uint8_t header[EJFAT_LB_SIZE + EJFAT_RE_SIZE];

	if (segment->load_balancer_header) {
		ejfat_lb_encode(header, &lb);
		append(frame, header, EJFAT_LB_SIZE);
	}
	ejfat_re_encode(header, &re);
	append(frame, header, EJFAT_RE_SIZE);
	append(frame, segment->bytes, segment->size);
}

void frame_udp(struct frame *frame, const struct frame_segment *segment)
{
	struct net_udp4 udp = {
		.source_ip = FRAME_SOURCE_IP,
		.destination_ip = FRAME_DESTINATION_IP,
		.source_port = 1234,
		.destination_port = segment->port != 0 ? segment->port : 19522,
		.vlan_tci = segment->vlan_tci,
	};
	uint32_t headers = EJFAT_RE_SIZE + (segment->load_balancer_header ? EJFAT_LB_SIZE : 0);

	memcpy(udp.source_mac.bytes, frame_source_mac, 6);
	frame->length =
	    (uint32_t)net_udp4_encode(frame->bytes, &udp, (uint16_t)(headers + segment->size));
	append_segment(frame, segment);
}

void frame_ethernet(struct frame *frame, const struct frame_segment *segment)
{
	struct net_mac mac;

	memcpy(mac.bytes, frame_source_mac, 6);
	frame->length =
	    (uint32_t)net_eth_encode(frame->bytes, &mac, &mac, segment->vlan_tci, NET_TYPE_EVB);
	append_segment(frame, segment);
}

void frame_set_udp_checksum(struct frame *frame)
{
	struct net_frame parsed;
	uint32_t sum;

	assert_int_equal(net_parse(frame->bytes, frame->length, frame->length, 0, &parsed), 0);
	store_be16(frame->bytes + parsed.l4_offset + 6, 0);
	sum = net_checksum_add(net_udp_pseudo_sum(frame->bytes, &parsed),
			       frame->bytes + parsed.l4_offset, NET_UDP_SIZE + parsed.payload_size);
	store_be16(frame->bytes + parsed.l4_offset + 6, net_checksum_fold(sum));
}

void frame_from_hex(struct frame *frame, const char *text)
{
	unsigned value;

	for (frame->length = 0; sscanf(text, "%2x", &value) == 1; text += 2)
		frame->bytes[frame->length++] = (uint8_t)value;
}

struct rte_mbuf *frame_to_mbuf(const struct frame *frame, struct rte_mempool *pool, uint32_t piece)
{
	struct rte_mbuf *first = NULL;

	for (uint32_t at = 0; at < frame->length; at += piece) {
		uint32_t size = RTE_MIN(piece, frame->length - at);
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
		char *to;

		assert_non_null(mbuf);
		to = rte_pktmbuf_append(mbuf, (uint16_t)size);
		assert_non_null(to);
		memcpy(to, frame->bytes + at, size);
		if (first == NULL)
			first = mbuf;
		else
			assert_int_equal(rte_pktmbuf_chain(first, mbuf), 0);
	}
	return first;
}

void frame_send(const struct frame *frame, struct rte_mempool *pool, uint32_t piece, uint16_t port,
		uint16_t queue)
{
	struct rte_mbuf *mbuf = frame_to_mbuf(frame, pool, piece);

	assert_int_equal(rte_eth_tx_burst(port, queue, &mbuf, 1), 1);
}

unsigned role_poll(struct role *role, uint64_t now)
{
	role->backpressured = false;
	return role->operations->poll(role, now);
}
