// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The stages of host_check(). Each reads facts of the system and derives findings from them. Facts
// that several stages or functions use are in struct check.
#pragma once

#include <sys/types.h>

#include "evring/evring.h"
#include "host/report.h"
#include "host/system.h"
#include "plan/plan.h"
#include "sysfs/cpu_list.h"
#include "sysfs/file.h"
#include "sysfs/hugepages.h"

#define NO_LIMIT UINT64_MAX // bytes

// MiB of so many bytes, rounded up.
static inline unsigned long long mib(uint64_t bytes)
{
	return (bytes + (1u << 20) - 1) >> 20;
}

// --- facts ---------------------------------------------------------------------------------------

#define MOUNTS_MOST 8

struct mounts_hugetlbfs {
	char path[HOST_TARGET_SIZE];
	uint64_t page; // bytes; 0: unknown
	bool usable;   // this process may read and write it
};

// File systems for event rings.
struct mounts_facts {
	struct mounts_hugetlbfs hugetlbfs[MOUNTS_MOST];
	unsigned n_hugetlbfs;
	uint64_t default_page; // of hugepages, bytes
	bool has_shm;
	uint64_t shm_free, shm_size;
	uint64_t available; // bytes of memory, as the kernel estimates
	// event_ring.directory, where the plan names one
	bool directory_exists, directory_usable, directory_hugepages;
	uint64_t directory_free;
};

// Other runs, live and dead.
struct runs_facts {
	bool lives;                     // a run of the plan's name is live
	pid_t pid;                      // its process; 0: unknown
	char lives_at[SYSFS_PATH_SIZE]; // file that shows it
	char folders[HOST_TARGET_SIZE]; // directory of DPDK's run-time folders
	unsigned dead_folders;
	unsigned dead_rings; // files
	uint64_t dead_bytes; // of event rings in ordinary memory ...
	uint64_t dead_hugepage_bytes;
	char dead_in[MOUNTS_MOST + 2][HOST_TARGET_SIZE]; // directories that hold some
	unsigned n_dead_in;
	unsigned left_rings; // producer rings without a process
	uint64_t left_bytes;
	char left_at[SYSFS_PATH_SIZE]; // one of them
};

struct rights_facts {
	uint64_t capabilities; // effective, bit i: capability i
	bool bpf_is_filtered;  // bpf() is refused in spite of the capabilities
};

#define DRIVERS_TEXT_SIZE 512

// DPDK's driver of a port, from the driver's file.
struct drivers_port {
	bool looked; // the folder of drivers exists
	bool installed;
	char library[HOST_TARGET_SIZE];
	char parameters[DRIVERS_TEXT_SIZE];     // as the driver lists them
	char kernel_drivers[DRIVERS_TEXT_SIZE]; // a PCI device needs one of these; empty: any
	bool knows[PORT_MAX_OPTIONS];           // option i of the port is a parameter
};

enum devices_kind {
	DEVICES_NONE, // DPDK needs no device
	DEVICES_INTERFACE,
	DEVICES_PCI,
	DEVICES_TUN,
	DEVICES_SOCKET, // made by another process
	DEVICES_FILE,
};

struct devices_port {
	enum devices_kind kind;
	bool exists; // the interface, device, file or socket
	bool usable; // file or /dev/net/tun: this process may access it
	struct host_link link;
	char kernel_driver[HOST_LINK_NAME_SIZE]; // of the PCI device; empty: none
	bool has_vfio;
	int numa_node; // -1: unknown
};

// Large: not for the stack.
struct check {
	const struct host_system *system;
	const struct plan *plan; // NULL: the host is described without a judgement
	struct host_report *report;
	struct mounts_facts mounts;
	struct runs_facts runs;
	struct hugepages hugepages;
	bool hugepages_suffice; // enough are free for the plan
	struct rights_facts rights;
	struct drivers_port drivers[EVB_MAX_PORTS];
	struct devices_port devices[EVB_MAX_PORTS];
};

// --- stages --------------------------------------------------------------------------------------

struct stage {
	const char *name;
	bool asked; // shown on request only: a run does not need it
	void (*read)(struct check *check);
	void (*describe)(struct check *check);                  // without a plan
	void (*judge)(struct check *check);                     // with one,
	void (*judge_port)(struct check *check, unsigned port); // for each of its ports,
	// and for each port with an interface
	void (*judge_link)(struct check *check, unsigned port, const struct host_link *link);
	const char *fine; // reported if nothing else is
};

// Causes before their consequences, ended by a name of NULL.
extern const struct stage host_stages[];

// Adds the findings of a stage whose facts have been read.
void stage_judge(const struct stage *stage, struct check *check);

void runtime_judge(struct check *check);

void runs_read(struct check *check);
void runs_judge_live(struct check *check);
void runs_judge_dead(struct check *check);
// Removes the run-time folders of dead runs from their directory. Returns the number of folders.
unsigned runs_remove_folders(const char *directory);

void cpus_judge(struct check *check);
void cpus_judge_isolation(struct check *check);
void cpus_judge_governor(struct check *check);
// The CPUs of the plan's lcores; none without a plan.
cpu_set_t cpus_of_plan(const struct plan *plan);
// The CPUs of `set` that are not in `without`.
cpu_set_t cpus_without(const cpu_set_t *set, const cpu_set_t *without);
// The list in a file of /sys/devices/system/cpu.
cpu_set_t cpus_listed(const struct check *check, const char *file);

void hugepages_read(struct check *check);
void hugepages_describe(struct check *check);
void hugepages_judge(struct check *check);

void mounts_read(struct check *check);
void mounts_describe(struct check *check);
void mounts_judge(struct check *check);
// Formats the size of a page: "2 MiB".
void mounts_page_name(uint64_t page, char text[16]);

void outputs_judge(struct check *check);

void cgroup_judge(struct check *check);

void drivers_read(struct check *check);
void drivers_judge(struct check *check, unsigned port);
// Searches the bytes of a driver's file for its description. Pure.
void drivers_scan(struct drivers_port *port, const char *driver, const struct port_settings *config,
		  const uint8_t *bytes, size_t size);

void devices_read(struct check *check);
void devices_judge(struct check *check, unsigned port);
void devices_judge_numa(struct check *check);
// The value of a driver's argument for a port: the configuration's, else the profile's, else
// `otherwise`.
const char *devices_argument(const struct plan *plan, unsigned port, const char *name,
			     const char *otherwise);

void rights_read(struct check *check);
void rights_describe(struct check *check);
void rights_judge_capabilities(struct check *check, unsigned port);
void rights_judge_memlock(struct check *check);

void interfaces_judge_link(struct check *check, unsigned port, const struct host_link *link);
void interfaces_judge_mtu(struct check *check, unsigned port, const struct host_link *link);
void interfaces_judge_queues(struct check *check, unsigned port, const struct host_link *link);
void interfaces_judge_pfc(struct check *check, unsigned port, const struct host_link *link);

void interrupts_judge(struct check *check);

void keys_judge(struct check *check);
