// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/telemetry.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_telemetry.h>

#include "appliance/telemetry_data.h"
#include "appliance/telemetry_views.h"
#include "builder/builder_role.h"

#define PAGE_NUMBERS 512u // most entries of a list in one answer: DPDK's limit of an array
#define PAGE_NAMES   128u // with names of 72 characters it stays below TELEMETRY_MAX_REPLY

// Telemetry threads hold it for an answer; the control thread, to start and to stop.
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static const struct appliance *served; // NULL: none
static bool registered;

static bool is_end(const char *parameters)
{
	return parameters == NULL || parameters[0] == '\0';
}

// Reads a whole number up to 9 digits and moves behind it.
static bool read_number(const char **text, unsigned *number)
{
	unsigned digits = 0;

	*number = 0;
	for (; **text >= '0' && **text <= '9' && digits < 9; (*text)++, digits++)
		*number = *number * 10 + (unsigned)(**text - '0');
	return digits > 0 && (**text < '0' || **text > '9');
}

// "", "OFFSET" or "OFFSET,COUNT".
static bool read_page(const char *parameters, unsigned *offset, unsigned *count)
{
	*offset = 0;
	if (is_end(parameters))
		return true;
	if (!read_number(&parameters, offset))
		return false;
	if (*parameters == ',') {
		parameters++;
		if (!read_number(&parameters, count))
			return false;
	}
	return *parameters == '\0';
}

static void answer_list(const struct appliance *appliance, const struct telemetry_group *group,
			const char *parameters, struct rte_tel_data *data)
{
	unsigned most = group->name != NULL ? PAGE_NAMES : PAGE_NUMBERS;
	unsigned n = group->count(appliance), offset, count = most;

	if (!read_page(parameters, &offset, &count)) {
		telemetry_set_error(data, "parameters are OFFSET[,COUNT], whole numbers");
		return;
	}
	if (count > most)
		count = most;
	rte_tel_data_start_array(data, group->name != NULL ? RTE_TEL_STRING_VAL : RTE_TEL_INT_VAL);
	for (unsigned i = offset; i < n && count > 0; i++, count--) {
		if (group->name != NULL)
			rte_tel_data_add_array_string(data, group->name(appliance, i));
		else
			rte_tel_data_add_array_int(data, (int)group->number(appliance, i));
	}
}

// The index of the thing that the parameters name, or the count if there is none.
static unsigned find(const struct appliance *appliance, const struct telemetry_group *group,
		     const char *parameters)
{
	unsigned n = group->count(appliance), number = 0;
	const char *text = parameters;
	bool is_number = read_number(&text, &number) && *text == '\0';

	for (unsigned i = 0; i < n; i++) {
		if (group->name != NULL ? strcmp(group->name(appliance, i), parameters) == 0
					: is_number && group->number(appliance, i) == number)
			return i;
	}
	return n;
}

static void answer_info(const struct appliance *appliance, const struct telemetry_group *group,
			const char *parameters, struct rte_tel_data *data)
{
	const struct telemetry_answer *answer = &telemetry_answers[group->info];
	telemetry_bases bases = { NULL };
	union telemetry_view view;
	unsigned index;

	if (is_end(parameters)) {
		telemetry_set_error(data, "which %s? %s names them", group->what,
				    telemetry_answers[group->list].command);
		return;
	}
	index = find(appliance, group, parameters);
	if (index == group->count(appliance)) {
		telemetry_set_error(data, "there is no %s \"%.40s\": %s names them", group->what,
				    parameters, telemetry_answers[group->list].command);
		return;
	}
	rte_tel_data_start_dict(data);
	bases[0] = &view;
	group->view(appliance, index, &view, bases);
	for (unsigned i = 0; i < TELEMETRY_MAX_TABLES && answer->tables[i] != NULL; i++)
		if (bases[i] != NULL)
			telemetry_add_table(data, answer->tables[i], bases[i]);
	for (unsigned i = 0; i < group->n_nested; i++)
		if (group->nested(appliance, index, i, &view))
			telemetry_add_nested(data, answer->nested, i, answer->nested_table, &view);
}

