// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/plan.h"

#include "cluster/cluster.h"
#include "cluster/on_wire.h"
#include "config/cluster_parameters.h"
#include "node/control_role.h"
#include "port/headroom.h"
#include "port/pause_state.h"
#include "wire/net.h"

#define FCS_BYTES 4u

static void print_bytes(FILE *out, uint64_t bytes)
{
	if (bytes >= 1024u * 1024 * 1024)
		fprintf(out, "%.2f GiB", (double)bytes / (1024.0 * 1024 * 1024));
	else if (bytes >= 1024u * 1024)
		fprintf(out, "%.1f MiB", (double)bytes / (1024.0 * 1024));
	else
		fprintf(out, "%.1f KiB", (double)bytes / 1024.0);
}

static void print_lcores(const struct plan *plan, FILE *out)
{
	fprintf(out, "\nlcores (idle policy %s)\n",
		plan->config->idle.policy == CONFIG_IDLE_POLL ? "poll" : "adaptive");
	for (unsigned i = 0; i < plan->n_lcores; i++) {
		fprintf(out, "  CPU %-3u", plan->lcores[i].cpu);
		for (unsigned j = 0; j < plan->lcores[i].n_roles; j++)
			fprintf(out, " %s", plan->roles[plan->lcores[i].roles[j]].name);
		fprintf(out, "\n");
	}
}

// Prints the headroom: the room that must be free above the high-water mark, so that nothing is
// lost until the sender has stopped.
static void print_flow_control(const struct config *config, const struct port_settings *port,
			       FILE *out)
{
	static const char *const modes[] = {
		[FLOW_CONTROL_AUTO] = "auto",
		[FLOW_CONTROL_HW] = "hw",
		[FLOW_CONTROL_EXTERNAL] = "external",
		[FLOW_CONTROL_SOFT] = "soft",
	};
	const struct flow_control_settings *flow = &port->flow_control;
	struct headroom_parameters parameters = {
		.bits_per_second = port->link_rate > 0 ? port->link_rate : PAUSE_RATE_ASSUMED,
		.cable_metres = flow->cable,
		.frame_bytes =
		    port->mtu + NET_ETH_SIZE + (port->has_vlan ? NET_VLAN_SIZE : 0) + FCS_BYTES,
	};
	struct headroom headroom;

	if (flow->mode == FLOW_CONTROL_OFF)
		return;
	if (flow->mode == FLOW_CONTROL_SOFT || flow->mode == FLOW_CONTROL_AUTO)
		parameters.poll_ns =
		    config->idle.policy == CONFIG_IDLE_ADAPTIVE ? config->idle.sleep_ns : 0;
	headroom_compute(&parameters, &headroom);
	fprintf(out,
		"  %-12s flow control %s, priority %u: XOFF above %.0f %%, XON below %.0f %%, "
		"headroom ",
		"", modes[flow->mode], flow->priority, flow->high_water * 100,
		flow->low_water * 100);
	print_bytes(out, headroom.total);
	fprintf(out, " at %s%.0f Mb/s\n", port->link_rate > 0 ? "" : "an assumed ",
		(double)parameters.bits_per_second * 1e-6);
}

static void print_ports(const struct plan *plan, FILE *out)
{
	fprintf(out, "\nports\n");
	for (unsigned i = 0; i < plan->config->n_ports; i++) {
		const struct port_settings *config = &plan->config->ports[i];
		const struct plan_port *port = &plan->ports[i];

		fprintf(out, "  %-12s %s (%s)%s%s, mtu %u, %u rx and %u tx queues\n", config->name,
			config->profile, port->profile.driver, config->device[0] ? " on " : "",
			config->device, config->mtu, port->n_rx_queues, port->n_tx_queues);
		fprintf(out, "  %-12s pool of %u mbufs of %u bytes, ", "", port->pool_mbufs,
			port->buffer);
		print_bytes(out, port->pool_bytes);
		fprintf(out, "\n");
		print_flow_control(plan->config, config, out);
	}
}

static void print_generators(const struct plan *plan, FILE *out)
{
	if (plan->config->n_generators > 0)
		fprintf(out, "\ngenerators\n");
	for (unsigned i = 0; i < plan->config->n_generators; i++) {
		const struct config_generator *config = &plan->config->generators[i];
		const struct plan_generator *generator = &plan->generators[i];

		fprintf(out, "  %-12s on %s, pre-filled blocks ", config->name, config->port);
		print_bytes(out, generator->set_bytes);
		fprintf(out, ", pools of %u mbufs, ", generator->pool_mbufs);
		print_bytes(out, generator->pool_bytes);
		fprintf(out, "\n");
	}
}

