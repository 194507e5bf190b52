// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whether the device of each port exists, and can be used by the port's driver.
#include "host/stages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PCI  "/sys/bus/pci/devices"
#define TUN  "/dev/net/tun"
#define VFIO "/dev/vfio/vfio"

const char *devices_argument(const struct plan *plan, unsigned port, const char *name,
			     const char *otherwise)
{
	const struct port_settings *config = &plan->config->ports[port];
	const struct profile *profile = &plan->ports[port].profile;

	for (unsigned i = 0; i < config->n_options; i++)
		if (strcmp(config->options[i].name, name) == 0)
			return config->options[i].value;
	for (unsigned i = 0; i < profile->n_arguments; i++)
		if (strcmp(profile->arguments[i].name, name) == 0)
			return profile->arguments[i].value;
	return otherwise;
}

// --- reading -------------------------------------------------------------------------------------

static enum devices_kind kind_of(const struct plan *plan, unsigned index)
{
	const struct profile *profile = &plan->ports[index].profile;
	const struct port_settings *config = &plan->config->ports[index];

	if (profile_is_pci(profile, config))
		return DEVICES_PCI;
	if (strcmp(profile->driver, "net_tap") == 0)
		return DEVICES_TUN;
	if (config->device[0] == '\0')
		return DEVICES_NONE;
	if (strcmp(profile->driver, "net_af_packet") == 0 ||
	    strcmp(profile->driver, "net_af_xdp") == 0)
		return DEVICES_INTERFACE;
	// The server of a memif makes the socket; for the client it must exist.
	if (strcmp(profile->driver, "net_memif") == 0)
		return strcmp(devices_argument(plan, index, "role", "client"), "server") != 0 &&
			       strcmp(devices_argument(plan, index, "socket-abstract", "yes"),
				      "no") == 0
			   ? DEVICES_SOCKET
			   : DEVICES_NONE;
	return strcmp(profile->driver, "net_pcap") == 0 ? DEVICES_FILE : DEVICES_NONE;
}

static int read_numa_node(const struct host_system *system, const char *pci)
{
	// "-1" is not a number to sysfs_number().
	return (int)sysfs_number(system->root, (uint64_t)-1, PCI "/%s/numa_node", pci);
}

static void read_port(struct devices_port *port, const struct check *check, unsigned index)
{
	const char *device = check->plan->config->ports[index].device;
	const struct host_system *system = check->system;

	port->kind = kind_of(check->plan, index);
	port->numa_node = -1;
	switch (port->kind) {
	case DEVICES_INTERFACE:
		port->exists = system->read_link(device, &port->link);
		if (port->exists && port->link.bus[0] != '\0')
			port->numa_node = read_numa_node(system, port->link.bus);
		break;
	case DEVICES_PCI:
		port->exists = sysfs_exists(system->root, PCI "/%s", device);
		if (!sysfs_link_name(system->root, port->kernel_driver, sizeof(port->kernel_driver),
				     PCI "/%s/driver", device))
			port->kernel_driver[0] = '\0';
		port->has_vfio = sysfs_exists(system->root, VFIO);
		port->numa_node = read_numa_node(system, device);
		break;
	case DEVICES_TUN:
		port->exists = sysfs_exists(system->root, TUN);
		port->usable = sysfs_access(system->root, TUN, R_OK | W_OK) == 0;
		break;
	case DEVICES_SOCKET:
	case DEVICES_FILE:
		port->exists = sysfs_exists(system->root, "%s", device);
		port->usable = sysfs_access(system->root, device, R_OK) == 0;
		break;
	case DEVICES_NONE:
		break;
	}
}

void devices_read(struct check *check)
{
	for (unsigned i = 0; check->plan != NULL && i < check->plan->config->n_ports; i++)
		read_port(&check->devices[i], check, i);
}

// --- judging -------------------------------------------------------------------------------------

