// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "telemetry/telemetry.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_telemetry.h>

#include "builder/builder_role.h"
#include "dpdk/release.h"
#include "telemetry/group.h"

#define PAGE_NUMBERS 512u // entries of a list in one response: DPDK's limit of an array
#define PAGE_NAMES   128u // with names of 72 characters it stays below TELEMETRY_MAX_REPLY
#define PAGE_THINGS  255u // of /all: DPDK's limit of a dictionary, less the count

#define GROUP_COMMAND  "/evb/%s/"
#define EAL_LCORE_LIST "/eal/lcore/list"
#define FRAME_BYTES    96u // of a response around its things, and of each thing around its keys

// Telemetry threads hold it while they make a response, the control thread to start and to stop.
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static const struct appliance *served; // NULL: none
static bool registered;

static bool is_end(const char *parameters)
{
	return parameters == NULL || parameters[0] == '\0';
}

// Reads a whole number of up to 9 digits and moves `text` behind it.
static bool read_number(const char **text, unsigned *number)
{
	unsigned digits = 0;

	*number = 0;
	for (; **text >= '0' && **text <= '9' && digits < 9; (*text)++, digits++)
		*number = *number * 10 + (unsigned)(**text - '0');
	return digits > 0 && (**text < '0' || **text > '9');
}

// "", "OFFSET" or "OFFSET,COUNT", of at most `most` entries. False: the response is an error.
static bool read_page(const char *parameters, unsigned most, unsigned *offset, unsigned *count,
		      struct rte_tel_data *data)
{
	bool sound = true;

	*offset = 0;
	*count = most;
	if (!is_end(parameters)) {
		sound = read_number(&parameters, offset);
		if (sound && *parameters == ',') {
			parameters++;
			sound = read_number(&parameters, count);
		}
		sound = sound && *parameters == '\0';
	}
	*count = *count < most ? *count : most;
	if (!sound)
		telemetry_set_error(data, "parameters are OFFSET[,COUNT], whole numbers");
	return sound;
}

static void answer_list(const struct appliance *appliance, const struct telemetry_group *group,
			const char *parameters, struct rte_tel_data *data)
{
	bool names = telemetry_has_names(group);
	unsigned n = telemetry_count(group, appliance), offset, count;
	telemetry_bases bases;

	if (!read_page(parameters, names ? PAGE_NAMES : PAGE_NUMBERS, &offset, &count, data))
		return;
	rte_tel_data_start_array(data, names ? RTE_TEL_STRING_VAL : RTE_TEL_INT_VAL);
	for (unsigned i = offset; i < n && count > 0; i++, count--) {
		if (!telemetry_view(group, appliance, i, bases))
			return; // closed since it was counted
		if (names)
			rte_tel_data_add_array_string(data,
						      telemetry_text(group->tables[0], bases[0]));
		else
			rte_tel_data_add_array_int(
			    data, (int)telemetry_number(group->tables[0], bases[0]));
	}
}

// The index of the thing that the parameters name, or the number of things if there is none.
static unsigned find(const struct appliance *appliance, const struct telemetry_group *group,
		     const char *parameters)
{
	unsigned n = telemetry_count(group, appliance), number = 0;
	const char *text = parameters;
	bool is_number = read_number(&text, &number) && *text == '\0';
	telemetry_bases bases;

	for (unsigned i = 0; i < n && telemetry_view(group, appliance, i, bases); i++) {
		const struct metric *name = group->tables[0];

		if (telemetry_has_names(group)
			? strcmp(telemetry_text(name, bases[0]), parameters) == 0
			: is_number && telemetry_number(name, bases[0]) == number)
			return i;
	}
	return n;
}

static void answer_info(const struct appliance *appliance, const struct telemetry_group *group,
			const char *parameters, struct rte_tel_data *data)
{
	unsigned index = is_end(parameters) ? 0 : find(appliance, group, parameters);

	if (is_end(parameters)) {
		telemetry_set_error(data, "which %s? " GROUP_COMMAND "list names them", group->name,
				    group->name);
	} else if (index == telemetry_count(group, appliance)) {
		telemetry_set_error(data,
				    "there is no %s \"%.40s\": " GROUP_COMMAND "list names them",
				    group->name, parameters, group->name);
	} else {
		rte_tel_data_start_dict(data);
		(void)telemetry_add_thing(data, appliance, group, index, false);
	}
}

