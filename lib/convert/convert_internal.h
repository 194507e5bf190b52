// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Shared by the two directions.
#pragma once

#include "convert/convert.h"

// Both write to `path`, which exists and is empty, and return as convert() does.
int convert_to_hdf5(const struct convert_options *options, const char *path,
		    struct convert_result *result, char *error);
int convert_from_hdf5(const struct convert_options *options, int file, const char *path,
		      struct convert_result *result, char *error);

static inline bool convert_goes_on(const struct convert_options *options, uint64_t done,
				   uint64_t total)
{
	return !options->go_on || options->go_on(options->context, done, total);
}
