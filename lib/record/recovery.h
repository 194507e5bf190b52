// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Recovery of leftovers, which are files that a killed writer left: they have temporary names, and
// no process has locked them. A leftover is cut after its last whole event and gets its final name;
// a leftover without a whole event is removed. If the writer ran since the last boot of the
// machine, the journal gives the size of the whole events; otherwise a scan of the file does (every
// MFP of a MEP, and the checksum of every MDF record, is checked).
#pragma once

#include "record/file_name.h"
#include "record/journal.h"

struct recovered {
	struct file_name name; // the final one, unless it was removed or error is set
	uint64_t size;         // bytes of whole events; 0: the file was removed
	uint64_t cut;          // bytes cut off after them
	int error;             // 0, or a negative errno: the file is unchanged
	const char *step;      // the step that failed, if `error` is set
	bool in_doubt;         // `last` is in the file, but may not have been released
	struct event_identity last;
};

// Recovers all leftovers of the prefix in the directory and calls `found` for each. Does not touch
// files that a living process has locked. Returns 0 or a negative errno of reading the directory.
int recovery_run(int directory, const char *prefix,
		 void (*found)(void *context, const struct recovered *recovered), void *context);

// Sets *whole to the size of the whole events at the beginning of a file's content. Returns 0 or a
// negative errno.
int recovery_whole_prefix(const uint8_t *bytes, uint64_t size, enum file_format format,
			  uint64_t *whole);
