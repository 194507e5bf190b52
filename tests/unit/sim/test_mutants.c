// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The laws can be broken: a fabric with a fault breaks the law that its patch names.
// test-sim-mutant-NAME PATCH is linked with the mutant.
#include "../mutant.h"
#include "laws.h"

static void mutant__is_caught(void **state)
{
	char name[MUTANT_TEXT], message[LAW_MESSAGE] = "it cannot be simulated";
	const struct law *law;

	(void)state;
	mutant_read(mutant_patch, "Caught by", name);
	law = law_find(name);
	if (law == NULL)
		fail_msg("%s: no law is named '%s'", mutant_patch, name);
	if (law->check(message))
		fail_msg("%s: '%s' holds", mutant_patch, name);
	print_message("%s: %s\n", name, message);
}

int main(int argc, char **argv)
{
	return mutant_run(argc, argv, mutant__is_caught);
}
