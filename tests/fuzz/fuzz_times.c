// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <string.h>

#include "fuzz.h"

#include "fabric_files/times.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[FABRIC_TIMES_ERROR] = "";
	struct random random = random_fork(1, 1);
	struct sim_times times;
	const int result = fabric_times_parse(&times, (const char *)data, size, "fuzz", error);
	const struct sim_law law = { SIM_LAW_HISTOGRAM, 0, &times };

	if ((result == 0) != (error[0] == '\0') || strchr(error, '\n'))
		abort();
	// What is drawn is in the list.
	for (unsigned i = 0; result == 0 && i < 8; i++) {
		const uint64_t ns = sim_law_draw(&law, &random);
		uint32_t at = 0;

		while (times.ns[at] != ns)
			if (++at == times.n)
				abort();
	}
	sim_times_free(&times);
	return 0;
}
