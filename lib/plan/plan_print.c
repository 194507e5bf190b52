// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "plan/plan.h"

#include "cluster/cluster.h"
#include "node/control_role.h"
#include "port/flow_control.h"
#include "port/headroom.h"
#include "system/on_wire.h"
#include "wire/net.h"

#define FCS_BYTES 4u

struct size {
	char text[32];
};

// A size for people.
static struct size size(uint64_t bytes)
{
	struct size size;

	if (bytes >= 1024u * 1024 * 1024)
		snprintf(size.text, sizeof(size.text), "%.2f GiB",
			 (double)bytes / (1024.0 * 1024 * 1024));
	else if (bytes >= 1024u * 1024)
		snprintf(size.text, sizeof(size.text), "%.1f MiB", (double)bytes / (1024.0 * 1024));
	else
		snprintf(size.text, sizeof(size.text), "%.1f KiB", (double)bytes / 1024.0);
	return size;
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
	const struct flow_control_settings *flow = &port->flow_control;
	struct headroom_parameters parameters = {
		.bits_per_second =
		    port_settings_rate(port) > 0 ? port_settings_rate(port) : PAUSE_RATE_ASSUMED,
		.cable_metres = flow->cable,
		.frame_bytes =
		    port->mtu + NET_ETH_SIZE + (port->has_vlan ? NET_VLAN_SIZE : 0) + FCS_BYTES,
	};

	if (flow->mode == FLOW_CONTROL_OFF)
		return;
	if (flow->mode == FLOW_CONTROL_SOFT || flow->mode == FLOW_CONTROL_AUTO)
		parameters.poll_ns =
		    config->idle.policy == CONFIG_IDLE_ADAPTIVE ? config->idle.sleep_ns : 0;
	fprintf(out,
		"  %-12s flow control %s, priority %u: XOFF above %.0f %%, XON below %.0f %%, "
		"headroom %s at %s%.0f Mb/s\n",
		"", flow_control_mode_name(flow->mode), flow->priority, flow->high_water * 100,
		flow->low_water * 100, size(headroom_bytes(&parameters)).text,
		port_settings_rate(port) > 0 ? "" : "an assumed ",
		(double)parameters.bits_per_second * 1e-6);
}

static void print_link_rate(const struct port_settings *port, FILE *out)
{
	if (!port->link_rate_is_auto)
		return;
	if (port->rate_found > 0)
		fprintf(out, "  %-12s link_rate %.0f Mb/s of the interface\n", "",
			(double)port->rate_found * 1e-6);
	else
		fprintf(out, "  %-12s link_rate unknown until the port has started\n", "");
}

static void print_ports(const struct plan *plan, FILE *out)
{
	fprintf(out, "\nports\n");
	for (unsigned i = 0; i < plan->config->n_ports; i++) {
		const struct port_settings *config = &plan->config->ports[i];
		const struct plan_port *port = &plan->ports[i];

		fprintf(out, "  %-12s %s (%s)%s%s, mtu %u%s, %u rx and %u tx queues\n",
			config->name, config->profile, port->profile.driver,
			config->device[0] ? " on " : "", config->device, config->mtu,
			config->mtu_is_auto ? " of the interface" : "", port->n_rx_queues,
			port->n_tx_queues);
		print_link_rate(config, out);
		fprintf(out, "  %-12s pool of %u mbufs of %u bytes, %s\n", "", port->pool_mbufs,
			port->buffer, size(port->pool_bytes).text);
		print_flow_control(plan->config, config, out);
	}
}

// Prints what a store holds that others fill, and how full a spill makes it.
static void print_store(const struct plan_store *store, const struct config_spill *spill, FILE *out)
{
	if (store->size == 0)
		return;
	fprintf(out, "  %-12s holds %llu events with the largest blocks, at most %llu events\n", "",
		(unsigned long long)store->events, (unsigned long long)store->max_events);
	if (store->events == 0)
		fprintf(out, "  %-12s note: an event with the largest blocks does not fit\n", "");
	if (store->spill_highest == 0)
		return;
	fprintf(out,
		"  %-12s a spill of %s in %.3f s, each %.3f s: %.2f MB/s on average, the links "
		"carry %.2f MB/s\n",
		"", size(spill->size).text, (double)spill->duration_ns * 1e-9,
		(double)spill->period_ns * 1e-9, store->mean_rate * 1e-6, store->link_rate * 1e-6);
	fprintf(out,
		"  %-12s it fills up to %s (%.1f %%), and is gone %.2f s after its beginning\n", "",
		size(store->spill_highest).text,
		100 * (double)store->spill_highest / (double)store->size, store->spill_empty);
}