// As many dictionaries NAME_INDEX as fit, and the number of all things.
static void answer_all(const struct appliance *appliance, const struct telemetry_group *group,
		       const char *parameters, struct rte_tel_data *data)
{
	unsigned n = telemetry_count(group, appliance), offset, count;
	size_t used = FRAME_BYTES;

	if (!read_page(parameters, PAGE_THINGS, &offset, &count, data))
		return;
	rte_tel_data_start_dict(data);
	dpdk_add_uint(data, "count", n);
	for (unsigned i = offset; i < n && count > 0; i++, count--) {
		struct rte_tel_data *thing = rte_tel_data_alloc();
		char key[RTE_TEL_MAX_STRING_LEN];
		size_t bytes;

		if (thing == NULL)
			return; // memory is short: the response ends here
		rte_tel_data_start_dict(thing);
		bytes = telemetry_add_thing(thing, appliance, group, i, true);
		used += bytes + FRAME_BYTES;
		snprintf(key, sizeof(key), "%s_%u", group->name, i);
		// 0: the thing, and so all behind it, have gone since they were counted.
		if (bytes == 0 || used > TELEMETRY_MAX_REPLY ||
		    rte_tel_data_add_dict_container(data, key, thing, 0) != 0) {
			rte_tel_data_free(thing);
			return;
		}
	}
}

static void answer_latency(const struct appliance *appliance, const char *parameters,
			   struct rte_tel_data *data)
{
	struct assembly_latency latency = { 0 };
	bool found = false;

	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		const struct role *role = appliance_role(appliance, CONFIG_ROLE_BUILDER, i);
		const struct assembly_latency *one = assembly_latency(builder_role_assembly(role));

		if (!is_end(parameters) &&
		    strcmp(parameters, appliance->config->builders[i].name) != 0)
			continue;
		histogram_merge(&latency.complete, &one->complete);
		histogram_merge(&latency.released, &one->released);
		found = true;
	}
	if (!found && !is_end(parameters)) {
		telemetry_set_error(data,
				    "there is no builder \"%.40s\": /evb/builder/list names them",
				    parameters);
		return;
	}
	rte_tel_data_start_dict(data);
	(void)telemetry_add_histogram(data, "complete_ns", &latency.complete);
	(void)telemetry_add_histogram(data, "released_ns", &latency.released);
}

static void answer_eal_lcores(const struct appliance *appliance, const char *parameters,
			      struct rte_tel_data *data)
{
	(void)appliance;
	(void)parameters;
	rte_tel_data_start_array(data, RTE_TEL_INT_VAL);
	for (unsigned id = 0; id < RTE_MAX_LCORE; id++)
		if (rte_lcore_is_enabled(id))
			rte_tel_data_add_array_int(data, (int)id);
}

static void add_cpuset(struct rte_tel_data *data, unsigned id)
{
	struct rte_tel_data *list = rte_tel_data_alloc();
	rte_cpuset_t cpus = rte_lcore_cpuset(id);

	if (list == NULL)
		return; // memory is short: the response lacks the list
	rte_tel_data_start_array(list, RTE_TEL_INT_VAL);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			rte_tel_data_add_array_int(list, cpu);
	if (rte_tel_data_add_dict_container(data, "cpuset", list, 0) != 0)
		rte_tel_data_free(list);
}

// The keys and their types are those of DPDK 23.03 and later.
static void answer_eal_lcore(const struct appliance *appliance, const char *parameters,
			     struct rte_tel_data *data)
{
	unsigned id;

	if (is_end(parameters) || !read_number(&parameters, &id) || *parameters != '\0' ||
	    !rte_lcore_is_enabled(id)) {
		telemetry_set_error(data, "there is no such lcore: " EAL_LCORE_LIST " names them");
		return;
	}
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_int(data, "lcore_id", (int)id);
	rte_tel_data_add_dict_int(data, "socket", (int)rte_lcore_to_socket_id(id));
	rte_tel_data_add_dict_string(data, "role", "RTE");
	add_cpuset(data, id);
	for (unsigned i = 0; i < appliance->plan->n_lcores; i++) {
		const struct lcore *lcore = &appliance->lcores[i];
		uint64_t busy = counter_read(&lcore->counters.busy_cycles);

		if (lcore->id != id)
			continue;
		dpdk_add_uint(data, "busy_cycles", busy);
		dpdk_add_uint(data, "total_cycles",
			      busy + counter_read(&lcore->counters.idle_cycles) +
				  counter_read(&lcore->counters.backpressured_cycles));
	}
}

