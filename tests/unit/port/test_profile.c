// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "port/port.h"
#include "port/profile.h"

static struct profile load(const char *name, uint32_t mtu)
{
	struct port_settings port = { .mtu = mtu };
	char error[PROFILE_ERROR_SIZE];
	struct profile profile;

	snprintf(port.profile, sizeof(port.profile), "%s", name);
	if (profile_load(&profile, &port, error) != 0)
		fail_msg("%s", error);
	assert_string_equal(profile.name, name);
	return profile;
}

static void assert_refused(const char *name, const char *expected)
{
	struct port_settings port = { .mtu = 1500 };
	char error[PROFILE_ERROR_SIZE];
	struct profile profile;

	snprintf(port.profile, sizeof(port.profile), "%s", name);
	assert_int_equal(profile_load(&profile, &port, error), -1);
	assert_string_equal(error, expected);
}

static const char *argument(const struct profile *profile, const char *name)
{
	for (unsigned i = 0; i < profile->n_arguments; i++)
		if (strcmp(profile->arguments[i].name, name) == 0)
			return profile->arguments[i].value;
	return NULL;
}

static void builtin__all_load(void **state)
{
	static const struct {
		const char *name, *driver;
	} known[] = {
		{ "af_packet", "net_af_packet" },
		{ "af_xdp", "net_af_xdp" },
		{ "bnxt", "net_bnxt" },
		{ "enic", "net_enic" },
		{ "i40e", "net_i40e" },
		{ "ice", "net_ice" },
		{ "ixgbe", "net_ixgbe" },
		{ "memif", "net_memif" },
		{ "mlx5", "mlx5_eth" },
		{ "null", "net_null" },
		{ "pcap", "net_pcap" },
		{ "ring", "net_ring" },
		{ "tap", "net_tap" },
		{ "virtio_user", "net_virtio_user" },
	};
	unsigned n = 0;

	(void)state;
	for (const struct profile_text *text = profile_texts; text->name != NULL; text++, n++)
		for (uint32_t mtu = 1500; mtu <= 9000; mtu += 7500) {
			struct profile profile = load(text->name, mtu);

			assert_string_equal(text->name, known[n].name);
			assert_string_equal(profile.driver, known[n].driver);
			assert_in_range(profile.queues, 1, PORT_MAX_QUEUES);
			assert_in_range(profile.rx_descriptors, 64, 65536);
			assert_in_range(profile.tx_descriptors, 64, 65536);
			assert_in_range(profile.maximum_mtu, 1500, 65535);
			// An mbuf must take a whole frame.
			assert_true(port_buffer_size(&profile, mtu) >= mtu + 14 + 8);
			assert_int_equal(port_buffer_size(&profile, mtu) % 64, 0);
		}
	assert_int_equal(n, sizeof(known) / sizeof(known[0]));
}

static void builtin__af_packet_has_jumbo_arguments(void **state)
{
	struct profile profile = load("af_packet", 1500);

	(void)state;
	assert_string_equal(profile.device_argument, "iface");
	assert_string_equal(profile.queues_argument, "qpairs");
	assert_int_equal(profile.queues, 16);
	assert_int_equal(profile.maximum_mtu, 9000);
	assert_true(profile.mtu_is_free);
	assert_true(profile.partial_checksums);
	assert_string_equal(profile.capabilities, "CAP_NET_RAW CAP_NET_ADMIN CAP_IPC_LOCK");
	assert_int_equal(profile.n_arguments, 3);
	assert_string_equal(argument(&profile, "framesz"), "2048");
	assert_int_equal(profile.minimum_buffer, 2048);
	profile = load("af_packet", 1501);
	assert_int_equal(profile.n_arguments, 3);
	assert_string_equal(argument(&profile, "framesz"), "9216");
	assert_string_equal(argument(&profile, "blocksz"), "258048");
	assert_int_equal(profile.minimum_buffer, 9216);
}