static void judge_pci(struct check *check, unsigned index)
{
	const struct devices_port *port = &check->devices[index];
	const char *name = check->plan->config->ports[index].name;
	const char *device = check->plan->config->ports[index].device;
	const char *wanted = check->drivers[index].kernel_drivers;
	const char *has = port->kernel_driver[0] != '\0' ? port->kernel_driver : "none";
	bool is_wrong = wanted[0] != '\0' && (port->kernel_driver[0] == '\0' ||
					      strstr(wanted, port->kernel_driver) == NULL);

	if (!port->exists)
		report_add(check->report, HOST_FAIL,
			   "port %s: there is no PCI device %s" REMEDY
			   "`lspci -D` and `dpdk-devbind.py --status` list them",
			   name, device);
	else if (is_wrong && strstr(wanted, "vfio-pci") != NULL)
		report_add(
		    check->report, HOST_FAIL,
		    "port %s: PCI device %s has kernel driver %s, DPDK's needs vfio-pci" REMEDY
		    "as root, if nothing else uses it: modprobe vfio-pci && "
		    "dpdk-devbind.py --bind=vfio-pci %s",
		    name, device, has, device);
	else if (is_wrong)
		report_add(check->report, HOST_FAIL,
			   "port %s: PCI device %s has kernel driver %s, DPDK's needs %s" REMEDY
			   "as root: dpdk-devbind.py --unbind %s, and load the drivers named",
			   name, device, has, wanted + strspn(wanted, "* "), device);
	else if (strcmp(port->kernel_driver, "vfio-pci") == 0 && !port->has_vfio)
		report_add(check->report, HOST_FAIL,
			   "port %s: there is no " VFIO REMEDY
			   "as root: modprobe vfio-pci (a container: --device /dev/vfio)",
			   name);
	else
		report_add(check->report, HOST_OK, "port %s: PCI device %s, kernel driver %s", name,
			   device, port->kernel_driver);
}

// The driver needs a network card, and the device of the port is not one. The plan has refused it
// where the profile says so.
static void judge_address(struct check *check, unsigned index)
{
	const struct port_settings *config = &check->plan->config->ports[index];

	if (check->plan->ports[index].profile.device_argument[0] == '\0' &&
	    check->drivers[index].kernel_drivers[0] != '\0')
		report_add(check->report, HOST_FAIL,
			   "port %s: profile %s needs the PCI address of a card as `device`, "
			   "\"%s\" is none" REMEDY
			   "write it as 0000:3b:00.0; `dpdk-devbind.py --status` lists them",
			   config->name, config->profile, config->device);
}

static void judge_others(struct check *check, unsigned index)
{
	const struct devices_port *port = &check->devices[index];
	const char *name = check->plan->config->ports[index].name;
	const char *device = check->plan->config->ports[index].device;

	if (port->kind == DEVICES_INTERFACE && port->exists)
		report_add(check->report, HOST_OK, "port %s: interface %s%s%s", name, device,
			   port->link.driver[0] != '\0' ? ", driver " : "", port->link.driver);
	else if (port->kind == DEVICES_INTERFACE)
		report_add(check->report, HOST_FAIL,
			   "port %s: there is no network interface \"%s\" here" REMEDY
			   "`ip link` lists them (a container or namespace sees only its own)",
			   name, device);
	else if (port->kind == DEVICES_SOCKET && !port->exists)
		report_add(check->report, HOST_FAIL,
			   "port %s: there is no memif server at %s" REMEDY
			   "start the other side first, or make this one the server: "
			   "\"options\": {\"role\": \"server\"}",
			   name, device);
	else if (port->kind == DEVICES_FILE && !port->usable)
		report_add(check->report, HOST_FAIL,
			   "port %s: capture file %s %s" REMEDY
			   "give `device` the path of a pcap file",
			   name, device, port->exists ? "may not be read" : "is not there");
	else if (port->kind == DEVICES_TUN && !port->usable)
		report_add(check->report, HOST_FAIL, "port %s: " TUN " %s" REMEDY "%s", name,
			   port->exists ? "may not be used by this user" : "is not there",
			   port->exists ? "run it as root, or: chmod a+rw " TUN
					: "as root: modprobe tun (a container: --device " TUN ")");
}

void devices_judge(struct check *check, unsigned index)
{
	if (check->devices[index].kind == DEVICES_PCI)
		judge_pci(check, index);
	else if (check->devices[index].kind == DEVICES_NONE)
		judge_address(check, index);
	else
		judge_others(check, index);
}

// --- NUMA ----------------------------------------------------------------------------------------

void devices_judge_numa(struct check *check)
{
	const struct plan *plan = check->plan;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct plan_role *role = &plan->roles[i];
		const struct plan_lcore *lcore = &plan->lcores[role->lcore];
		int node = role->port != PLAN_NONE ? check->devices[role->port].numa_node : -1;

		if (node >= 0 && (unsigned)node != lcore->numa_node)
			report_add(check->report, HOST_WARN,
				   "%s runs on CPU %u of NUMA node %u, port %s is on node %d" REMEDY
				   "give it a CPU of /sys/devices/system/node/node%d/cpulist in "
				   "`lcores`",
				   role->name, lcore->cpu, lcore->numa_node,
				   plan->config->ports[role->port].name, node, node);
	}
}
