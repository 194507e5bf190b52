// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Names of event files: PREFIX-runRRRRRR-SSSS.mep (or .mdf), with the run in at least six and the
// sequence in at least four decimal digits. A file that is still being written is named .NAME.part
// and has a journal .NAME.journal.
//
// Any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"

#define FILE_NAME_SIZE 96 // bytes of a name of any stage, with the closing 0

enum file_format {
	FILE_FORMAT_MEP,
	FILE_FORMAT_MDF,
};

struct file_name {
	char prefix[EVB_NAME_SIZE];
	uint32_t run;
	uint32_t sequence;
	enum file_format format;
};

enum file_name_stage {
	FILE_NAME_WHOLE,
	FILE_NAME_PART,
	FILE_NAME_JOURNAL,
};

// True if the prefix is 1 to 31 characters of [A-Za-z0-9_.-] and does not begin with a dot.
bool file_name_prefix_ok(const char *prefix);

void file_name_format(const struct file_name *name, enum file_name_stage stage,
		      char text[FILE_NAME_SIZE]);

// Opens the file of this name and stage in an open directory. Returns the descriptor or a negative
// errno.
int file_name_open(int directory, const struct file_name *name, enum file_name_stage stage,
		   int flags);

// True if there is a file of this name and stage.
bool file_name_exists(int directory, const struct file_name *name, enum file_name_stage stage);

// Removes the file of this name and stage from an open directory. Returns 0 or a negative errno.
int file_name_remove(int directory, const struct file_name *name, enum file_name_stage stage);

// Calls `found` for each name of the prefix in an open directory. A file that is renamed meanwhile
// may be listed under its old name, its new name, both or none. Returns 0 or a negative errno.
int file_name_list(int directory, const char *prefix,
		   void (*found)(void *context, const struct file_name *name,
				 enum file_name_stage stage),
		   void *context);
