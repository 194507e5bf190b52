// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For the build and the tests: prints the manual's page of metrics, or the metric tables as JSON.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "telemetry/reference.h"

static int print(char *text)
{
	int result = text != NULL && fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? 0 : 1;

	free(text);
	return result;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "reference") == 0)
		return print(telemetry_reference());
	if (argc == 2 && strcmp(argv[1], "json") == 0)
		return print(telemetry_tables_json());
	fputs("usage: metrics_dump reference | json\n", stderr);
	return 2;
}
