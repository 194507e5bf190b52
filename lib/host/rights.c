// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAGE_CAPABILITIES "capabilities"
#define STAGE_MEMLOCK      "memlock"
#define LIST_SIZE          160
#define PAGE               4096u

#define BIT(capability) ((uint64_t)1 << (capability))

// The capabilities that drivers need. Kernels before 5.8 had CAP_SYS_ADMIN in place of CAP_BPF and
// CAP_PERFMON.
static const struct {
	const char *name;
	uint64_t any_of;
} known[] = {
	{ "CAP_BPF", BIT(CAP_BPF) | BIT(CAP_SYS_ADMIN) },
	{ "CAP_DAC_OVERRIDE", BIT(CAP_DAC_OVERRIDE) },
	{ "CAP_IPC_LOCK", BIT(CAP_IPC_LOCK) },
	{ "CAP_NET_ADMIN", BIT(CAP_NET_ADMIN) },
	{ "CAP_NET_RAW", BIT(CAP_NET_RAW) },
	{ "CAP_PERFMON", BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) },
	{ "CAP_SYS_ADMIN", BIT(CAP_SYS_ADMIN) },
	{ "CAP_SYS_NICE", BIT(CAP_SYS_NICE) },
	{ "CAP_SYS_RAWIO", BIT(CAP_SYS_RAWIO) },
};

// The capabilities of which one suffices for this name; 0: the name is unknown.
static uint64_t find(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0)
			return known[i].any_of;
	return 0;
}

// --- reading -------------------------------------------------------------------------------------

// For a command that does not exist, bpf(2) returns EINVAL to a process that may use it; a seccomp
// filter returns EPERM for any command.
static bool bpf_is_filtered(void)
{
	return syscall(__NR_bpf, INT_MAX, NULL, 0) != 0 && errno == EPERM;
}

void rights_read(struct rights_facts *facts, const struct host_system *system)
{
	char text[SYSFS_TEXT_SIZE];
	ssize_t n;

	*facts = (struct rights_facts){ .memlock = NO_LIMIT };
	if (sysfs_field(system->root, "/proc/self/status", "CapEff:", text))
		facts->capabilities = strtoull(text, NULL, 16);
	// The soft limit in bytes, or "unlimited", and the hard limit.
	if (sysfs_field(system->root, "/proc/self/limits", "Max locked memory", text) &&
	    text[0] >= '0' && text[0] <= '9')
		facts->memlock = strtoull(text, NULL, 10);
	if (system->root[0] == '\0' && (facts->capabilities & find("CAP_BPF", 7)) != 0)
		facts->bpf_is_filtered = bpf_is_filtered();
	n = readlink("/proc/self/exe", facts->program, sizeof(facts->program) - 1);
	facts->program[n > 0 ? n : 0] = '\0';
}

// --- capabilities --------------------------------------------------------------------------------

// Lists for people the capabilities that a driver needs and the process lacks. Locked memory
// belongs to another stage.
static unsigned list_missing(const struct rights_facts *facts, const char *wanted, char *text)
{
	unsigned n = 0;
	size_t used = 0;

	text[0] = '\0';
	while (*wanted != '\0') {
		size_t length = strcspn(wanted, " ");
		uint64_t any_of = find(wanted, length);

		if (any_of != 0 && any_of != BIT(CAP_IPC_LOCK) &&
		    (facts->capabilities & any_of) == 0 && used < LIST_SIZE) {
			used += (size_t)snprintf(text + used, LIST_SIZE - used, "%s%.*s",
						 n > 0 ? ", " : "", (int)length, wanted);
			n++;
		}
		wanted += length;
		wanted += strspn(wanted, " ");
	}
	return n;
}

// Formats capabilities for setcap(8): "cap_net_raw,cap_net_admin".
static void list_for_setcap(const char *wanted, char text[LIST_SIZE])
{
	size_t n = 0;

	for (; *wanted != '\0' && n < LIST_SIZE - 1; wanted++)
		text[n++] = *wanted == ' ' ? ',' : (char)tolower((unsigned char)*wanted);
	text[n] = '\0';
}

static void describe(const struct rights_facts *facts, struct host_report *report)
{
	char text[SYSFS_TEXT_SIZE / 8] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && used < sizeof(text); i++)
		if ((facts->capabilities & known[i].any_of) != 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used > 0 ? " " : "", known[i].name);
	report_add(report, HOST_OK, STAGE_CAPABILITIES, "%s", used > 0 ? text : "none");
}

