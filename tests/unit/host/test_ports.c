// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What ports need: drivers and their options, devices, capabilities, locked memory, and interfaces
// that are set as the configuration is.
#include "fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <rte_config.h>

#define PCI "/sys/bus/pci/devices/0000:3b:00.0"

static struct host_link interface; // as the test has it
static bool interface_exists;

static bool read_link(const char *name, struct host_link *link)
{
	assert_string_equal(name, "eth1");
	*link = interface;
	return interface_exists;
}

static int make(void **state)
{
	interface = (struct host_link){ .up = true, .running = true, .mtu = 1500 };
	interface_exists = true;
	if (fixture_make(state) != 0)
		return -1;
	((struct fixture *)*state)->system.read_link = read_link;
	return 0;
}

// --- drivers -------------------------------------------------------------------------------------

#define AF_PACKET_INFO                                    \
	"PMD_INFO_STRING= {\"name\": \"net_af_packet\", " \
	"\"params\": \"iface=<string> qpairs=<int> blocksz=<int>\", \"pci_ids\": []}"
#define TWO_DRIVERS                                                                             \
	"\177ELF\0PMD_INFO_STRING= {\"name\": \"net_tun\", \"params\": \"a=<int>\"}\0xx\0"      \
	"PMD_INFO_STRING= {\"name\": \"net_tap\", \"params\": \"b=<int>\", \"kmod\": \"* k1 | " \
	"k2\"}\0"

static void add_option(struct fixture *fixture, const char *name)
{
	struct port_settings *port = &fixture->config->ports[0];

	snprintf(port->options[port->n_options].name, sizeof(port->options[0].name), "%s", name);
	strcpy(port->options[port->n_options].value, "1");
	port->n_options++;
}

static void judge_drivers(struct fixture *fixture)
{
	report_reset(fixture);
	judge_stage(fixture, "drivers");
}

static void drivers_scan__finds_the_right_description(void **state)
{
	struct port_settings config = { .n_options = 0 };
	struct drivers_port port = { 0 };

	(void)state;
	drivers_scan(&port, "net_tap", &config, (const uint8_t *)TWO_DRIVERS, sizeof(TWO_DRIVERS));
	assert_string_equal(port.parameters, "b=<int>");
	assert_string_equal(port.kernel_drivers, "* k1 | k2");
}

static void drivers_scan__of_broken_files(void **state)
{
	static const char *const texts[] = {
		"PMD_INFO_STRING= ",
		"PMD_INFO_STRING= {\"name\": 7}",
		"PMD_INFO_STRING= {\"name\": \"net_x\", \"params\": [1]}",
		"PMD_INFO_STRING= {{{",
	};
	struct port_settings config = { .n_options = 1, .options[0] = { "opt", "1" } };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		for (size_t cut = 0; cut <= strlen(texts[i]) + 1; cut++) {
			struct drivers_port port = { 0 };
			uint8_t *exact = malloc(cut > 0 ? cut : 1);

			assert_non_null(exact);
			memcpy(exact, texts[i], cut);
			drivers_scan(&port, "net_x", &config, exact, cut);
			assert_string_equal(port.parameters, "");
			assert_false(port.knows[0]);
			free(exact);
		}
}

static void drivers__know_their_options(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	add_option(fixture, "blocksz");
	add_option(fixture, "blokcsz");
	tree_write_bytes(fixture, RTE_EAL_PMD_PATH "/librte_net_af_packet.so", AF_PACKET_INFO,
			 sizeof(AF_PACKET_INFO));
	judge_drivers(fixture);
	assert_finding(fixture, HOST_FAIL, "drivers",
		       "ports[0].options.blokcsz: driver net_af_packet knows no such argument",
		       "it knows iface=<string> qpairs=<int>");
	assert_counts(fixture, 0, 0, 1, 0);
}

static void drivers__that_are_not_installed(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_xdp", "eth1", 1500);
	judge_drivers(fixture); // no folder: DPDK is linked into the program
	assert_counts(fixture, 1, 0, 0, 0);
	tree_folder(fixture, RTE_EAL_PMD_PATH);
	judge_drivers(fixture);
	assert_finding(fixture, HOST_FAIL, "drivers", "net_af_xdp is not installed",
		       "apt-get install librte-net-af-xdp");
	strcpy(fixture->plan->ports[0].profile.driver, "mlx5_eth");
	judge_drivers(fixture);
	assert_finding(fixture, HOST_FAIL, "drivers",
		       "there is no " RTE_EAL_PMD_PATH "/librte_net_mlx5",
		       "apt-get install librte-net-mlx5-");
}