const struct telemetry_other telemetry_others[] = {
	{ "/evb/diagnosis", NULL, "What is wrong, in one sentence, and how to correct it",
	  telemetry_answer_diagnosis },
	{ "/evb/latency", "[,BUILDER]",
	  "Histograms of the latency of a builder, or of all together", answer_latency },
	{ EAL_LCORE_LIST, NULL, "Numbers of DPDK's lcores, the main one included",
	  answer_eal_lcores },
	{ "/eal/lcore/info", ",ID",
	  "An lcore: CPUs and cycles, in the form of newer releases of DPDK", answer_eal_lcore },
	{ 0 },
};

// The group of a command /evb/GROUP/VERB; moves `command` to the verb.
static const struct telemetry_group *find_group(const char **command)
{
	char begin[TELEMETRY_MAX_COMMAND];

	for (unsigned i = 0; telemetry_groups[i] != NULL; i++) {
		int length =
		    snprintf(begin, sizeof(begin), GROUP_COMMAND, telemetry_groups[i]->name);

		if (strncmp(*command, begin, (size_t)length) == 0) {
			*command += length;
			return telemetry_groups[i];
		}
	}
	return NULL;
}

static void answer(const struct appliance *appliance, const char *command, const char *parameters,
		   struct rte_tel_data *data)
{
	const struct telemetry_group *group;

	for (const struct telemetry_whole *whole = telemetry_wholes; whole->command; whole++) {
		if (strcmp(whole->command, command) != 0)
			continue;
		rte_tel_data_start_dict(data);
		(void)telemetry_add_table(data, whole->table, whole->view(appliance));
		return;
	}
	for (const struct telemetry_other *other = telemetry_others; other->command; other++)
		if (strcmp(other->command, command) == 0) {
			other->answer(appliance, parameters, data);
			return;
		}
	group = find_group(&command);
	if (strcmp(command, "list") == 0)
		answer_list(appliance, group, parameters, data);
	else if (strcmp(command, "info") == 0)
		answer_info(appliance, group, parameters, data);
	else
		answer_all(appliance, group, parameters, data);
}

// DPDK calls this function for every command.
static int on_command(const char *command, const char *parameters, struct rte_tel_data *data)
{
	pthread_rwlock_rdlock(&lock);
	if (served != NULL) {
		answer(served, command, parameters, data);
	} else {
		rte_tel_data_start_dict(data);
		rte_tel_data_add_dict_string(data, "state", "stopped");
	}
	pthread_rwlock_unlock(&lock);
	return 0;
}

static int register_group(const struct telemetry_group *group)
{
	char command[TELEMETRY_MAX_COMMAND], help[TELEMETRY_MAX_HELP];
	int result = 0;

	for (unsigned i = 0; i < TELEMETRY_N_VERBS && result == 0; i++) {
		telemetry_group_command(group, i, command, help);
		result = rte_telemetry_register_cmd(command, on_command, help);
	}
	return result;
}

static bool may_have(const struct appliance *appliance, const struct telemetry_group *group)
{
	return telemetry_count(group, appliance) > 0 ||
	       (group->comes_and_goes != NULL && group->comes_and_goes(appliance));
}

// A group without things is not registered, unless some can appear later.
static int register_all(const struct appliance *appliance)
{
	int result = 0;

	for (unsigned i = 0; telemetry_wholes[i].command != NULL && result == 0; i++)
		result = rte_telemetry_register_cmd(telemetry_wholes[i].command, on_command,
						    telemetry_wholes[i].help);
	for (unsigned i = 0; telemetry_groups[i] != NULL && result == 0; i++)
		if (may_have(appliance, telemetry_groups[i]))
			result = register_group(telemetry_groups[i]);
	for (unsigned i = 0; telemetry_others[i].command != NULL && result == 0; i++)
		result = rte_telemetry_register_cmd(telemetry_others[i].command, on_command,
						    telemetry_others[i].help);
	return result < 0 ? result : -result;
}

int appliance_telemetry_start(const struct appliance *appliance)
{
	int result = registered ? 0 : register_all(appliance);

	if (result != 0)
		return result;
	registered = true;
	pthread_rwlock_wrlock(&lock);
	served = appliance;
	pthread_rwlock_unlock(&lock);
	return 0;
}

void appliance_telemetry_stop(void)
{
	pthread_rwlock_wrlock(&lock);
	served = NULL;
	pthread_rwlock_unlock(&lock);
}
