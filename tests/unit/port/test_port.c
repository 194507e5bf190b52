// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "testbed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_interrupts.h>

// A configuration with one port, of which `keys` are further keys.
static struct config *with_port(const char *keys)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "{\"ports\": [{\"name\": \"wire\", \"link_timeout\": \"10ms\", %s}],"
		 "\"sources\": {\"ids\": [1]}, \"builders\": [{\"name\": \"b\"}]}",
		 keys);
	return testbed_config(text);
}

static int try(struct testbed_port *port, const struct config *config, uint16_t n_rx, uint16_t n_tx,
	       char *error)
{
	struct port_parameters parameters = {
		.config = &config->ports[0],
		.profile = &port->profile,
		.n_rx_queues = n_rx,
		.n_tx_queues = n_tx,
		.pool_mbufs = 64,
	};

	assert_int_equal(profile_load(&port->profile, &config->ports[0], error), 0);
	return port_open(&port->port, &parameters, error);
}

static void assert_refused(const char *keys, uint16_t n_rx, uint16_t n_tx, const char *expected)
{
	struct config *config = with_port(keys);
	char error[PORT_ERROR_SIZE];
	struct testbed_port port;

	assert_int_equal(try(&port, config, n_rx, n_tx, error), -1);
	assert_string_equal(error, expected);
	port_close(&port.port);
	config_free(config);
}

static void open_and_close(const char *keys)
{
	struct config *config = with_port(keys);
	struct testbed_port port;

	testbed_open_port(&port, &config->ports[0], 1, 1);
	assert_non_null(port.port.pool);
	port_close(&port.port);
	assert_null(port.port.pool);
	port_close(&port.port); // does nothing
	config_free(config);
}

static int note_thread(uint16_t id, enum rte_eth_event_type event, void *on_interrupt_thread,
		       void *result)
{
	(void)id;
	(void)event;
	(void)result;
	*(bool *)on_interrupt_thread = rte_thread_is_intr();
	return 0;
}

static bool closed_on_interrupt_thread(bool demanded)
{
	struct config *config = with_port("\"profile\": \"ring\"");
	struct testbed_port port;
	bool found = !demanded;

	testbed_open_port(&port, &config->ports[0], 1, 1);
	port.profile.close_on_interrupt_thread = demanded;
	assert_int_equal(
	    rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY, note_thread, &found),
	    0);
	port_close(&port.port);
	assert_int_equal(rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_DESTROY,
							 note_thread, &found),
			 0);
	config_free(config);
	return found;
}

// The driver of a memif frees its connection on the interrupt thread when the peer ends.
static void close__on_the_thread_that_the_driver_needs(void **state)
{
	struct config *config = with_port("\"profile\": \"memif\", \"device\": \"/tmp/s\"");
	char error[PORT_ERROR_SIZE];
	struct profile profile;

	(void)state;
	assert_true(closed_on_interrupt_thread(true));
	assert_false(closed_on_interrupt_thread(false));
	assert_int_equal(profile_load(&profile, &config->ports[0], error), 0);
	assert_true(profile.close_on_interrupt_thread);
	config_free(config);
}

static void ring__passes_from_tx_to_rx_queues(void **state)
{
	struct config *config = with_port("\"profile\": \"ring\", \"rx_queues\": 2, "
					  "\"rx_descriptors\": 64");
	struct rte_mempool *pool = testbed_pool("ring", 255, 256);
	struct rte_mbuf *sent[4], *received[4];
	struct testbed_port port;

	(void)state;
	testbed_open_port(&port, &config->ports[0], 2, 4);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, sent, 4), 0);
	for (uint16_t q = 0; q < 4; q++)
		assert_int_equal(rte_eth_tx_burst(port.port.id, q, &sent[q], 1), 1);
	for (uint16_t q = 0; q < 2; q++) {
		assert_int_equal(rte_eth_rx_burst(port.port.id, q, received, 4), 2);
		assert_ptr_equal(received[0], sent[q]);
		assert_ptr_equal(received[1], sent[q + 2]);
	}
	rte_pktmbuf_free_bulk(sent, 4);
	port_close(&port.port);
	rte_mempool_free(pool);
	config_free(config);
}

static void ring__holds_as_many_as_configured(void **state)
{
	struct config *config = with_port("\"profile\": \"ring\", \"rx_descriptors\": 64");
	struct rte_mempool *pool = testbed_pool("depth", 255, 256);
	struct rte_mbuf *mbufs[70];
	struct testbed_port port;

	(void)state;
	testbed_open_port(&port, &config->ports[0], 1, 1);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, 70), 0);
	assert_int_equal(rte_eth_tx_burst(port.port.id, 0, mbufs, 70), 64);
	rte_pktmbuf_free_bulk(mbufs + 64, 6);
	// What is left in it goes back to its pool.
	port_close(&port.port);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
	config_free(config);
}