static void drivers__of_a_shared_file(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_virtio_user", "", 1500);
	tree_write(fixture, RTE_EAL_PMD_PATH "/librte_net_virtio.so", "x");
	judge_drivers(fixture);
	assert_counts(fixture, 1, 0, 0, 0);
}

// Without the development package the files have only their versioned names, as in a container.
static void drivers__without_the_development_package(void **state)
{
	struct fixture *fixture = *state;
	const char *dash = strrchr(RTE_EAL_PMD_PATH, '-');
	char path[256];

	assert_non_null(dash);
	fixture_port(fixture, "net_null", "", 1500);
	snprintf(path, sizeof(path), RTE_EAL_PMD_PATH "/librte_net_null.so.%s", dash + 1);
	tree_write(fixture, path, "x");
	judge_drivers(fixture);
	assert_counts(fixture, 1, 0, 0, 0);
}

// --- devices -------------------------------------------------------------------------------------

static void judge_devices(struct fixture *fixture, const char *kernel_drivers)
{
	report_reset(fixture);
	strcpy(fixture->check->drivers[0].kernel_drivers, kernel_drivers);
	judge_stage(fixture, "devices");
	judge_facts(fixture, "NUMA");
}

static void devices__interface(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	judge_devices(fixture, "");
	assert_finding(fixture, HOST_OK, "devices", "port p0: interface eth1", NULL);
	interface_exists = false;
	judge_devices(fixture, "");
	assert_finding(fixture, HOST_FAIL, "devices",
		       "port p0: there is no network interface \"eth1\" here", "ip link");
}

static void add_card(struct fixture *fixture)
{
	fixture_port(fixture, "net_ice", "0000:3b:00.0", 1500);
	fixture->plan->ports[0].profile.device_argument[0] = '\0';
}

static void devices__pci(void **state)
{
	struct fixture *fixture = *state;

	add_card(fixture);
	judge_devices(fixture, "* igb_uio | vfio-pci");
	assert_finding(fixture, HOST_FAIL, "devices", "there is no PCI device 0000:3b:00.0", NULL);
	tree_write(fixture, PCI "/vendor", "0x8086\n");
	judge_devices(fixture, "* igb_uio | vfio-pci");
	assert_finding(fixture, HOST_FAIL, "devices",
		       "has kernel driver none, DPDK's needs vfio-pci",
		       "dpdk-devbind.py --bind=vfio-pci 0000:3b:00.0");
	tree_link(fixture, PCI "/driver", "../../../../bus/pci/drivers/vfio-pci");
	judge_devices(fixture, "* igb_uio | vfio-pci");
	assert_finding(fixture, HOST_FAIL, "devices", "there is no /dev/vfio/vfio", "modprobe");
	tree_write(fixture, "/dev/vfio/vfio", "");
	judge_devices(fixture, "* igb_uio | vfio-pci");
	assert_finding(fixture, HOST_OK, "devices", "kernel driver vfio-pci", NULL);
}

static void devices__pci_of_a_driver_that_shares_it(void **state)
{
	struct fixture *fixture = *state;

	add_card(fixture);
	tree_link(fixture, PCI "/driver", "../../../../bus/pci/drivers/vfio-pci");
	judge_devices(fixture, "* ib_uverbs & mlx5_core & mlx5_ib");
	assert_finding(fixture, HOST_FAIL, "devices",
		       "kernel driver vfio-pci, DPDK's needs ib_uverbs & mlx5_core", "--unbind");
}

static void devices__pci_that_is_none(void **state)
{
	struct fixture *fixture = *state;

	add_card(fixture);
	strcpy(fixture->config->ports[0].device, "eth1");
	judge_devices(fixture, "* igb_uio | vfio-pci");
	assert_finding(fixture, HOST_FAIL, "devices", "needs the PCI address of a card",
		       "0000:3b:00.0");
}