static void print_builders(const struct plan *plan, FILE *out)
{
	const struct config *config = plan->config;

	fprintf(out, "\nbuilders\n");
	for (unsigned i = 0; i < config->n_builders; i++) {
		const struct config_builder *builder = &config->builders[i];

		fprintf(out, "  %-12s %u slots of ", builder->name, builder->slots);
		print_bytes(out, builder->slot_size);
		fprintf(out, " = ");
		print_bytes(out, builder->slots * builder->slot_size);
		fprintf(out, ", event ring evb-%s.%u\n", config->name, i);
	}
	fprintf(out, "  an event: %u sources, packing %u, deadline %.3f ms, incomplete ones %s\n",
		config->sources.n_expected, config->sources.packing,
		(double)config->events.deadline_ns * 1e-6,
		config->events.on_incomplete == INCOMPLETE_FLAG ? "flagged" : "discarded");
}

static void print_links_of(const struct plan *plan, enum config_role_kind producer,
			   const char *remark, FILE *out)
{
	for (unsigned i = 0; i < plan->n_roles; i++)
		for (unsigned j = 0;
		     plan->roles[i].kind == producer && j < plan->config->n_builders; j++)
			fprintf(out, "  %s -> builder.%s%s\n", plan->roles[i].name,
				plan->config->builders[j].name, remark);
}

static void print_links(const struct plan *plan, FILE *out)
{
	const struct config *config = plan->config;
	bool is_lossless = config->links.policy == CONFIG_LINK_LOSSLESS;

	fprintf(out, "\nlinks (%u entries, %s)\n", config->links.depth,
		is_lossless ? "lossless" : "drop");
	print_links_of(plan, CONFIG_ROLE_RX, "", out);
	print_links_of(plan, CONFIG_ROLE_READOUT, is_lossless ? "" : ", lossless", out);
}

// Prints the control protocol's part of a node of a system.
static void print_control(const struct plan *plan, FILE *out)
{
	fprintf(out, "\ncontrol messages\n");
	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].kind == CONFIG_ROLE_RX)
			fprintf(out, "  %s -> control, %u entries, drop\n", plan->roles[i].name,
				PLAN_CONTROL_DEPTH);
	fprintf(out, "  pool of %u mbufs of %u bytes; with links and mailboxes ",
		plan->control_mbufs, plan->control_buffer);
	print_bytes(out, plan->control_bytes);
	fprintf(out, "\n");
}

static const char *use_of_hugepages(const struct plan *plan)
{
	switch (plan->config->memory.kind) {
	case MEMORY_SHM:
		return "not used";
	case MEMORY_HUGEPAGES:
		return plan->hugepages_suffice ? "used" : "too few";
	case MEMORY_AUTO:
		break;
	}
	return plan->hugepages_suffice ? "used" : "too few, ordinary memory is used";
}

static void print_memory(const struct plan *plan, FILE *out)
{
	const struct {
		const char *name;
		uint64_t bytes;
		bool always;
	} parts[] = {
		{ "packets", plan->packet_bytes, true },
		{ "slots", plan->ring_bytes, true },
		{ "builders", plan->assembly_bytes, true },
		{ "control", plan->endpoint_bytes, false },
		{ "manager", plan->sched_bytes, false },
		{ "RoCE", plan->roce_bytes, false },
	};
	uint64_t sum = 0;

	fprintf(out, "\nmemory\n");
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		sum += parts[i].bytes;
		if (!parts[i].always && parts[i].bytes == 0)
			continue;
		fprintf(out, "  %-8s ", parts[i].name);
		print_bytes(out, parts[i].bytes);
		fprintf(out, "\n");
	}
	fprintf(out, "  in all   ");
	print_bytes(out, sum);
	fprintf(out, ", hugepages are %s\n", use_of_hugepages(plan));
	for (unsigned i = 0; i < plan->n_nodes; i++) {
		const struct plan_node *node = &plan->nodes[i];

		fprintf(out, "  NUMA node %u: packets ", i);
		print_bytes(out, node->packet_bytes);
		fprintf(out, ", slots ");
		print_bytes(out, node->ring_bytes);
		fprintf(out, "; hugepages wanted ");
		print_bytes(out, node->hugepage_bytes);
		fprintf(out, ", free now ");
		print_bytes(out, node->free_hugepage_bytes);
		fprintf(out, "\n");
	}
}