static void ring__names_may_begin_alike(void **state)
{
	struct config *config =
	    testbed_config("{\"ports\": [{\"name\": \"data-network-one\", \"profile\": \"ring\"},"
			   "{\"name\": \"data-network-two\", \"profile\": \"ring\"}],"
			   "\"sources\": {\"ids\": [1]}, \"builders\": [{\"name\": \"b\"}]}");
	struct testbed_port ports[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		testbed_open_port(&ports[i], &config->ports[i], 1, 1);
	assert_int_not_equal(ports[0].port.id, ports[1].port.id);
	for (unsigned i = 0; i < 2; i++)
		port_close(&ports[i].port);
	config_free(config);
}

static void port__can_be_opened_again(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		open_and_close("\"profile\": \"ring\"");
		open_and_close("\"profile\": \"null\", \"mtu\": 9000");
	}
}

static void pool__lowest_is_remembered(void **state)
{
	struct config *config = with_port("\"profile\": \"ring\"");
	struct rte_mbuf *taken[10];
	struct testbed_port port;
	unsigned all;

	(void)state;
	testbed_open_port(&port, &config->ports[0], 1, 1);
	all = port.port.pool->size;
	port_watch(&port.port);
	assert_int_equal(port.port.pool_lowest, all);
	assert_int_equal(rte_pktmbuf_alloc_bulk(port.port.pool, taken, 10), 0);
	port_watch(&port.port);
	rte_pktmbuf_free_bulk(taken, 10);
	port_watch(&port.port);
	assert_int_equal(port.port.pool_lowest, all - 10);
	port_close(&port.port);
	config_free(config);
}

static void port__has_the_configured_mac(void **state)
{
	struct config *config = with_port("\"profile\": \"null\", \"mac\": \"02:00:00:00:12:34\"");
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0x12, 0x34 };
	struct testbed_port port;

	(void)state;
	testbed_open_port(&port, &config->ports[0], 1, 1);
	assert_memory_equal(port.port.mac, mac, 6);
	assert_false(port.port.checksums_in_hardware);
	port_close(&port.port);
	config_free(config);
}

static void pcap__receives_a_capture(void **state)
{
	// pcap of the tests' own: file header, one packet of 60 bytes.
	static const uint8_t header[24] = { 0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0,
					    0,    0,    0,    0,    0, 0, 1, 0, 1, 0, 0, 0 };
	static const uint8_t record[16] = { 1, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0, 60, 0, 0, 0 };
	static const uint8_t packet[60] = { 1, 2, 3 };
	char path[128], keys[256];
	struct testbed_port port;
	struct config *config;
	struct rte_mbuf *mbuf;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/one.pcap", testbed_directory());
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(header, 1, 24, file), 24);
	assert_int_equal(fwrite(record, 1, 16, file), 16);
	assert_int_equal(fwrite(packet, 1, 60, file), 60);
	assert_int_equal(fclose(file), 0);
	snprintf(keys, sizeof(keys), "\"profile\": \"pcap\", \"device\": \"%s\"", path);
	config = with_port(keys);
	testbed_open_port(&port, &config->ports[0], 1, 1);
	assert_int_equal(rte_eth_rx_burst(port.port.id, 0, &mbuf, 1), 1);
	assert_int_equal(mbuf->pkt_len, 60);
	assert_memory_equal(rte_pktmbuf_mtod(mbuf, const void *), packet, 60);
	rte_pktmbuf_free(mbuf);
	assert_int_equal(rte_eth_rx_burst(port.port.id, 0, &mbuf, 1), 0);
	port_close(&port.port);
	config_free(config);
	unlink(path);
}

static void refused__without_its_device(void **state)
{
	(void)state;
	assert_refused("\"profile\": \"pcap\"", 1, 1,
		       "port wire: device: profile pcap needs a device (its rx_pcap)");
	assert_refused("\"profile\": \"af_packet\", \"device\": \"no-such-if\"", 1, 1,
		       "port wire: there is no network interface \"no-such-if\" here: `ip link` "
		       "lists them (a container or namespace sees only its own)");
	assert_refused("\"profile\": \"ice\", \"device\": \"eth1\"", 1, 1,
		       "port wire: device: profile ice needs the PCI address of a card, such as "
		       "0000:3b:00.0, \"eth1\" is none: `dpdk-devbind.py --status` lists them");
	assert_refused("\"profile\": \"ice\", \"device\": \"0000:3b:00.0\"", 1, 1,
		       "port wire: no DPDK driver took PCI device 0000:3b:00.0: is it bound to "
		       "vfio-pci (dpdk-devbind.py --status)?");
	assert_refused("\"profile\": \"pcap\", \"device\": \"/nowhere/x.pcap\"", 1, 1,
		       "port wire: capture file /nowhere/x.pcap: No such file or directory");
}