static void devices__of_other_kinds(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_memif", "/run/a.sock", 1500);
	add_option(fixture, "socket-abstract");
	strcpy(fixture->config->ports[0].options[0].value, "no");
	judge_devices(fixture, "");
	assert_finding(fixture, HOST_FAIL, "devices", "there is no memif server at /run/a.sock",
		       "start the other side first");
	tree_write(fixture, "/run/a.sock", "");
	judge_devices(fixture, "");
	assert_counts(fixture, 2, 0, 0, 0);
	strcpy(fixture->plan->ports[0].profile.driver, "net_pcap");
	strcpy(fixture->config->ports[0].device, "/data/x.pcap");
	judge_devices(fixture, "");
	assert_finding(fixture, HOST_FAIL, "devices", "capture file /data/x.pcap is not there",
		       NULL);
	tree_write(fixture, "/data/x.pcap", "");
	judge_devices(fixture, "");
	assert_counts(fixture, 2, 0, 0, 0);
	strcpy(fixture->plan->ports[0].profile.driver, "net_tap");
	judge_devices(fixture, "");
	assert_finding(fixture, HOST_FAIL, "devices", "/dev/net/tun is not there", "modprobe tun");
}

static void devices__far_from_their_lcores(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	strcpy(interface.bus, "0000:3b:00.0");
	tree_write(fixture, PCI "/numa_node", "-1\n");
	judge_devices(fixture, "");
	assert_counts(fixture, 2, 0, 0, 0);
	tree_write(fixture, PCI "/numa_node", "1\n");
	judge_devices(fixture, "");
	assert_finding(fixture, HOST_WARN, "NUMA",
		       "rx.p0 runs on CPU 0 of NUMA node 0, port p0 is on node 1", "node1/cpulist");
	fixture->plan->lcores[0].numa_node = 1;
	judge_devices(fixture, "");
	assert_counts(fixture, 2, 0, 0, 0);
	tree_write(fixture, PCI "/numa_node", "0\n");
	judge_devices(fixture, "");
	assert_finding(fixture, HOST_WARN, "NUMA", "of NUMA node 1, port p0 is on node 0", NULL);
}

// --- interfaces ----------------------------------------------------------------------------------

static void judge_interfaces(struct fixture *fixture)
{
	report_reset(fixture);
	judge_stage(fixture, "devices");
	host_report_free(&fixture->report);
	judge_facts(fixture, "link");
	judge_facts(fixture, "MTU");
	judge_facts(fixture, "queues");
	judge_facts(fixture, "PFC");
}

static void interfaces__as_they_should_be(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	judge_interfaces(fixture);
	assert_counts(fixture, 4, 0, 0, 0);
}

static void link__down(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	interface.up = interface.running = false;
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_WARN, "link", "interface eth1 is down",
		       "ip link set dev eth1 up");
	assert_change(fixture, HOST_CHANGE_LINK, "eth1", "up");
	interface.up = true;
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_WARN, "link", "no carrier", "cable");
	assert_counts(fixture, 3, 1, 0, 0);
}

static void mtu__too_small(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 9000);
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_FAIL, "MTU", "mtu is 9000, that of interface eth1 is 1500",
		       "ip link set dev eth1 mtu 9000");
	assert_change(fixture, HOST_CHANGE_MTU, "eth1", "9000");
}

static void mtu__larger_than_the_ports(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	interface.mtu = 9000;
	judge_interfaces(fixture);
	assert_true(assert_finding(fixture, HOST_WARN, "MTU", "longer ones are lost",
				   "ports[0].mtu to 9000")
			->quiet);
	assert_counts(fixture, 3, 1, 0, 0);
}

static void mtu__that_xdp_may_not_like(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_xdp", "eth1", 1500);
	fixture->plan->ports[0].profile.maximum_mtu = 3434;
	interface.mtu = 3435;
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_WARN, "MTU", "above 3434 its driver may refuse XDP",
		       "mtu 1500");
}

static void queues__of_af_xdp(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_xdp", "eth1", 1500);
	interface.has_channels = true;
	interface.channels = (struct host_channels){ .combined = 4 };
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_WARN, "queues", "has 4 rx queues, of which 1 are read",
		       "ethtool -L eth1 combined 1");
	assert_change(fixture, HOST_CHANGE_CHANNELS, "eth1", "combined 1");
	fixture->plan->ports[0].n_rx_queues = 8;
	interface.channels = (struct host_channels){ .rx = 4 };
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_FAIL, "queues", "8 rx queues asked for, interface eth1 has 4",
		       "ethtool -L eth1 rx 8");
	assert_change(fixture, HOST_CHANGE_CHANNELS, "eth1", "rx 8");
	fixture->plan->ports[0].n_rx_queues = 4;
	judge_interfaces(fixture);
	assert_counts(fixture, 4, 0, 0, 0);
}

