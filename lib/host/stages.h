// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The stages of host_check(). Each has two steps: X_read() collects facts of the system, and
// X_judge() derives findings from the facts alone. The plan may be NULL in both: then the facts are
// described without a judgement.
#pragma once

#include <sys/types.h>

#include "appliance/plan.h"
#include "evring/evring.h"
#include "host/report.h"
#include "host/system.h"
#include "sysfs/cgroup.h"
#include "sysfs/cpu_list.h"
#include "sysfs/hugepages.h"

#define NO_LIMIT UINT64_MAX // bytes

// MiB of so many bytes, rounded up.
static inline unsigned long long mib(uint64_t bytes)
{
	return (bytes + (1u << 20) - 1) >> 20;
}

// --- mounts.c: file systems for event rings ------------------------------------------------------

#define MOUNTS_MOST 8

struct mounts_hugetlbfs {
	char path[HOST_TARGET_SIZE];
	uint64_t page; // bytes; 0: unknown
	bool usable;   // this process may read and write it
};

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

void mounts_read(struct mounts_facts *facts, const struct host_system *system,
		 const struct plan *plan);

// hugepages: enough are free for the plan.
void mounts_judge(const struct mounts_facts *facts, bool hugepages, const struct plan *plan,
		  struct host_report *report);

// Formats the size of a page: "2 MiB".
void mounts_page_name(uint64_t page, char text[16]);

// --- runtime.c: directories of the sockets -------------------------------------------------------

struct runtime_folder {
	char path[HOST_TARGET_SIZE];
	char at[HOST_TARGET_SIZE]; // the folder that forbids access: this one, or one above
	int reason;                // errno; 0: the folder exists or can be made
};

struct runtime_facts {
	char directory[HOST_TARGET_SIZE];
	struct runtime_folder telemetry, control;
};

void runtime_read(struct runtime_facts *facts, const struct host_system *system,
		  const struct plan *plan);
void runtime_judge(const struct runtime_facts *facts, struct host_report *report);

// --- runs.c: other runs, live and dead -----------------------------------------------------------

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
};

void runs_read(struct runs_facts *facts, const struct host_system *system,
	       const struct mounts_facts *mounts, const struct plan *plan);
void runs_judge_live(const struct runs_facts *facts, const struct plan *plan,
		     struct host_report *report);
void runs_judge_dead(const struct runs_facts *facts, struct host_report *report);

// Removes the run-time folders of dead runs from their directory. Returns the number of folders.
unsigned runs_remove_folders(const char *directory);

// --- hugepages.c ---------------------------------------------------------------------------------

// dead: bytes of hugepages that dead runs hold.
void hugepages_judge(const struct hugepages *facts, uint64_t dead, const struct plan *plan,
		     struct host_report *report);

// Whether enough hugepages are free for the plan.
bool hugepages_suffice(const struct hugepages *facts, const struct plan *plan);

// --- cgroup.c ------------------------------------------------------------------------------------

void cgroup_judge(const struct cgroup_facts *facts, bool hugepages, const struct plan *plan,
		  struct host_report *report);

// --- rights.c: capabilities and locked memory ----------------------------------------------------

struct rights_facts {
	uint64_t capabilities; // effective, bit i: capability i
	uint64_t memlock;      // bytes; NO_LIMIT: none
	char program[SYSFS_PATH_SIZE];
	bool bpf_is_filtered; // bpf() is refused in spite of the capabilities
};

void rights_read(struct rights_facts *facts, const struct host_system *system);
void rights_judge_capabilities(const struct rights_facts *facts, const struct plan *plan,
			       struct host_report *report);
void rights_judge_memlock(const struct rights_facts *facts, bool hugepages, const struct plan *plan,
			  struct host_report *report);

// --- cpus.c --------------------------------------------------------------------------------------

struct cpus_facts {
	cpu_set_t online, allowed, isolated;
	cpu_set_t slow;                     // CPUs whose governor is not "performance"
	char governor[HOST_LINK_NAME_SIZE]; // the governor of one of them
};

void cpus_read(struct cpus_facts *facts, const struct host_system *system, const struct plan *plan);
void cpus_judge(const struct cpus_facts *facts, const struct plan *plan,
		struct host_report *report);
void cpus_judge_isolation(const struct cpus_facts *facts, const struct plan *plan,
			  struct host_report *report);
void cpus_judge_governor(const struct cpus_facts *facts, const struct plan *plan,
			 struct host_report *report);

// The CPUs of the plan's lcores; none without a plan.
void cpus_of_plan(const struct plan *plan, cpu_set_t *set);

// --- interrupts.c --------------------------------------------------------------------------------

#define INTERRUPTS_MOST 256

struct interrupts_facts {
	cpu_set_t online;
	unsigned n; // interrupts that CPUs of lcores serve now
	struct {
		unsigned number;
		cpu_set_t wanted; // CPUs that shall serve it
	} list[INTERRUPTS_MOST];
};

void interrupts_read(struct interrupts_facts *facts, const struct host_system *system,
		     const struct plan *plan);
void interrupts_judge(const struct interrupts_facts *facts, const struct plan *plan,
		      struct host_report *report);

// --- drivers.c: DPDK's drivers, from their files -------------------------------------------------

#define DRIVERS_TEXT_SIZE 512

struct drivers_port {
	bool looked; // the folder of drivers exists
	bool installed;
	char library[HOST_TARGET_SIZE];
	char parameters[DRIVERS_TEXT_SIZE];     // as the driver lists them
	char kernel_drivers[DRIVERS_TEXT_SIZE]; // a PCI device needs one of these; empty: any
	bool knows[PORT_MAX_OPTIONS];           // option i of the port is a parameter
};

struct drivers_facts {
	struct drivers_port ports[EVB_MAX_PORTS];
};

void drivers_read(struct drivers_facts *facts, const struct host_system *system,
		  const struct plan *plan);
void drivers_judge(const struct drivers_facts *facts, const struct plan *plan,
		   struct host_report *report);

// Searches the bytes of a driver's file for its description. Pure.
void drivers_scan(struct drivers_port *port, const char *driver, const struct port_settings *config,
		  const uint8_t *bytes, size_t size);

// --- devices.c, interfaces.c: the devices of ports -----------------------------------------------

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

struct devices_facts {
	struct devices_port ports[EVB_MAX_PORTS];
};

void devices_read(struct devices_facts *facts, const struct host_system *system,
		  const struct plan *plan);
void devices_judge(const struct devices_facts *facts, const struct drivers_facts *drivers,
		   const struct plan *plan, struct host_report *report);
void devices_judge_numa(const struct devices_facts *facts, const struct plan *plan,
			struct host_report *report);
void interfaces_judge_link(const struct devices_facts *facts, const struct plan *plan,
			   struct host_report *report);
void interfaces_judge_mtu(const struct devices_facts *facts, const struct plan *plan,
			  struct host_report *report);
void interfaces_judge_queues(const struct devices_facts *facts, const struct plan *plan,
			     struct host_report *report);
void interfaces_judge_pfc(const struct devices_facts *facts, const struct plan *plan,
			  struct host_report *report);

// The value of a driver's argument for a port: the configuration's, else the profile's, else
// `otherwise`.
const char *devices_argument(const struct plan *plan, unsigned port, const char *name,
			     const char *otherwise);
