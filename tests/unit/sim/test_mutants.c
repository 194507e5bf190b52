// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The laws can be broken: a fabric with a fault breaks the law that its patch names.
// test-sim-mutant-NAME PATCH is linked with the mutant.
#include "../mutant.h"
#include "laws.h"

static const char *patch;

static void mutant__is_caught(void **state)
{
	char name[MUTANT_TEXT], message[LAW_MESSAGE] = "it cannot be simulated";
	const struct law *law;

	(void)state;
	mutant_read(patch, "Caught by", name);
	law = law_find(name);
	if (law == NULL)
		fail_msg("%s: no law is named '%s'", patch, name);
	if (law->check(message))
		fail_msg("%s: '%s' holds", patch, name);
	print_message("%s: %s\n", name, message);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mutant__is_caught),
	};

	if (argc != 2)
		return 1;
	patch = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