static void queues__with_short_rings(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	interface.has_rings = true;
	interface.rx_ring = 512;
	interface.most_rx_ring = 8192;
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_WARN, "queues", "512 rx descriptors of 8192",
		       "ethtool -G eth1 rx 8192");
	assert_change(fixture, HOST_CHANGE_RINGS, "eth1", "rx 8192");
}

static void pfc__that_is_left_to_the_kernel(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	fixture->config->ports[0].flow_control.mode = FLOW_CONTROL_EXTERNAL;
	fixture->config->ports[0].flow_control.priority = 3;
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_WARN, "PFC", "does not report PFC", "soft");
	interface.has_pfc = true;
	interface.pfc = 1 << 4;
	judge_interfaces(fixture);
	assert_finding(fixture, HOST_WARN, "PFC", "does not pause priority 3",
		       "dcb pfc set dev eth1 prio-pfc 3:on");
	interface.pfc = 1 << 3;
	judge_interfaces(fixture);
	assert_counts(fixture, 4, 0, 0, 0);
	interface.pfc = 0;
	fixture->config->ports[0].flow_control.mode = FLOW_CONTROL_AUTO;
	judge_interfaces(fixture);
	assert_counts(fixture, 4, 0, 0, 0);
	fixture->config->ports[0].flow_control.mode = FLOW_CONTROL_OFF;
	judge_interfaces(fixture);
	assert_counts(fixture, 3, 0, 0, 0);
}

// --- rights --------------------------------------------------------------------------------------

static void make_process(const struct fixture *fixture, const char *capabilities,
			 const char *memlock)
{
	char text[256];

	snprintf(text, sizeof(text), "Name:\tevb\nCapEff:\t%s\n", capabilities);
	tree_write(fixture, "/proc/self/status", text);
	snprintf(text, sizeof(text),
		 "Limit                     Soft Limit           Hard Limit           Units\n"
		 "Max locked memory         %-20s %-20s bytes\n",
		 memlock, memlock);
	tree_write(fixture, "/proc/self/limits", text);
}

static void judge_rights(struct fixture *fixture)
{
	report_reset(fixture);
	judge_stage(fixture, "capabilities");
	judge_facts(fixture, "memlock");
}