static void print_generators(const struct plan *plan, FILE *out)
{
	if (plan->config->n_generators > 0)
		fprintf(out, "\ngenerators\n");
	for (unsigned i = 0; i < plan->config->n_generators; i++) {
		const struct config_generator *config = &plan->config->generators[i];
		const struct plan_generator *generator = &plan->generators[i];

		bool is_ring = config->kind == GENERATOR_PRODUCER;
		bool is_port = config->kind == GENERATOR_PORT;

		fprintf(out, "  %-12s on %s, ", config->name, config->port);
		if (config->kind == GENERATOR_EVENT_RING)
			fprintf(out, "events of appliance %s", config->egress.appliance);
		else
			fprintf(out, "%s %s",
				is_ring   ? "producer ring"
				: is_port ? "blocks of boards"
					  : "pre-filled blocks",
				size(is_ring ? generator->ring_bytes : generator->set_bytes).text);
		fprintf(out, ", pools of %u mbufs, %s\n", generator->pool_mbufs,
			size(generator->pool_bytes).text);
		print_store(&generator->store, &config->spill, out);
	}
}

static void print_builders(const struct plan *plan, FILE *out)
{
	const struct config *config = plan->config;

	fprintf(out, "\nbuilders\n");
	for (unsigned i = 0; i < config->n_builders; i++) {
		const struct config_builder *builder = &config->builders[i];

		fprintf(out, "  %-12s %u slots of %s = %s, event ring evb-%s/ring.%u\n",
			builder->name, builder->slots, size(builder->slot_size).text,
			size(builder->slots * builder->slot_size).text, config->name, i);
		if (builder->slot_size_is_auto)
			fprintf(out, "  %-12s for fragments of %u bytes, and a quarter more\n", "",
				config->sources.fragment_size);
	}
	fprintf(out, "  an event: %u sources, packing %u, deadline %.3f ms, incomplete ones %s\n",
		config->sources.n_expected, config->sources.packing,
		(double)config->events.deadline_ns * 1e-6,
		config->events.on_incomplete == INCOMPLETE_FLAG ? "flagged" : "discarded");
}

// Prints the groups of consumers that decide, or come after a decision.
static void print_groups(const struct config *config, FILE *out)
{
	if (config->n_groups > 0)
		fprintf(out, "\nconsumer groups\n");
	for (unsigned i = 0; i < config->n_groups; i++) {
		const struct config_group *group = &config->groups[i];

		if (group->decides)
			fprintf(out, "  %-12s decides; undecided events are %s\n", group->name,
				group->undecided == CONFIG_UNDECIDED_REJECT ? "rejected"
									    : "accepted");
		else if (group->after[0])
			fprintf(out, "  %-12s gets events that %s has %s\n", group->name,
				group->after, group->rejected_too ? "decided" : "accepted");
		else
			fprintf(out, "  %-12s gets all events\n", group->name);
	}
}

static void print_links_of(const struct plan *plan, enum config_role_kind producer,
			   const char *remark, FILE *out)
{
	for (unsigned i = 0; i < plan->n_roles; i++)
		for (unsigned j = 0;
		     plan->roles[i].kind == producer && j < plan->config->n_builders &&
		     plan_listener(plan, &plan->roles[i]) == plan->config->n_generators;
		     j++)
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
	for (unsigned i = 0; i < plan->n_roles; i++) {
		unsigned listener = plan_listener(plan, &plan->roles[i]);

		if (listener < config->n_generators)
			fprintf(out, "  %s -> readout.%s%s\n", plan->roles[i].name,
				config->generators[listener].name,
				is_lossless && !config_is_for_boards(config, plan->roles[i].port)
				    ? ", drop"
				    : "");
	}
}

// Prints the control protocol's part of a node of a system.
static void print_control(const struct plan *plan, FILE *out)
{
	fprintf(out, "\ncontrol messages\n");
	for (unsigned i = 0; i < plan->n_roles; i++)
		if (plan->roles[i].kind == CONFIG_ROLE_RX)
			fprintf(out, "  %s -> control, %u entries, drop\n", plan->roles[i].name,
				PLAN_CONTROL_DEPTH);
	fprintf(out, "  pool of %u mbufs of %u bytes; with links and mailboxes %s\n",
		plan->control_mbufs, plan->control_buffer, size(plan->control_bytes).text);
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

uint64_t plan_bytes(const struct plan *plan)
{
	return plan->packet_bytes + plan->ring_bytes + plan->producer_bytes +
	       plan_ordinary_bytes(plan);
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
		{ "producers", plan->producer_bytes, false },
		{ "builders", plan->assembly_bytes, true },
		{ "stores", plan->store_bytes, false },
		{ "readouts", plan->readout_bytes, false },
		{ "writers", plan->writer_bytes, false },
		{ "control", plan->endpoint_bytes, false },
		{ "manager", plan->sched_bytes, false },
		{ "results", plan->decision_bytes, false },
		{ "RoCE", plan->roce_bytes, false },
	};

	fprintf(out, "\nmemory\n");
	for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].always || parts[i].bytes > 0)
			fprintf(out, "  %-8s %s\n", parts[i].name, size(parts[i].bytes).text);
	fprintf(out, "  in all   %s, hugepages are %s\n", size(plan_bytes(plan)).text,
		use_of_hugepages(plan));
	for (unsigned i = 0; i < plan->n_nodes; i++) {
		const struct plan_node *node = &plan->nodes[i];

		fprintf(out,
			"  NUMA node %u: packets %s, slots %s; hugepages wanted %s, free now %s\n",
			i, size(node->packet_bytes).text, size(node->ring_bytes).text,
			size(node->hugepage_bytes).text, size(node->free_hugepage_bytes).text);
	}
}

