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

#define LIST_SIZE 160
#define PAGE      4096u

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

void rights_read(struct check *check)
{
	struct rights_facts *facts = &check->rights;
	char text[SYSFS_TEXT_SIZE];

	if (sysfs_field(check->system->root, "/proc/self/status", "CapEff:", text))
		facts->capabilities = strtoull(text, NULL, 16);
	facts->bpf_is_filtered = check->system->root[0] == '\0' &&
				 (facts->capabilities & find("CAP_BPF", 7)) != 0 &&
				 bpf_is_filtered();
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

void rights_describe(struct check *check)
{
	char text[SYSFS_TEXT_SIZE / 8] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && used < sizeof(text); i++)
		if ((check->rights.capabilities & known[i].any_of) != 0)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 used > 0 ? " " : "", known[i].name);
	report_add(check->report, HOST_OK, "%s", used > 0 ? text : "none");
}

void rights_judge_capabilities(struct check *check, unsigned index)
{
	const struct profile *profile = &check->plan->ports[index].profile;
	const char *name = check->plan->config->ports[index].name;
	char missing[LIST_SIZE], setcap[LIST_SIZE], program[SYSFS_PATH_SIZE];
	ssize_t n;

	if (list_missing(&check->rights, profile->capabilities, missing) > 0) {
		list_for_setcap(profile->capabilities, setcap);
		n = readlink("/proc/self/exe", program, sizeof(program) - 1);
		program[n > 0 ? n : 0] = '\0';
		report_add(check->report, HOST_FAIL,
			   "port %s: driver %s needs %s, which this process lacks" REMEDY
			   "run it as root, or: setcap %s+ep %s (a container: --cap-add)",
			   name, profile->driver, missing, setcap, n > 0 ? program : "evb");
	} else if (check->rights.bpf_is_filtered &&
		   strstr(profile->capabilities, "CAP_BPF") != NULL) {
		report_add(check->report, HOST_FAIL,
			   "port %s: driver %s needs bpf(), which this process may not call "
			   "although it has CAP_BPF" REMEDY
			   "a container: --security-opt seccomp=unconfined, or a seccomp profile "
			   "that lets bpf() through",
			   name, profile->driver);
	}
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

void rights_judge_memlock(struct check *check)
{
	const struct plan *plan = check->plan;
	uint64_t wanted = 0, limit = NO_LIMIT;
	char text[SYSFS_TEXT_SIZE];
	bool pci = false;

	// The soft limit in bytes, or "unlimited", and the hard limit.
	if (sysfs_field(check->system->root, "/proc/self/limits", "Max locked memory", text) &&
	    text[0] >= '0' && text[0] <= '9')
		limit = strtoull(text, NULL, 10);
	for (unsigned i = 0; plan != NULL && i < plan->config->n_ports; i++) {
		wanted += locked_bytes(plan, i);
		pci |= profile_is_pci(&plan->ports[i].profile, &plan->config->ports[i]);
	}
	// VFIO or RDMA locks the memory into which a card writes.
	for (unsigned i = 0; pci && i < plan->n_nodes; i++)
		wanted += check->hugepages_suffice ? plan->nodes[i].hugepage_bytes
						   : plan->nodes[i].packet_bytes;
	if (limit == NO_LIMIT || (check->rights.capabilities & BIT(CAP_IPC_LOCK)) != 0)
		report_add(check->report, HOST_OK, "no limit of locked memory%s",
			   limit == NO_LIMIT ? "" : " (CAP_IPC_LOCK)");
	else if (wanted <= limit)
		report_add(check->report, HOST_OK, "%llu MiB may be locked, %llu MiB are wanted",
			   (unsigned long long)(limit >> 20), (unsigned long long)(wanted >> 20));
	else
		report_add(check->report, HOST_FAIL,
			   "the ports lock %llu MiB of memory, this process may lock %llu "
			   "MiB" REMEDY "ulimit -l unlimited (systemd: LimitMEMLOCK=infinity, a "
			   "container: --ulimit memlock=-1), or CAP_IPC_LOCK",
			   (unsigned long long)(wanted >> 20), (unsigned long long)(limit >> 20));
}
