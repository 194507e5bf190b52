// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Replaces the conversion if evb is built without HDF5.
#include "base/error_line.h"
#include "convert/convert.h"

int convert(const struct convert_options *options, struct convert_result *result, char *error)
{
	(void)result;
	return error_line(error, CONVERT_ERROR_SIZE,
			  "%s: this evb was built without HDF5: install libhdf5-dev, and build it "
			  "with -Dhdf5=enabled",
			  options->input);
}
