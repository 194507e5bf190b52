// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The findings about a host, one line each, and the changes that would improve it.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HOST_TEXT_SIZE   384
#define HOST_REMEDY_SIZE 384
#define HOST_TARGET_SIZE 256
#define HOST_VALUE_SIZE  256

enum host_verdict {
	HOST_OK,
	HOST_WARN, // the appliance runs, but not as well as it could
	HOST_FAIL, // the appliance would not run
};

struct host_finding {
	enum host_verdict verdict;
	const char *stage;             // subject, "hugepages"
	char text[HOST_TEXT_SIZE];     // what is wrong, and where
	char remedy[HOST_REMEDY_SIZE]; // what to do about it; empty: nothing
	bool quiet;                    // a warning of evb host check, not of each run
};

// Settings have a value, as text, that can be read, set and restored. Leftovers can be removed.
enum host_change_kind {
	HOST_CHANGE_WRITE, // the content of a file under /sys or /proc
	HOST_CHANGE_MOUNT, // a hugetlbfs at a directory: "absent", "empty" or its page size, "2M"
	HOST_CHANGE_MTU,   // of an interface, bytes
	HOST_CHANGE_LINK,  // of an interface: "up" or "down"
	HOST_CHANGE_CHANNELS, // of an interface: "combined 4"
	HOST_CHANGE_RINGS,    // of an interface: "rx 4096"
	HOST_CHANGE_REMOVE_FOLDERS,
	HOST_CHANGE_REMOVE_EVENT_RINGS,
	HOST_N_CHANGE_KINDS,
};

struct host_change {
	enum host_change_kind kind;
	const char *stage;
	char target[HOST_TARGET_SIZE]; // file, directory or interface
	char value[HOST_VALUE_SIZE];   // wanted value
};

// To be zeroed before the first use.
struct host_report {
	const char *stage; // of the findings and changes that are added
	struct host_finding *findings;
	unsigned n_findings;
	struct host_change *changes; // that evb host prepare would make, in this order
	unsigned n_changes;
	bool out_of_memory; // the report is not complete
};

// In the format of a finding, it separates the text from the remedy.
#define REMEDY "\036"

// Adds a finding and returns it. If memory runs out, the returned finding is not part of the
// report.
struct host_finding *report_add(struct host_report *report, enum host_verdict verdict,
				const char *format, ...) __attribute__((format(printf, 3, 4)));

void report_change(struct host_report *report, enum host_change_kind kind, const char *target,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

unsigned report_count(const struct host_report *report, enum host_verdict verdict);

// "ok", "warn", "fail".
const char *host_verdict_name(enum host_verdict verdict);

void host_report_free(struct host_report *report);
