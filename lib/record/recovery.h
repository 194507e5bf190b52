// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What a writer that was killed left behind: files under temporary names that nobody has locked.
// Each is cut to its last whole event and gets its final name; one without a whole event is
// removed. A file of the same boot of the machine is cut where its journal says; of another boot,
// where the format says (MEPs: every MFP checked; MDF: records, checksums checked).
#pragma once

#include "record/file_name.h"
#include "record/journal.h"

struct recovered {
	struct file_name name; // the final one, unless it was removed or error is set
	uint64_t kept;         // bytes; 0: the file was removed
	uint64_t cut;          // bytes
	int error;             // 0, or a negative errno: the file stays as it was
	const char *step;      // what failed
	// The event that may not have been released although the file holds it.
	bool in_doubt;
	struct event_identity last;
};

// Recovers all leftovers of the prefix in the directory, calling `found` for each. Files that a
// living process holds are left alone. Returns 0 or a negative errno of reading the directory.
int recovery_run(int directory, const char *prefix,
		 void (*found)(void *context, const struct recovered *recovered), void *context);

// Bytes of the whole events with which a file's content begins. Returns 0 or a negative errno.
int recovery_whole_prefix(const uint8_t *bytes, uint64_t size, enum config_file_format format,
			  uint64_t *whole);
