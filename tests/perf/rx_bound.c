// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How fast a driver hands packets over if nothing is done with them.
//
//   rx_bound --profile NAME [--device NAME] [--option NAME=VALUE] [--mtu BYTES] [--cpu N]
//            [--seconds S] [--warmup S]
//
// With profile `ring` it sends its own packets round; with `null` the driver makes them up; with
// all others somebody else sends, and the time counts from the first packet on, after the warm-up.
// It prints "ready" when the port is up, and the result in the end.
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_mbuf.h>

#include "frames.h"
#include "perf_tool.h"
#include "pipeline/role.h"
#include "port/port.h"

#define POOL_MBUFS    16384u
#define POOL_CACHE    256u
#define ROUND_PACKETS 1024u // that go round on a ring port
#define WAIT_SECONDS  20    // for the first packet
#define CHECK_POLLS   64u   // between two looks at the clock

struct receiver {
	struct port port;
	bool returns; // packets go back to where they came from
	double seconds, warmup;
	uint64_t packets, bytes, ns, empty_polls, polls;
	bool silent; // nothing came
};

static void fill_round(struct receiver *receiver, uint32_t mtu)
{
	struct rte_mbuf *mbuf;

	for (unsigned i = 0; i < ROUND_PACKETS; i++) {
		mbuf = rte_pktmbuf_alloc(receiver->port.pool);
		if (mbuf == NULL || rte_pktmbuf_append(mbuf, (uint16_t)mtu) == NULL ||
		    rte_eth_tx_burst(receiver->port.id, 0, &mbuf, 1) != 1)
			perf_fail("packet %u of %u does not go on the ring", i, ROUND_PACKETS);
	}
}

// Takes one burst; returns how many packets it had.
static unsigned receive(struct receiver *receiver, uint64_t *bytes)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	unsigned n = rte_eth_rx_burst(receiver->port.id, 0, mbufs, ROLE_BURST);

	for (unsigned i = 0; i < n; i++)
		*bytes += rte_pktmbuf_pkt_len(mbufs[i]);
	if (n > 0 && receiver->returns) {
		unsigned sent = rte_eth_tx_burst(receiver->port.id, 0, mbufs, (uint16_t)n);

		rte_pktmbuf_free_bulk(mbufs + sent, n - sent);
	} else if (n > 0) {
		rte_pktmbuf_free_bulk(mbufs, n);
	}
	return n;
}

static bool wait_for_packets(struct receiver *receiver)
{
	uint64_t end = perf_now_ns() + WAIT_SECONDS * 1000000000ull, bytes = 0;

	while (receive(receiver, &bytes) == 0)
		if (perf_now_ns() > end)
			return false;
	end = perf_now_ns() + (uint64_t)(receiver->warmup * 1e9);
	while (perf_now_ns() < end)
		receive(receiver, &bytes);
	return true;
}

static int run(void *argument)
{
	struct receiver *receiver = argument;
	uint64_t packets = 0, bytes = 0, polls = 0, empty_polls = 0, start, end;

	if (!wait_for_packets(receiver)) {
		receiver->silent = true;
		return 0;
	}
	start = perf_now_ns();
	end = start + (uint64_t)(receiver->seconds * 1e9);
	while (polls % CHECK_POLLS != 0 || perf_now_ns() < end) {
		unsigned n = receive(receiver, &bytes);

		packets += n;
		polls++;
		empty_polls += n == 0;
	}
	receiver->ns = perf_now_ns() - start;
	receiver->packets = packets;
	receiver->bytes = bytes;
	receiver->polls = polls;
	receiver->empty_polls = empty_polls;
	return 0;
}

// What an AF_XDP port takes: segments of the senders among the tools.
static const struct port_traffic *event_traffic(void)
{
	static uint16_t ids[EVB_MAX_SOURCES];
	static const struct port_traffic traffic = {
		.ranges = { { .first = FRAME_PORT, .count = 1, .segments = true } },
		.n_ranges = 1,
		.ids = ids,
		.n_ids = EVB_MAX_SOURCES,
	};

	for (unsigned i = 0; i < EVB_MAX_SOURCES; i++)
		ids[i] = (uint16_t)(1 + i);
	return &traffic;
}

