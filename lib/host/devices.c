// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whether the device of each port exists, and can be used by the port's driver.
#include "host/stages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAGE      "devices"
#define STAGE_NUMA "NUMA"
#define PCI        "/sys/bus/pci/devices"
#define TUN        "/dev/net/tun"
#define VFIO       "/dev/vfio/vfio"

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

static void read_pci(struct devices_port *port, const struct host_system *system, const char *pci)
{
	port->exists = sysfs_exists(system->root, PCI "/%s", pci);
	if (!sysfs_link_name(system->root, port->kernel_driver, sizeof(port->kernel_driver),
			     PCI "/%s/driver", pci))
		port->kernel_driver[0] = '\0';
	port->has_vfio = sysfs_exists(system->root, VFIO);
	port->numa_node = read_numa_node(system, pci);
}

static void read_port(struct devices_port *port, const struct host_system *system,
		      const struct plan *plan, unsigned index)
{
	const char *device = plan->config->ports[index].device;

	port->kind = kind_of(plan, index);
	port->numa_node = -1;
	switch (port->kind) {
	case DEVICES_INTERFACE:
		port->exists = (system->read_link != NULL ? system->read_link : host_link_read)(
		    device, &port->link, system->context);
		if (port->exists && port->link.bus[0] != '\0')
			port->numa_node = read_numa_node(system, port->link.bus);
		break;
	case DEVICES_PCI:
		read_pci(port, system, device);
		break;
	case DEVICES_TUN:
		port->exists = sysfs_exists(system->root, TUN);
		port->usable = sysfs_access(system->root, TUN, R_OK | W_OK) == 0;
		break;
	case DEVICES_SOCKET:
		port->exists = sysfs_exists(system->root, "%s", device);
		break;
	case DEVICES_FILE:
		port->exists = sysfs_exists(system->root, "%s", device);
		port->usable = sysfs_access(system->root, device, R_OK) == 0;
		break;
	case DEVICES_NONE:
		break;
	}
}

void devices_read(struct devices_facts *facts, const struct host_system *system,
		  const struct plan *plan)
{
	*facts = (struct devices_facts){ 0 };
	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++)
		read_port(&facts->ports[i], system, plan, i);
}

// --- judging -------------------------------------------------------------------------------------

static void judge_pci(const struct devices_port *port, const struct drivers_port *driver,
		      const char *name, const char *device, struct host_report *report)
{
	const char *wanted = driver->kernel_drivers;
	struct host_finding *finding;

	if (!port->exists) {
		finding = report_add(report, HOST_FAIL, STAGE, "port %s: there is no PCI device %s",
				     name, device);
		report_remedy(finding, "`lspci -D` and `dpdk-devbind.py --status` list them");
	} else if (wanted[0] != '\0' && (port->kernel_driver[0] == '\0' ||
					 strstr(wanted, port->kernel_driver) == NULL)) {
		bool vfio = strstr(wanted, "vfio-pci") != NULL;

		finding = report_add(report, HOST_FAIL, STAGE,
				     "port %s: PCI device %s has kernel driver %s, DPDK's needs %s",
				     name, device,
				     port->kernel_driver[0] != '\0' ? port->kernel_driver : "none",
				     vfio ? "vfio-pci" : wanted + strspn(wanted, "* "));
		report_remedy(finding,
			      vfio ? "as root, if nothing else uses it: modprobe vfio-pci && "
				     "dpdk-devbind.py --bind=vfio-pci %s"
				   : "as root: dpdk-devbind.py --unbind %s, and load the drivers "
				     "named",
			      device);
	} else if (strcmp(port->kernel_driver, "vfio-pci") == 0 && !port->has_vfio) {
		finding = report_add(report, HOST_FAIL, STAGE, "port %s: there is no " VFIO, name);
		report_remedy(finding, "as root: modprobe vfio-pci (a container: --device "
				       "/dev/vfio)");
	} else {
		report_add(report, HOST_OK, STAGE, "port %s: PCI device %s, kernel driver %s", name,
			   device, port->kernel_driver);
	}
}

static void judge_interface(const struct devices_port *port, const char *name, const char *device,
			    struct host_report *report)
{
	struct host_finding *finding;

	if (port->exists) {
		report_add(report, HOST_OK, STAGE, "port %s: interface %s%s%s", name, device,
			   port->link.driver[0] != '\0' ? ", driver " : "", port->link.driver);
		return;
	}
	finding = report_add(report, HOST_FAIL, STAGE,
			     "port %s: there is no network interface \"%s\" here", name, device);
	report_remedy(finding, "`ip link` lists them (a container or namespace sees only its own)");
}