static void judge_bpf(const struct port_settings *port, const struct profile *profile,
		      struct host_report *report)
{
	struct host_finding *finding =
	    report_add(report, HOST_FAIL, STAGE_CAPABILITIES,
		       "port %s: driver %s needs bpf(), which this process may not call although "
		       "it has CAP_BPF",
		       port->name, profile->driver);

	report_remedy(finding, "a container: --security-opt seccomp=unconfined, or a seccomp "
			       "profile that lets bpf() through");
}

void rights_judge_capabilities(const struct rights_facts *facts, const struct plan *plan,
			       struct host_report *report)
{
	bool any = false;

	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		const struct profile *profile = &plan->ports[i].profile;
		char missing[LIST_SIZE], setcap[LIST_SIZE];
		struct host_finding *finding;

		if (list_missing(facts, profile->capabilities, missing) == 0) {
			if (facts->bpf_is_filtered &&
			    strstr(profile->capabilities, "CAP_BPF") != NULL) {
				any = true;
				judge_bpf(&plan->config->ports[i], profile, report);
			}
			continue;
		}
		any = true;
		list_for_setcap(profile->capabilities, setcap);
		finding = report_add(report, HOST_FAIL, STAGE_CAPABILITIES,
				     "port %s: driver %s needs %s, which this process lacks",
				     plan->config->ports[i].name, profile->driver, missing);
		report_remedy(finding,
			      "run it as root, or: setcap %s+ep %s (a container: "
			      "--cap-add)",
			      setcap, facts->program[0] != '\0' ? facts->program : "evb");
	}
	if (plan == NULL)
		describe(facts, report);
	else if (!any)
		report_add(report, HOST_OK, STAGE_CAPABILITIES, "all that the drivers need");
}

// --- locked memory -------------------------------------------------------------------------------

// Bytes of memory that the kernel locks for this process on behalf of a port's driver.
static uint64_t locked_bytes(const struct plan *plan, unsigned index)
{
	const struct plan_port *port = &plan->ports[index];
	uint64_t pairs =
	    port->n_rx_queues > port->n_tx_queues ? port->n_rx_queues : port->n_tx_queues;

	if (strcmp(port->profile.driver, "net_af_packet") == 0) {
		// Each pair of queues has a ring for receiving and a ring for sending.
		uint64_t frames =
		    strtoull(devices_argument(plan, index, "framecnt", "512"), NULL, 0);
		uint64_t size = strtoull(devices_argument(plan, index, "framesz", "2048"), NULL, 0);

		return pairs * 2 * frames * size;
	}
	if (strcmp(port->profile.driver, "net_af_xdp") == 0)
		return (uint64_t)port->pool_mbufs * PAGE; // one page per mbuf
	return 0;
}

void rights_judge_memlock(const struct rights_facts *facts, bool hugepages, const struct plan *plan,
			  struct host_report *report)
{
	uint64_t wanted = 0;
	bool pci = false;
	struct host_finding *finding;

	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		wanted += locked_bytes(plan, i);
		pci |= profile_is_pci(&plan->ports[i].profile, &plan->config->ports[i]);
	}
	// VFIO or RDMA locks the memory into which a card writes.
	for (unsigned i = 0; pci && i < plan->n_nodes; i++)
		wanted += hugepages ? plan->nodes[i].hugepage_bytes : plan->nodes[i].packet_bytes;
	if (facts->memlock == NO_LIMIT || (facts->capabilities & BIT(CAP_IPC_LOCK)) != 0) {
		report_add(report, HOST_OK, STAGE_MEMLOCK, "no limit of locked memory%s",
			   facts->memlock == NO_LIMIT ? "" : " (CAP_IPC_LOCK)");
	} else if (wanted <= facts->memlock) {
		report_add(
		    report, HOST_OK, STAGE_MEMLOCK, "%llu MiB may be locked, %llu MiB are wanted",
		    (unsigned long long)(facts->memlock >> 20), (unsigned long long)(wanted >> 20));
	} else {
		finding = report_add(report, HOST_FAIL, STAGE_MEMLOCK,
				     "the ports lock %llu MiB of memory, this process may lock "
				     "%llu MiB",
				     (unsigned long long)(wanted >> 20),
				     (unsigned long long)(facts->memlock >> 20));
		report_remedy(finding, "ulimit -l unlimited (systemd: LimitMEMLOCK=infinity, a "
				       "container: --ulimit memlock=-1), or CAP_IPC_LOCK");
	}
}