static void pci__device_with_its_arguments(void **state)
{
	struct config *config =
	    with_port("\"profile\": \"i40e\", \"device\": \"0000:3b:00.1\", \"options\": "
		      "{\"queue-num-per-vf\": 4, \"support-multi-driver\": 0}");
	char error[PROFILE_ERROR_SIZE], text[128];
	struct profile profile;

	(void)state;
	assert_int_equal(profile_load(&profile, &config->ports[0], error), 0);
	port_pci_device(&profile, &config->ports[0], text, sizeof(text));
	assert_string_equal(text, "0000:3b:00.1,queue-num-per-vf=4,support-multi-driver=0");
	config->ports[0].n_options = 0;
	port_pci_device(&profile, &config->ports[0], text, sizeof(text));
	assert_string_equal(text, "0000:3b:00.1,support-multi-driver=1");
	profile.n_arguments = 0;
	port_pci_device(&profile, &config->ports[0], text, sizeof(text));
	assert_string_equal(text, "0000:3b:00.1");
	config_free(config);
}

static void refused__by_the_driver(void **state)
{
	(void)state;
	assert_refused("\"profile\": \"null\", \"options\": {\"bogus\": \"1\"}", 1, 1,
		       "port wire: driver net_null refused \"size=64,copy=0,bogus=1\" (Operation "
		       "not permitted)");
	// An option takes the place of the profile's argument.
	assert_refused("\"profile\": \"null\", \"options\": {\"size\": 128, \"x\": \"1\"}", 1, 1,
		       "port wire: driver net_null refused \"copy=0,size=128,x=1\" (Operation not "
		       "permitted)");
}

static void refused__more_queues_than_there_are(void **state)
{
	(void)state;
	assert_refused("\"profile\": \"ring\", \"rx_queues\": 17", 17, 1,
		       "port wire: 17 rx and 1 tx queues, one for each lcore that sends on it, are "
		       "more than 16");
	assert_refused("\"profile\": \"null\", \"rx_queues\": 17", 17, 1,
		       "port wire: 17 rx queues asked for, the driver has at most 16");
}

static void refused__mtu_above_the_profile(void **state)
{
	(void)state;
	assert_refused("\"profile\": \"null\", \"mtu\": 9601", 1, 1,
		       "port wire: mtu: 9601 is above what the null profile can carry, 9600");
}

static void refused__without_memory(void **state)
{
	struct config *config = with_port("\"profile\": \"ring\", \"rx_descriptors\": 32768");
	char error[PORT_ERROR_SIZE];
	struct testbed_port port;
	struct port_parameters parameters = {
		.config = &config->ports[0],
		.profile = &port.profile,
		.n_rx_queues = 1,
		.n_tx_queues = 1,
		.pool_mbufs = 1000000,
	};

	(void)state;
	assert_int_equal(profile_load(&port.profile, &config->ports[0], error), 0);
	assert_int_equal(port_open(&port.port, &parameters, error), -1);
	assert_string_equal(error, "port wire: no memory for 1000000 receive buffers of 1536 bytes "
				   "(Cannot allocate memory)");
	port_close(&port.port);
	// Nothing is left of it.
	testbed_open_port(&port, &config->ports[0], 1, 1);
	port_close(&port.port);
	config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close__on_the_thread_that_the_driver_needs),
		cmocka_unit_test(ring__passes_from_tx_to_rx_queues),
		cmocka_unit_test(ring__holds_as_many_as_configured),
		cmocka_unit_test(ring__names_may_begin_alike),
		cmocka_unit_test(port__can_be_opened_again),
		cmocka_unit_test(pool__lowest_is_remembered),
		cmocka_unit_test(port__has_the_configured_mac),
		cmocka_unit_test(pcap__receives_a_capture),
		cmocka_unit_test(refused__without_its_device),
		cmocka_unit_test(pci__device_with_its_arguments),
		cmocka_unit_test(refused__by_the_driver),
		cmocka_unit_test(refused__more_queues_than_there_are),
		cmocka_unit_test(refused__mtu_above_the_profile),
		cmocka_unit_test(refused__without_memory),
	};

	return cmocka_run_group_tests_name("port", tests, testbed_start, testbed_stop);
}
