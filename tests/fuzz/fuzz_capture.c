// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "source/capture_learn.h"
#include "source/roce_capture.h"
#include "wire/roce.h"

// The file that each input is written to.
static int file = -1;

// The messages of a capture of RoCE lie in its bytes, each in one connection.
static void check_messages(const struct roce_capture *capture)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < capture->n_streams; i++) {
		const struct roce_stream *stream = &capture->streams[i];

		if (stream->n_messages > 0 && stream->first_message != n)
			abort();
		n += stream->n_messages;
	}
	if (n != capture->n_messages || n == 0)
		abort();
	for (uint64_t i = 0; i < n; i++)
		if (capture->messages[i].at > capture->n_bytes ||
		    capture->messages[i].size > capture->n_bytes - capture->messages[i].at)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct roce_capture *roce;
	struct capture_summary *summary;
	char path[64], error[SOURCE_ERROR_SIZE];

	if (file < 0)
		file = memfd_create("capture", MFD_CLOEXEC);
	FUZZ_CHECK(ftruncate(file, (off_t)size) == 0);
	FUZZ_CHECK(pwrite(file, data, size, 0) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	if (!capture_learn(&summary, path, error)) {
		if (!summary->n_sources || !summary->packing)
			abort();
		capture_summary_free(summary);
	}
	if (!roce_capture_read(&roce, path, ROCE_UDP_PORT, error)) {
		check_messages(roce);
		roce_capture_free(roce);
	}
	return 0;
}