// A frame of the ring is found by its number alone, so blocks must be full of them, and of pages.
static void builtin__af_packet_rings_have_no_gaps(void **state)
{
	(void)state;
	for (uint32_t mtu = 1500; mtu <= 9000; mtu += 7500) {
		struct profile profile = load("af_packet", mtu);
		int block = atoi(argument(&profile, "blocksz"));
		int frame = atoi(argument(&profile, "framesz"));

		assert_int_equal(block % frame, 0);
		assert_int_equal(block % 4096, 0);
		assert_int_equal(atoi(argument(&profile, "framecnt")) % (block / frame), 0);
		assert_true((uint32_t)frame <= port_buffer_size(&profile, mtu));
	}
}

// One buffer has room for a whole frame.
static void builtin__memif_has_larger_buffers_above_its_own_limit(void **state)
{
	struct profile profile = load("memif", 9600);

	(void)state;
	assert_string_equal(argument(&profile, "bsize"), "10240");
	assert_int_equal(profile.minimum_buffer, 10240);
	profile = load("memif", 9601);
	assert_string_equal(argument(&profile, "bsize"), "65280");
	assert_int_equal(profile.n_arguments, 4);
	assert_int_equal(profile.rx_descriptors, 256);
	assert_in_range(port_buffer_size(&profile, 9601), 9601 + 14 + 8, 10240);
	profile = load("memif", profile.maximum_mtu);
	assert_in_range(port_buffer_size(&profile, profile.maximum_mtu),
			profile.maximum_mtu + 14 + 8, 65280);
}

static void builtin__ring_is_shorter_for_packets_of_65_kb(void **state)
{
	struct profile profile = load("ring", 9600);

	(void)state;
	assert_int_equal(profile.rx_descriptors, 4096);
	assert_int_equal(profile.tx_descriptors, 4096);
	profile = load("ring", profile.maximum_mtu);
	assert_int_equal(profile.maximum_mtu, 65000);
	assert_int_equal(profile.rx_descriptors, 512);
	assert_int_equal(profile.tx_descriptors, 512);
}

static void builtin__without_jumbo_arguments_keep_theirs(void **state)
{
	struct profile profile = load("pcap", 9000);

	(void)state;
	assert_int_equal(profile.n_arguments, 0);
	assert_int_equal(profile.minimum_buffer, 0);
	assert_false(profile.partial_checksums);
	assert_string_equal(profile.capabilities, "");
}

static void unknown__names_the_known(void **state)
{
	(void)state;
	assert_refused(
	    "bogus",
	    "profile bogus: there is none of this name: name a file with its path, or one of: "
	    "af_packet af_xdp bnxt enic i40e ice ixgbe memif mlx5 null pcap ring tap virtio_user");
	assert_refused(
	    "",
	    "profile : there is none of this name: name a file with its path, or one of: "
	    "af_packet af_xdp bnxt enic i40e ice ixgbe memif mlx5 null pcap ring tap virtio_user");
}