static void judge_others(const struct devices_port *port, const char *name, const char *device,
			 struct host_report *report)
{
	struct host_finding *finding;

	if (port->kind == DEVICES_SOCKET && !port->exists) {
		finding = report_add(report, HOST_FAIL, STAGE,
				     "port %s: there is no memif server at %s", name, device);
		report_remedy(finding, "start the other side first, or make this one the server: "
				       "\"options\": {\"role\": \"server\"}");
	} else if (port->kind == DEVICES_FILE && !port->usable) {
		finding = report_add(report, HOST_FAIL, STAGE, "port %s: capture file %s %s", name,
				     device, port->exists ? "may not be read" : "is not there");
		report_remedy(finding, "give `device` the path of a pcap file");
	} else if (port->kind == DEVICES_TUN && !port->usable) {
		finding =
		    report_add(report, HOST_FAIL, STAGE, "port %s: " TUN " %s", name,
			       port->exists ? "may not be used by this user" : "is not there");
		report_remedy(finding, port->exists
					   ? "run it as root, or: chmod a+rw " TUN
					   : "as root: modprobe tun (a container: --device " TUN
					     ")");
	}
}

// The driver needs a network card, and the device of the port is not one.
static void judge_address(const struct drivers_port *driver, const struct plan *plan,
			  unsigned index, struct host_report *report)
{
	const struct port_settings *config = &plan->config->ports[index];
	struct host_finding *finding;

	if (plan->ports[index].profile.device_argument[0] != '\0') {
		if (config->device[0] != '\0' ||
		    strcmp(plan->ports[index].profile.driver, "net_tap") == 0)
			return;
		finding = report_add(report, HOST_FAIL, STAGE,
				     "port %s: profile %s needs a `device` (its %s)", config->name,
				     config->profile, plan->ports[index].profile.device_argument);
		report_remedy(finding, "set ports[%u].device", index);
	} else if (driver->kernel_drivers[0] != '\0') {
		finding = report_add(report, HOST_FAIL, STAGE,
				     "port %s: profile %s needs the PCI address of a card as "
				     "`device`, \"%s\" is none",
				     config->name, config->profile, config->device);
		report_remedy(finding, "write it as 0000:3b:00.0; `dpdk-devbind.py --status` lists "
				       "them");
	}
}

void devices_judge(const struct devices_facts *facts, const struct drivers_facts *drivers,
		   const struct plan *plan, struct host_report *report)
{
	unsigned before = report->n_findings;

	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		const struct devices_port *port = &facts->ports[i];
		const struct port_settings *config = &plan->config->ports[i];

		switch (port->kind) {
		case DEVICES_PCI:
			judge_pci(port, &drivers->ports[i], config->name, config->device, report);
			break;
		case DEVICES_INTERFACE:
			judge_interface(port, config->name, config->device, report);
			break;
		case DEVICES_NONE:
			judge_address(&drivers->ports[i], plan, i, report);
			break;
		case DEVICES_TUN:
		case DEVICES_SOCKET:
		case DEVICES_FILE:
			judge_others(port, config->name, config->device, report);
			break;
		}
	}
	if (plan != NULL && report->n_findings == before)
		report_add(report, HOST_OK, STAGE, "ports that need none, or have it");
}

// --- NUMA ----------------------------------------------------------------------------------------

void devices_judge_numa(const struct devices_facts *facts, const struct plan *plan,
			struct host_report *report)
{
	unsigned before = report->n_findings;

	for (unsigned i = 0; plan != NULL && i < plan->n_roles; i++) {
		const struct plan_role *role = &plan->roles[i];
		const struct plan_lcore *lcore = &plan->lcores[role->lcore];
		struct host_finding *finding;
		int node;

		if (role->port == PLAN_NONE)
			continue;
		node = facts->ports[role->port].numa_node;
		if (node < 0 || (unsigned)node == lcore->numa_node)
			continue;
		finding = report_add(report, HOST_WARN, STAGE_NUMA,
				     "%s runs on CPU %u of NUMA node %u, port %s is on node %d",
				     role->name, lcore->cpu, lcore->numa_node,
				     plan->config->ports[role->port].name, node);
		report_remedy(
		    finding, "give it a CPU of /sys/devices/system/node/node%d/cpulist in `lcores`",
		    node);
	}
	if (plan != NULL && report->n_findings == before)
		report_add(report, HOST_OK, STAGE_NUMA, "lcores are on the nodes of their ports");
}