static void open_port(struct receiver *receiver, const struct port_settings *config)
{
	static struct profile profile;
	struct port_parameters parameters = {
		.config = config,
		.profile = &profile,
		.traffic = event_traffic(),
		.n_rx_queues = 1,
		.n_tx_queues = 1,
		.pool_mbufs = POOL_MBUFS,
		.pool_cache = POOL_CACHE,
	};
	char error[PORT_ERROR_SIZE];

	if (profile_load(&profile, config, error) != 0 ||
	    port_open(&receiver->port, &parameters, error) != 0)
		perf_fail("%s", error);
	if (receiver->returns)
		fill_round(receiver, config->mtu);
}

static void print_result(const struct receiver *receiver, bool hugepages)
{
	double measured = (double)receiver->ns * 1e-9;
	cJSON *result = cJSON_CreateObject();
	struct rte_eth_stats stats = { 0 };

	// What the driver does not tell stays 0.
	(void)rte_eth_stats_get(receiver->port.id, &stats);
	cJSON_AddBoolToObject(result, "hugepages", hugepages);
	cJSON_AddNumberToObject(result, "packets_per_second", (double)receiver->packets / measured);
	cJSON_AddNumberToObject(result, "bytes_per_second", (double)receiver->bytes / measured);
	cJSON_AddNumberToObject(result, "empty_polls",
				(double)receiver->empty_polls / (double)receiver->polls);
	cJSON_AddNumberToObject(result, "missed", (double)(stats.imissed + stats.rx_nombuf));
	perf_print(result);
}

static void set_option(struct port_settings *config, const char *text)
{
	struct port_option *option = &config->options[config->n_options++];
	const char *equals = strchr(text, '=');

	if (equals == NULL || config->n_options == PORT_MAX_OPTIONS)
		perf_fail("--option: \"%s\" is not NAME=VALUE", text);
	snprintf(option->name, sizeof(option->name), "%.*s", (int)(equals - text), text);
	snprintf(option->value, sizeof(option->value), "%s", equals + 1);
}

static void parse(int argc, char **argv, struct port_settings *config, struct receiver *receiver,
		  struct perf_list *cpus)
{
	static const struct option options[] = {
		{ "cpu", required_argument, NULL, 'c' },
		{ "device", required_argument, NULL, 'd' },
		{ "mtu", required_argument, NULL, 'm' },
		{ "option", required_argument, NULL, 'o' },
		{ "profile", required_argument, NULL, 'p' },
		{ "seconds", required_argument, NULL, 's' },
		{ "warmup", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'c')
			*cpus = perf_parse_list("cpu", optarg);
		else if (option == 'd')
			snprintf(config->device, sizeof(config->device), "%s", optarg);
		else if (option == 'm')
			config->mtu = (uint32_t)perf_parse_number("mtu", optarg, 64);
		else if (option == 'o')
			set_option(config, optarg);
		else if (option == 'p')
			snprintf(config->profile, sizeof(config->profile), "%s", optarg);
		else if (option == 's')
			receiver->seconds = perf_parse_number("seconds", optarg, 1e-3);
		else if (option == 'w')
			receiver->warmup = perf_parse_number("warmup", optarg, 0);
		else
			perf_fail("usage: rx_bound --profile NAME [OPTION...]");
	}
}

int main(int argc, char **argv)
{
	static struct receiver receiver = { .seconds = 0.3, .warmup = 0.05 };
	static struct port_settings config = { .name = "wire", .profile = "ring", .mtu = 9000 };
	struct perf_list cpus = { .n = 1 };
	bool hugepages;

	parse(argc, argv, &config, &receiver, &cpus);
	cpus.n = 1;
	receiver.returns = strcmp(config.profile, "ring") == 0;
	hugepages = perf_start_eal(&cpus, port_pool_bytes(POOL_MBUFS, RTE_MAX(config.mtu, 10240u)));
	open_port(&receiver, &config);
	puts("ready");
	fflush(stdout);
	if (rte_eal_remote_launch(run, &receiver, 1) != 0)
		perf_fail("the lcore does not start");
	perf_wait_workers();
	if (receiver.silent)
		perf_fail("no packet came in %d s", WAIT_SECONDS);
	print_result(&receiver, hugepages);
	port_close(&receiver.port);
	return 0;
}
