// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "base/spelling.h"
#include "completion.h"
#include "version/build.h"

#define PREFIX 4 // "evb "

struct command {
	char name[16]; // as argument parsers print it
	int (*run)(int argc, char **argv);
	const char *help;
};

static struct command commands[] = {
	{ "evb run", cmd_run, "run an appliance: receive, build, publish" },
	{ "evb check", cmd_check, "check a configuration and print the plan that follows from it" },
	{ "evb sim", cmd_sim, "simulate a network, and what a system does on it" },
	{ "evb gen", cmd_gen, "send generated data, or write it to files" },
	{ "evb replay", cmd_replay, "build events from a capture file" },
	{ "evb record", cmd_record, "write built events, or a port's packets, to files" },
	{ "evb dump", cmd_dump, "show and verify MFP, MEP, MDF and capture files" },
	{ "evb convert", cmd_convert, "convert MEP and MDF files to HDF5, and back" },
	{ "evb take", cmd_take, "try a producer: take and check what it commits to a ring" },
	{ "evb host", cmd_host, "is this host ready for an appliance? check, prepare, restore" },
	{ "evb ctl", cmd_ctl, "start, pause and end runs; exclude nodes; show the state" },
	{ "evb stat", cmd_stat, "ask a running appliance for its counters" },
	{ "evb top", cmd_top, "watch running appliances on the terminal" },
	{ "evb web", cmd_web, "serve a page with live plots, and metrics for Prometheus" },
};

static void print_help(FILE *out)
{
	fprintf(out, "usage: evb COMMAND [ARGUMENT]...\n\n");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-8s %s\n", commands[i].name + PREFIX, commands[i].help);
	fprintf(out,
		"\nevb COMMAND --help explains a command; evb --version prints the version.\n");
}

static void print_version(void)
{
	const struct build *build = build_get();

	printf("evb %s (%s), DPDK %s, %s XDP\n", build->version, build->commit, build->dpdk,
	       strcmp(build->xdp, "yes") == 0 ? "with" : "without");
}

static struct command *find(const char *name)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(name, commands[i].name + PREFIX) == 0)
			return &commands[i];
	return NULL;
}

// Runs "evb help COMMAND" as "evb COMMAND --help".
static int help_with(struct command *command)
{
	static char option[] = "--help";
	char *arguments[] = { command->name, option, NULL };

	return command->run(2, arguments);
}

static int refuse(const char *name)
{
	struct spelling_nearest nearest = { NULL, 0 };

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		spelling_compare(&nearest, name, commands[i].name + PREFIX);
	if (nearest.name)
		fprintf(stderr, "evb: there is no command \"%s\"; did you mean \"%s\"?\n", name,
			nearest.name);
	else
		fprintf(stderr, "evb: there is no command \"%s\"; evb --help lists them\n", name);
	return 1;
}

// For the completion of shells, packaging/make_completion.py: prints the tables of all commands, or
// the nodes of a configuration. Not listed by --help.
static int complete(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "nodes") == 0)
		return completion_nodes(argv[2]);
	arguments_print_tables();
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char *arguments[] = { commands[i].name + PREFIX, NULL };

		printf("%s\tcommand\t%s\n", arguments[0], commands[i].help);
		(void)commands[i].run(1, arguments); // the tables are printed, and nothing is done
		if (commands[i].run == cmd_record)
			(void)record_port(1, arguments); // a table of its own
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct command *command;

	if (argc < 2) {
		print_help(stderr);
		return 1;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0) {
		command = argc > 2 ? find(argv[2]) : NULL;
		if (command != NULL)
			return help_with(command);
		print_help(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		print_version();
		return 0;
	}
	if (strcmp(argv[1], "completion") == 0)
		return complete(argc - 1, argv + 1);
	command = find(argv[1]);
	if (command != NULL) {
		argv[1] = command->name;
		return command->run(argc - 1, argv + 1);
	}
	return refuse(argv[1]);
}