static void print_node(const struct config *config, unsigned index, FILE *out)
{
	const struct cluster_system_node *node = &config->cluster.nodes[index];

	fprintf(out, "  %c %-12s %u.%u.%u.%u", index == config->cluster.self ? '*' : ' ',
		node->name, node->address >> 24, node->address >> 16 & 255,
		node->address >> 8 & 255, node->address & 255);
	if (node->manager)
		fprintf(out, cluster_elects(&config->cluster) ? ", can be the event manager"
							      : ", event manager");
	if (node->n_sources > 0)
		fprintf(out, ", %u source%s", node->n_sources, node->n_sources == 1 ? "" : "s");
	if (node->n_builders == 1)
		fprintf(out, ", builder %u", node->first_builder);
	else if (node->n_builders > 1)
		fprintf(out, ", builders %u to %u", node->first_builder,
			node->first_builder + node->n_builders - 1);
	fprintf(out, "\n");
}

// Prints the data rate that grants allow per link, by the rates of the builders' links.
static void print_pacing(const struct config *config, FILE *out)
{
	const struct cluster_system *cluster = &config->cluster;
	double target = config->event_manager.sched.target_utilisation;
	const struct on_wire_parameters parameters = config_on_wire_parameters(config);
	struct on_wire wire;

	on_wire_make(&wire, &parameters);
	for (unsigned i = 0, next; i < cluster->n_builders; i = next) {
		const struct cluster_link link = cluster_link_of(cluster, i);
		double rate = (double)link.rate * 1e-6;

		for (next = i + 1; next < cluster->n_builders; next++) {
			const struct cluster_link other = cluster_link_of(cluster, next);

			if (other.rate != link.rate || other.n_builders != link.n_builders ||
			    other.is_reported != link.is_reported)
				break;
		}
		if (next == i + 1)
			fprintf(out, "  grants to builder %u", i);
		else
			fprintf(out, "  grants to builders %u to %u", i, next - 1);
		if (link.n_builders > 1)
			fprintf(out, ", of which %u share a link", link.n_builders);
		if (rate > 0)
			fprintf(out,
				": %.0f %% of %.0f Mb/s, %.0f Mb/s of data in segments of %u\n",
				target * 100, rate, rate * target * on_wire_efficiency(&wire),
				wire.payload);
		else if (link.is_reported)
			fprintf(out, ": %.0f %% of the link_rate that each node reports\n",
				target * 100);
		else
			fprintf(out, ": not paced, link_rate of the port is not set\n");
	}
}

static void print_event_manager(const struct config *config, FILE *out)
{
	static const char *const modes[] = { "static", "push", "pull" };
	static const char *const policies[] = { "round-robin", "occupancy", "weighted", "random" };
	static const char *const shapings[] = { "none", "linear-shift", "timed-shift", "random" };
	const struct config_event_manager *manager = &config->event_manager;
	uint64_t in_flight = 0;

	for (unsigned i = 0; i < config->cluster.n_builders; i++) {
		uint32_t slots = config->cluster.builders[i].slots;

		slots -= cluster_spare(slots);
		in_flight += manager->sched.credits > 0 && manager->sched.credits < slots
				 ? manager->sched.credits
				 : slots;
	}
	fprintf(out, "  mode %s, policy %s, shaping %s; control messages on UDP port %u\n",
		modes[manager->sched.mode], policies[manager->sched.policy],
		shapings[manager->sched.shaping], manager->control_port);
	if (manager->has_multicast)
		fprintf(out, "  grants and releases to sources by multicast to %u.%u.%u.%u\n",
			manager->multicast >> 24, manager->multicast >> 16 & 255,
			manager->multicast >> 8 & 255, manager->multicast & 255);
	if (manager->sched.policy == SCHED_RANDOM || manager->sched.shaping == SCHED_RANDOM_ORDER)
		fprintf(out, "  seed of what is random: %llu\n",
			(unsigned long long)manager->sched.seed);
	fprintf(out, "  up to %llu events in flight, a source holds up to %u MFPs\n",
		(unsigned long long)in_flight, manager->source_buffer);
	if (in_flight > manager->source_buffer)
		fprintf(out,
			"  note: fewer MFPs than that: event_manager.source_buffer limits what "
			"is in flight\n");
	if (manager->sched.mode != SCHED_STATIC)
		print_pacing(config, out);
}

void plan_print_system(const struct plan *plan, FILE *out)
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
		plan_print_system(plan, out);
	print_lcores(plan, out);
	print_ports(plan, out);
	print_generators(plan, out);
	if (plan->config->n_builders > 0) {
		print_links(plan, out);
		print_builders(plan, out);
		print_groups(plan->config, out);
	}
	if (plan->config->cluster.n_nodes > 0)
		print_control(plan, out);
	print_memory(plan, out);
	if (plan_check_machine(plan, error) != 0)
		fprintf(out, "\nwarning: this machine would not run it now: %s\n", error);
}