static void print_node(const struct config *config, unsigned index, FILE *out)
{
	const struct cluster_system_node *node = &config->cluster.nodes[index];

	fprintf(out, "  %c %-12s %u.%u.%u.%u", index == config->cluster.self ? '*' : ' ',
		node->name, node->address >> 24, node->address >> 16 & 255,
		node->address >> 8 & 255, node->address & 255);
	if (node->manager)
		fprintf(out, ", event manager");
	if (node->n_sources > 0)
		fprintf(out, ", %u source%s", node->n_sources, node->n_sources == 1 ? "" : "s");
	if (node->n_builders == 1)
		fprintf(out, ", builder %u", node->first_builder);
	else if (node->n_builders > 1)
		fprintf(out, ", builders %u to %u", node->first_builder,
			node->first_builder + node->n_builders - 1);
	fprintf(out, "\n");
}

static uint64_t link_rate_of(const struct cluster_system *cluster, unsigned builder)
{
	return cluster->nodes[cluster->builders[builder].node].link_rate;
}

// Prints the data rate that grants allow per builder, by the rates of the builders' links.
static void print_pacing(const struct config *config, FILE *out)
{
	const struct cluster_system *cluster = &config->cluster;
	double target = config->event_manager.target_utilisation;
	const struct on_wire_parameters parameters = config_on_wire_parameters(config);
	struct on_wire wire;

	on_wire_make(&wire, &parameters);
	for (unsigned i = 0, next; i < cluster->n_builders; i = next) {
		double rate = (double)link_rate_of(cluster, i) * 1e-6;

		for (next = i + 1; next < cluster->n_builders; next++)
			if (link_rate_of(cluster, next) != link_rate_of(cluster, i))
				break;
		if (next == i + 1)
			fprintf(out, "  grants to builder %u: ", i);
		else
			fprintf(out, "  grants to builders %u to %u: ", i, next - 1);
		if (rate > 0)
			fprintf(out, "%.0f %% of %.0f Mb/s, %.0f Mb/s of data in segments of %u\n",
				target * 100, rate, rate * target * on_wire_efficiency(&wire),
				wire.payload);
		else
			fprintf(out, "not paced, link_rate of the port is not set\n");
	}
}

static void print_event_manager(const struct config *config, FILE *out)
{
	static const char *const modes[] = { "static", "push", "pull" };
	static const char *const policies[] = { "round-robin", "occupancy", "weighted", "random" };
	static const char *const shapings[] = { "none", "linear-shift", "timed-shift",
						"credit-window" };
	const struct config_event_manager *manager = &config->event_manager;
	uint64_t in_flight = 0;

	for (unsigned i = 0; i < config->cluster.n_builders; i++) {
		uint32_t slots = config->cluster.builders[i].slots;

		slots -= cluster_spare(slots);
		in_flight +=
		    manager->credits > 0 && manager->credits < slots ? manager->credits : slots;
	}
	fprintf(out, "  mode %s, policy %s, shaping %s; control messages on UDP port %u\n",
		modes[manager->mode], policies[manager->policy], shapings[manager->shaping],
		manager->control_port);
	fprintf(out, "  up to %llu events in flight, a source holds up to %u MFPs\n",
		(unsigned long long)in_flight, manager->source_buffer);
	if (in_flight > manager->source_buffer)
		fprintf(out,
			"  note: fewer MFPs than that: event_manager.source_buffer limits what "
			"is in flight\n");
	if (manager->mode != SCHED_STATIC)
		print_pacing(config, out);
}

static void print_system(const struct plan *plan, FILE *out)
{
	const struct cluster_system *cluster = &plan->config->cluster;

	fprintf(out, "\nsystem of %u node%s, configuration %016llx\n", cluster->n_nodes,
		cluster->n_nodes == 1 ? "" : "s", (unsigned long long)cluster->hash);
	for (unsigned i = 0; i < cluster->n_nodes; i++)
		print_node(plan->config, i, out);
	print_event_manager(plan->config, out);
}

void plan_print(const struct plan *plan, FILE *out)
{
	char error[PLAN_ERROR_SIZE];

	fprintf(out, "appliance %s, run %u: %s\n", plan->config->name, plan->config->run_number,
		plan->config->path);
	if (plan->config->cluster.n_nodes > 0)
		print_system(plan, out);
	print_lcores(plan, out);
	print_ports(plan, out);
	print_generators(plan, out);
	if (plan->config->n_builders > 0) {
		print_links(plan, out);
		print_builders(plan, out);
	}
	if (plan->config->cluster.n_nodes > 0)
		print_control(plan, out);
	print_memory(plan, out);
	if (plan_check_machine(plan, error) != 0)
		fprintf(out, "\nwarning: this machine would not run it now: %s\n", error);
}
