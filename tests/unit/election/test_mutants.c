// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The invariants of elections can fail: with a fault in the logic some history breaks one of them.
// test-election-mutant-NAME PATCH is linked with the mutant.
#include "../mutant.h"
#include "voters.h"

#define HISTORIES 600u

static struct voters voters;

static void mutant__is_caught(void **state)
{
	char name[MUTANT_TEXT];

	(void)state;
	mutant_read(mutant_patch, "Caught by", name);
	for (uint64_t seed = 0; seed < HISTORIES; seed++) {
		voters_history(&voters, seed);
		if (voters.broken[0] == '\0')
			continue;
		print_message("history %ju: %s\n", (uintmax_t)seed, voters.broken);
		if (strncmp(voters.broken, name, strlen(name)) == 0)
			return;
	}
	fail_msg("%s: no history breaks '%s'", mutant_patch, name);
}

int main(int argc, char **argv)
{
	return mutant_run(argc, argv, mutant__is_caught);
}
