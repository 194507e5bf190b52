// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/capture_learn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct capture_summary *summary;
	char path[64], error[SOURCE_ERROR_SIZE];
	int file = memfd_create("capture", MFD_CLOEXEC);

	if (file < 0)
		abort();
	if (write(file, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (!capture_learn(&summary, path, error)) {
		if (!summary->n_sources || !summary->packing)
			abort();
		capture_summary_free(summary);
	}
	close(file);
	return 0;
}
