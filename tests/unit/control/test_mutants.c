// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The invariants of claims.h can fail: an endpoint with a fault breaks the one that its patch
// names.
#include "../mutant.h"
#include "claims.h"

#define HISTORIES 600u

static void mutant__is_caught(void **state)
{
	struct claims_sums sums = { 0 };
	char expected[MUTANT_TEXT];
	const char *broken = claims_run(1, 3, HISTORIES, &sums);

	(void)state;
	if (!broken)
		broken = claims_run(2, 2, HISTORIES, &sums);
	mutant_read(mutant_patch, "Caught by", expected);
	if (!broken || strcmp(broken, expected) != 0)
		fail_msg("%s: %s is broken; expected %s", mutant_patch, broken ? broken : "nothing",
			 expected);
}

int main(int argc, char **argv)
{
	return mutant_run(argc, argv, mutant__is_caught);
}
