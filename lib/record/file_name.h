// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Names of event files: PREFIX-runRRRRRR-SSSS.mep (or .mdf), run and sequence in decimal with at
// least six and four digits. A file that is not whole yet is called .NAME.part, and has a
// .NAME.journal beside it.
//
// Pure functions, for any thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define FILE_NAME_SIZE 96 // of any of the three, with the closing 0

struct file_name {
	char prefix[EVB_NAME_SIZE];
	uint32_t run;
	uint32_t sequence;
	enum config_file_format format;
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

// Reads a name of any stage that file_name_format() could have written for this prefix.
bool file_name_parse(const char *text, const char *prefix, struct file_name *name,
		     enum file_name_stage *stage);
