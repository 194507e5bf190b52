// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Another configuration between two runs of one process. The node of the event manager judges the
// file and asks all nodes. If each one can use it, the manager's node prepares with it, and then
// refuses the configuration of the others, which prepare with the file that they have agreed on. So
// a node does not need to learn in time that all have agreed. Where the manager is elected, no
// manager can be elected with the file at first: a node prepares when it hears one that has the
// file, and nodes vote only for candidates with their own configuration.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "appliance/parts.h"

// Memory for packets beyond that of the start: a part of what eal_memory() adds.
#define GROWTH (16u << 20)

// --- what a node can use ---

// Memory of DPDK that depends on keys that may change. The number of lcores and what depends on it
// are not comparable: the control thread, which plans now, may use one CPU only.
static uint64_t changeable_bytes(const struct plan *plan)
{
	uint64_t bytes = plan->control_bytes;

	for (unsigned i = 0; i < plan->config->n_generators; i++)
		bytes += plan->generators[i].set_bytes;
	return bytes;
}

// What remains from run to run: ports, pools and the memory of DPDK.
static int check_plan(const struct plan *next, const struct plan *now, char *error)
{
	const uint64_t needed = changeable_bytes(next), planned = changeable_bytes(now);

	for (unsigned i = 0; i < now->config->n_generators; i++)
		if (next->generators[i].buffer > now->generators[i].buffer)
			return plan_fail(
			    error, next,
			    "generators[%u].size: needs other pools of packets than at "
			    "the start: start the nodes again",
			    i);
	if (needed <= planned + GROWTH)
		return 0;
	return plan_fail(error, next,
			 "generators: they need %" PRIu64
			 " MiB more memory for packets than at the "
			 "start, at most %u can be added: start the nodes again",
			 (needed - planned) >> 20, GROWTH >> 20);
}

static int make_and_check_plan(const struct appliance *appliance, const struct config *config,
			       char *error)
{
	struct plan *plan = malloc(sizeof(*plan));
	int result = -1;

	if (plan == NULL)
		return appliance_fail(error, "out of memory");
	if (plan_make(plan, config, error) == 0)
		result = check_plan(plan, appliance->plan, error);
	free(plan);
	return result;
}

// Loads a file that this process can use in its next run. NULL with one line in error.
static struct config *judge(const struct appliance *appliance, const char *path, char *error)
{
	struct config *next;

	if (appliance->load == NULL) {
		(void)appliance_fail(error, "%s: this process has no configuration file", path);
		return NULL;
	}
	if (appliance->load(appliance->load_context, path, &next, error) != 0)
		return NULL;
	if (config_check_change(appliance->config, next, error) == 0 &&
	    make_and_check_plan(appliance, next, error) == 0)
		return next;
	config_free(next);
	return NULL;
}

void configure_forget(struct appliance *appliance)
{
	config_free(appliance->agreed);
	appliance->agreed = NULL;
}

// --- on the event manager's node ---

int configure_begin(struct appliance *appliance, const char *path, bool *is_same, char *error)
{
	struct control_file file;

	configure_forget(appliance);
	if (strlen(path) >= sizeof(file.path))
		return appliance_fail(error, "the path of the file has more than %zu characters",
				      sizeof(file.path) - 1);
	appliance->agreed = judge(appliance, path, error);
	if (appliance->agreed == NULL)
		return -1;
	file.hash = appliance->agreed->cluster.hash;
	*is_same = file.hash == appliance->config->cluster.hash;
	if (*is_same) {
		configure_forget(appliance);
		return 0;
	}
	strcpy(file.path, path);
	return control_role_propose(appliance_control(appliance), &file, error);
}

enum control_role_answer configure_finish(struct appliance *appliance, char *error)
{
	enum control_role_answer answer =
	    control_role_agreement(appliance_control(appliance), error);

	appliance->adopts = answer == CONTROL_ROLE_DONE;
	if (answer == CONTROL_ROLE_REFUSED)
		configure_forget(appliance);
	return answer;
}

// --- on the other nodes ---

void configure_watch(struct appliance *appliance)
{
	struct role *control = appliance_control(appliance);
	char error[APPLIANCE_ERROR_SIZE];
	const char *reason = NULL;
	struct control_file file;

	if (control != NULL && control_role_follows(control))
		(void)configure_follows(appliance);
	if (control == NULL || appliance->adopts || !control_role_proposal(control, &file))
		return;
	configure_forget(appliance);
	appliance->agreed = judge(appliance, file.path, error);
	if (appliance->agreed == NULL) {
		reason = error;
	} else if (appliance->agreed->cluster.hash != file.hash) {
		configure_forget(appliance);
		reason = "the file here is not that of the event manager's node: copy it";
	}
	control_role_judge(control, reason);
}

bool configure_follows(struct appliance *appliance)
{
	appliance->adopts = appliance->agreed != NULL && !appliance->run_begun;
	return appliance->adopts;
}

// --- on all nodes ---

void configure_adopt(struct appliance *appliance)
{
	config_replace(appliance->replaceable, appliance->agreed);
	appliance->agreed = NULL;
	notice(appliance, "the next run is that of %s", appliance->config->path);
}