static void answer_whole(const struct appliance *appliance, enum telemetry_command command,
			 struct rte_tel_data *data)
{
	union telemetry_view view;

	rte_tel_data_start_dict(data);
	if (command == TELEMETRY_INFO)
		telemetry_view_info(appliance, &view.info);
	else
		telemetry_view_summary(appliance, &view.summary);
	telemetry_add_table(data, telemetry_answers[command].tables[0], &view);
}

static void answer_latency(const struct appliance *appliance, const char *parameters,
			   struct rte_tel_data *data)
{
	struct assembly_latency latency = { 0 };
	bool found = false;

	for (unsigned i = 0; i < appliance->config->n_builders; i++) {
		const struct role *role = telemetry_find_role(appliance, CONFIG_ROLE_BUILDER, i);
		const struct assembly_latency *one = assembly_latency(builder_role_assembly(role));

		if (!is_end(parameters) &&
		    strcmp(parameters, appliance->config->builders[i].name) != 0)
			continue;
		histogram_merge(&latency.complete, &one->complete);
		histogram_merge(&latency.released, &one->released);
		found = true;
	}
	if (!found && !is_end(parameters)) {
		telemetry_set_error(data, "there is no builder \"%.40s\": %s names them",
				    parameters, telemetry_answers[TELEMETRY_BUILDER_LIST].command);
		return;
	}
	rte_tel_data_start_dict(data);
	telemetry_add_histogram(data, "complete_ns", &latency.complete);
	telemetry_add_histogram(data, "released_ns", &latency.released);
}

static void answer_eal_lcores(struct rte_tel_data *data)
{
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
		return; // memory is short: the answer comes without it
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
		telemetry_set_error(data, "there is no such lcore: %s names them",
				    telemetry_answers[TELEMETRY_EAL_LCORE_LIST].command);
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
		rte_tel_data_add_dict_u64(data, "busy_cycles", busy);
		rte_tel_data_add_dict_u64(data, "total_cycles",
					  busy + counter_read(&lcore->counters.idle_cycles) +
					      counter_read(&lcore->counters.backpressured_cycles));
	}
}

static void answer(const struct appliance *appliance, enum telemetry_command command,
		   const char *parameters, struct rte_tel_data *data)
{
	const struct telemetry_group *group = telemetry_groups;

	switch (command) {
	case TELEMETRY_INFO:
	case TELEMETRY_SUMMARY:
	case TELEMETRY_DROPS:
		answer_whole(appliance, command, data);
		return;
	case TELEMETRY_LATENCY:
		answer_latency(appliance, parameters, data);
		return;
	case TELEMETRY_EAL_LCORE_LIST:
		answer_eal_lcores(data);
		return;
	case TELEMETRY_EAL_LCORE_INFO:
		answer_eal_lcore(appliance, parameters, data);
		return;
	default:
		break;
	}
	while (group->list != command && group->info != command)
		group++;
	if (group->list == command)
		answer_list(appliance, group, parameters, data);
	else
		answer_info(appliance, group, parameters, data);
}

// DPDK calls it for each of the commands, which it names.
static int on_command(const char *command, const char *parameters, struct rte_tel_data *data)
{
	unsigned i = 0;

	while (i < TELEMETRY_N_COMMANDS && strcmp(telemetry_answers[i].command, command) != 0)
		i++;
	if (i == TELEMETRY_N_COMMANDS)
		return -EINVAL;
	pthread_rwlock_rdlock(&lock);
	if (served != NULL) {
		answer(served, i, parameters, data);
	} else {
		rte_tel_data_start_dict(data);
		rte_tel_data_add_dict_string(data, "state", "stopped");
	}
	pthread_rwlock_unlock(&lock);
	return 0;
}

int appliance_telemetry_start(const struct appliance *appliance)
{
	for (unsigned i = 0; i < TELEMETRY_N_COMMANDS && !registered; i++) {
		int result = rte_telemetry_register_cmd(telemetry_answers[i].command, on_command,
							telemetry_answers[i].help);

		if (result != 0)
			return result < 0 ? result : -result;
	}
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