static void capabilities__that_are_missing(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	strcpy(fixture->plan->ports[0].profile.capabilities,
	       "CAP_NET_RAW CAP_NET_ADMIN CAP_IPC_LOCK");
	make_process(fixture, "0000000000001000", "unlimited"); // NET_ADMIN
	judge_rights(fixture);
	assert_finding(fixture, HOST_FAIL, "capabilities",
		       "port p0: driver net_af_packet needs CAP_NET_RAW, which",
		       "setcap cap_net_raw,cap_net_admin,cap_ipc_lock+ep");
	make_process(fixture, "0000000000003000", "unlimited");
	judge_rights(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
	make_process(fixture, "0000000000000000", "unlimited");
	judge_rights(fixture);
	assert_finding(fixture, HOST_FAIL, "capabilities", "CAP_NET_RAW, CAP_NET_ADMIN, which",
		       NULL);
}

static void capabilities__that_stand_for_others(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_xdp", "eth1", 1500);
	strcpy(fixture->plan->ports[0].profile.capabilities, "CAP_BPF");
	make_process(fixture, "0000000000200000", "unlimited"); // SYS_ADMIN
	judge_rights(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
	make_process(fixture, "0000008000000000", "unlimited"); // BPF
	judge_rights(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
}

static void capabilities__that_a_filter_takes_away(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_xdp", "eth1", 1500);
	strcpy(fixture->plan->ports[0].profile.capabilities, "CAP_BPF CAP_NET_RAW");
	make_process(fixture, "0000008000002000", "unlimited");
	fixture->check->rights =
	    (struct rights_facts){ .capabilities = 0x8000002000, .bpf_is_filtered = true };
	judge_facts(fixture, "capabilities");
	assert_finding(fixture, HOST_FAIL, "capabilities",
		       "port p0: driver net_af_xdp needs bpf(), which this process may not call",
		       "seccomp=unconfined");
	assert_counts(fixture, 0, 0, 1, 0);
	// Who does not need it is not hindered.
	strcpy(fixture->plan->ports[0].profile.capabilities, "CAP_NET_RAW");
	report_reset(fixture);
	fixture->check->rights =
	    (struct rights_facts){ .capabilities = 0x8000002000, .bpf_is_filtered = true };
	judge_facts(fixture, "capabilities");
	assert_counts(fixture, 1, 0, 0, 0);
}

static void capabilities__in_profiles_are_known(void **state)
{
	struct fixture *fixture = *state;
	const char *folder = PMD_CONFIG;
	DIR *stream = opendir(folder);
	const struct dirent *entry;
	unsigned n = 0;

	assert_non_null(stream);
	// The description of a process with all capabilities lists those that are known.
	free(fixture->plan);
	fixture->plan = NULL;
	fixture->check->rights.capabilities = UINT64_MAX;
	judge_facts(fixture, "capabilities");
	assert_int_equal(fixture->report.n_findings, 1);
	while ((entry = readdir(stream)) != NULL) {
		char path[512], *text;
		const cJSON *item;
		FILE *file;
		cJSON *root;
		size_t length;

		if (strstr(entry->d_name, ".json") == NULL)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		file = fopen(path, "r");
		text = calloc(1, 65536);
		assert_non_null(file);
		assert_non_null(text);
		length = fread(text, 1, 65535, file);
		fclose(file); // opened for reading: nothing can be lost
		root = cJSON_ParseWithLength(text, length);
		assert_non_null(root);
		cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "capabilities"))
		{
			if (strstr(fixture->report.findings[0].text, item->valuestring) == NULL)
				fail_msg("%s: %s", path, item->valuestring);
			n++;
		}
		cJSON_Delete(root);
		free(text);
	}
	closedir(stream);
	assert_true(n > 0);
}

static void memlock__of_packet_rings(void **state)
{
	struct fixture *fixture = *state;

	fixture_port(fixture, "net_af_packet", "eth1", 1500);
	fixture->plan->ports[0].profile.n_arguments = 2;
	fixture->plan->ports[0].profile.arguments[0] = (struct port_option){ "framesz", "2048" };
	fixture->plan->ports[0].profile.arguments[1] = (struct port_option){ "framecnt", "8192" };
	make_process(fixture, "0", "8388608");
	judge_rights(fixture);
	assert_finding(fixture, HOST_FAIL, "memlock",
		       "the ports lock 32 MiB of memory, this process may lock 8 MiB",
		       "LimitMEMLOCK=infinity");
	make_process(fixture, "0", "33554432");
	judge_rights(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
	make_process(fixture, "0", "33554431");
	judge_rights(fixture);
	assert_counts(fixture, 1, 0, 1, 0);
	make_process(fixture, "0000000000004000", "8388608"); // IPC_LOCK
	judge_rights(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
	// The configuration's options replace the profile's.
	make_process(fixture, "0", "8388608");
	add_option(fixture, "framecnt");
	strcpy(fixture->config->ports[0].options[0].value, "2048");
	judge_rights(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
}

static void memlock__of_cards(void **state)
{
	struct fixture *fixture = *state;

	add_card(fixture);
	make_process(fixture, "0", "8388608");
	judge_rights(fixture);
	assert_finding(fixture, HOST_FAIL, "memlock", "the ports lock 32 MiB", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(drivers_scan__finds_the_right_description),
		TEST(drivers_scan__of_broken_files),
		TEST(drivers__know_their_options),
		TEST(drivers__that_are_not_installed),
		TEST(drivers__of_a_shared_file),
		TEST(drivers__without_the_development_package),
		TEST(devices__interface),
		TEST(devices__pci),
		TEST(devices__pci_of_a_driver_that_shares_it),
		TEST(devices__pci_that_is_none),
		TEST(devices__of_other_kinds),
		TEST(devices__far_from_their_lcores),
		TEST(interfaces__as_they_should_be),
		TEST(link__down),
		TEST(mtu__too_small),
		TEST(mtu__larger_than_the_ports),
		TEST(mtu__that_xdp_may_not_like),
		TEST(queues__of_af_xdp),
		TEST(queues__with_short_rings),
		TEST(pfc__that_is_left_to_the_kernel),
		TEST(capabilities__that_are_missing),
		TEST(capabilities__that_stand_for_others),
		TEST(capabilities__that_a_filter_takes_away),
		TEST(capabilities__in_profiles_are_known),
		TEST(memlock__of_packet_rings),
		TEST(memlock__of_cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
