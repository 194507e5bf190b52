// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "check_json.h"

#include "check_facts.h"

static cJSON *add_object(cJSON *list)
{
	cJSON *object = cJSON_CreateObject();

	if (cJSON_AddItemToArray(list, object))
		return object;
	cJSON_Delete(object);
	return NULL;
}

static void add_number(cJSON *to, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(to, name, (double)value);
}

static void add_lcores(cJSON *root, const struct plan *plan)
{
	cJSON *list = cJSON_AddArrayToObject(root, "lcores");

	for (unsigned i = 0; i < plan->n_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];
		cJSON *object = add_object(list), *roles;

		add_number(object, "cpu", lcore->cpu);
		add_number(object, "numa_node", lcore->numa_node);
		roles = cJSON_AddArrayToObject(object, "roles");
		for (unsigned j = 0; j < lcore->n_roles; j++)
			cJSON_AddItemToArray(roles,
					     cJSON_CreateString(plan->roles[lcore->roles[j]].name));
	}
}

static void add_ports(cJSON *root, const struct plan *plan)
{
	cJSON *list = cJSON_AddArrayToObject(root, "ports");

	for (unsigned i = 0; i < plan->config->n_ports; i++) {
		const struct port_settings *port = &plan->config->ports[i];
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "name", port->name);
		cJSON_AddStringToObject(object, "profile", port->profile);
		cJSON_AddStringToObject(object, "driver", plan->ports[i].profile.driver);
		cJSON_AddStringToObject(object, "device", port->device);
		add_number(object, "mtu", port->mtu);
		add_number(object, "link_rate", port_settings_rate(port));
		add_number(object, "rx_queues", plan->ports[i].n_rx_queues);
		add_number(object, "tx_queues", plan->ports[i].n_tx_queues);
		add_number(object, "pool_bytes", plan->ports[i].pool_bytes);
	}
}

static void add_generators(cJSON *root, const struct plan *plan)
{
	cJSON *list = cJSON_AddArrayToObject(root, "generators");

	for (unsigned i = 0; i < plan->config->n_generators; i++) {
		const struct plan_generator *generator = &plan->generators[i];
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "name", plan->config->generators[i].name);
		cJSON_AddStringToObject(object, "port", plan->config->generators[i].port);
		add_number(object, "pool_bytes", generator->pool_bytes);
		add_number(object, "ring_bytes", generator->ring_bytes);
		add_number(object, "set_bytes", generator->set_bytes);
		if (generator->store.size > 0)
			add_number(object, "store_events", generator->store.events);
	}
}

static void add_builders(cJSON *root, const struct plan *plan)
{
	cJSON *list = cJSON_AddArrayToObject(root, "builders");

	for (unsigned i = 0; i < plan->config->n_builders; i++) {
		const struct config_builder *builder = &plan->config->builders[i];
		cJSON *object = add_object(list);

		cJSON_AddStringToObject(object, "name", builder->name);
		add_number(object, "slots", builder->slots);
		add_number(object, "slot_size", builder->slot_size);
	}
}

static void add_fact(void *root, const char *section, const char *who, const char *text)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(root, section), *object;

	if (list == NULL)
		list = cJSON_AddArrayToObject(root, section);
	object = add_object(list);
	cJSON_AddStringToObject(object, "of", who);
	cJSON_AddStringToObject(object, "text", text);
}

static void add_memory(cJSON *root, const struct plan *plan)
{
	cJSON *memory = cJSON_AddObjectToObject(root, "memory");

	add_number(memory, "bytes", plan_bytes(plan));
	add_number(memory, "packet_bytes", plan->packet_bytes);
	add_number(memory, "slot_bytes", plan->ring_bytes);
	cJSON_AddBoolToObject(memory, "hugepages_suffice", plan->hugepages_suffice);
}

cJSON *check_json(const struct plan *plan)
{
	char error[PLAN_ERROR_SIZE];
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "name", plan->config->name);
	add_number(root, "run_number", plan->config->run_number);
	cJSON_AddStringToObject(root, "path", plan->config->path);
	add_lcores(root, plan);
	add_ports(root, plan);
	add_generators(root, plan);
	add_builders(root, plan);
	check_facts(plan, add_fact, root);
	add_memory(root, plan);
	if (plan_check_machine(plan, error) != 0)
		cJSON_AddStringToObject(root, "warning", error);
	return root;
}