static void write_file(char *path, const char *text)
{
	FILE *file;
	int fd;

	snprintf(path, 64, "%s/profile.XXXXXX",
		 getenv("TMPDIR") != NULL && strlen(getenv("TMPDIR")) < 40 ? getenv("TMPDIR")
									   : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void file__by_its_path(void **state)
{
	struct profile profile;
	char path[64];

	(void)state;
	write_file(path, "{\"driver\": \"net_x\", \"queues\": 3, \"arguments\": {\"a\": \"1\", "
			 "\"b\": 2, \"c\": \"3\"}, \"jumbo_minimum_buffer\": 5000,"
			 "\"minimum_buffer\": 100, \"maximum_mtu\": -4}");
	profile = load(path, 1500);
	assert_string_equal(profile.driver, "net_x");
	assert_int_equal(profile.queues, 3);
	assert_int_equal(profile.rx_descriptors, 1024);
	assert_int_equal(profile.tx_descriptors, 1024);
	assert_int_equal(profile.maximum_mtu, 1500); // what makes no sense is as not there
	assert_int_equal(profile.minimum_buffer, 100);
	assert_int_equal(profile.n_arguments, 2);
	assert_string_equal(argument(&profile, "c"), "3");
	profile = load(path, 9000);
	assert_int_equal(profile.minimum_buffer, 5000);
	assert_int_equal(profile.n_arguments, 2);
	unlink(path);
}

static void file__that_is_no_profile(void **state)
{
	char path[64], expected[256];

	(void)state;
	write_file(path, "{\"driver\": ");
	snprintf(expected, sizeof(expected), "profile %s: is not valid JSON", path);
	assert_refused(path, expected);
	unlink(path);
	snprintf(expected, sizeof(expected),
		 "profile %s: cannot be read: No such file or directory", path);
	assert_refused(path, expected);
	write_file(path, "{\"summary\": \"nothing\"}");
	snprintf(expected, sizeof(expected), "profile %s: has no \"driver\"", path);
	assert_refused(path, expected);
	unlink(path);
	write_file(path, "[1, 2]");
	snprintf(expected, sizeof(expected), "profile %s: has no \"driver\"", path);
	assert_refused(path, expected);
	unlink(path);
}

static void file__with_more_than_there_is_room_for(void **state)
{
	static char text[8192];
	struct profile profile;
	char path[64];
	int used;

	(void)state;
	used = snprintf(text, sizeof(text), "{\"driver\": \"net_x\", \"arguments\": {");
	for (unsigned i = 0; i < 40; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s\"a%u\": \"%u\"",
				 i > 0 ? "," : "", i, i);
	used += snprintf(text + used, sizeof(text) - (size_t)used, "}, \"capabilities\": [");
	for (unsigned i = 0; i < 100; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s\"CAP_NUMBER_%u\"",
				 i > 0 ? "," : "", i);
	snprintf(text + used, sizeof(text) - (size_t)used, "]}");
	write_file(path, text);
	profile = load(path, 1500);
	assert_int_equal(profile.n_arguments, PROFILE_MAX_ARGUMENTS);
	assert_true(strlen(profile.capabilities) < sizeof(profile.capabilities));
	unlink(path);
}

static void pci__by_the_form_of_the_device(void **state)
{
	struct port_settings port = { .mtu = 1500 };
	struct profile profile = { .driver = "net_mlx5" };

	(void)state;
	snprintf(port.device, sizeof(port.device), "0000:3b:00.1");
	assert_true(profile_is_pci(&profile, &port));
	snprintf(port.device, sizeof(port.device), "eth0");
	assert_false(profile_is_pci(&profile, &port));
	snprintf(port.device, sizeof(port.device), "0000:3b:00.1");
	snprintf(profile.device_argument, sizeof(profile.device_argument), "iface");
	assert_false(profile_is_pci(&profile, &port));
}

static void buffers__have_room_for_what_the_driver_needs(void **state)
{
	struct profile profile = { .minimum_buffer = 0 };
	const uint32_t jumbo = RTE_CACHE_LINE_SIZE == 128 ? 9088 : 9024; // 9000 + 14 + 8 = 9022

	(void)state;
	assert_int_equal(port_buffer_size(&profile, 1500), 1536); // 1500 + 14 + 8 = 1522
	assert_int_equal(port_buffer_size(&profile, 9000), jumbo);
	profile.minimum_buffer = 2048;
	assert_int_equal(port_buffer_size(&profile, 1500), 2048);
	assert_int_equal(port_buffer_size(&profile, 9000), jumbo);
	assert_true(port_pool_bytes(1000, 2048) > 1000 * (2048 + 128 + 128 + 64));
	assert_int_equal(port_pool_bytes(2000, 2048), 2 * port_pool_bytes(1000, 2048));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builtin__all_load),
		cmocka_unit_test(builtin__af_packet_has_jumbo_arguments),
		cmocka_unit_test(builtin__af_packet_rings_have_no_gaps),
		cmocka_unit_test(builtin__memif_has_larger_buffers_above_its_own_limit),
		cmocka_unit_test(builtin__ring_is_shorter_for_packets_of_65_kb),
		cmocka_unit_test(builtin__without_jumbo_arguments_keep_theirs),
		cmocka_unit_test(unknown__names_the_known),
		cmocka_unit_test(file__by_its_path),
		cmocka_unit_test(file__that_is_no_profile),
		cmocka_unit_test(file__with_more_than_there_is_room_for),
		cmocka_unit_test(pci__by_the_form_of_the_device),
		cmocka_unit_test(buffers__have_room_for_what_the_driver_needs),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
