// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "check_facts.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>

#include "client/control_client.h"
#include "client/runtime_directory.h"
#include "wire/roce.h"

struct facts {
	const struct config *config;
	const char *section;
	check_facts_visit *visit;
	void *context;
};

__attribute__((format(printf, 3, 4))) static void tell(const struct facts *facts, const char *who,
						       const char *format, ...)
{
	char text[CHECK_FACT_SIZE];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	facts->visit(facts->context, facts->section, who, text);
}

struct address {
	char text[INET6_ADDRSTRLEN];
};

static struct address ip4(uint32_t host_order)
{
	const struct in_addr in = { .s_addr = htonl(host_order) };
	struct address address;

	inet_ntop(AF_INET, &in, address.text, sizeof(address.text));
	return address;
}

static struct address ip6(const uint8_t bytes[16])
{
	struct address address;

	inet_ntop(AF_INET6, bytes, address.text, sizeof(address.text));
	return address;
}

static void tell_addresses(const struct facts *facts)
{
	for (unsigned i = 0; i < facts->config->n_ports; i++) {
		const struct port_settings *port = &facts->config->ports[i];
		const uint8_t *mac = port->mac;

		if (port->has_address)
			tell(facts, port->name, "%s/%u", ip4(port->address).text,
			     port->prefix_length);
		if (port->has_address6)
			tell(facts, port->name, "%s", ip6(port->address6).text);
		if (port->has_mac)
			tell(facts, port->name, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
			     mac[2], mac[3], mac[4], mac[5]);
		if (port->has_vlan)
			tell(facts, port->name, "VLAN %u", port->vlan);
	}
}

static void tell_udp(const struct facts *facts, const char *who, const char *what, unsigned first,
		     unsigned count)
{
	if (count == 1)
		tell(facts, who, "UDP port %u: %s", first, what);
	else
		tell(facts, who, "UDP ports %u to %u: %s", first, first + count - 1, what);
}

static void tell_transport(const struct facts *facts)
{
	const struct config_transport *transport = &facts->config->transport;

	if (facts->config->n_builders == 0)
		return;
	if (transport->kind == CONFIG_TRANSPORT_ETH)
		tell(facts, "transport", "EtherType 0x%04X: receives segments",
		     transport->ether_type);
	else if (transport->kind == CONFIG_TRANSPORT_ROCE)
		tell_udp(facts, "transport", "receives RoCE v2", ROCE_UDP_PORT, 1);
	else
		tell_udp(facts, "transport", "receives segments", transport->udp_port,
			 transport->udp_ports);
}

static void tell_boards(const struct facts *facts, const struct config_generator *generator)
{
	const struct config_listen *listen = &generator->listen;

	if (listen->roce)
		tell_udp(facts, generator->name, "boards send RoCE v2", ROCE_UDP_PORT, 1);
	else if (listen->has_ether_type)
		tell(facts, generator->name, "EtherType 0x%04X: boards send", listen->ether_type);
	else
		tell_udp(facts, generator->name, "boards send", listen->udp_port,
			 listen->udp_ports);
}

static void tell_services(const struct facts *facts)
{
	const struct config *config = facts->config;
	const struct config_event_manager *manager = &config->event_manager;
	char path[CONTROL_SOCKET_PATH_SIZE], error[CONTROL_SOCKET_PATH_SIZE + 128];

	tell_transport(facts);
	for (unsigned i = 0; i < config->n_generators; i++) {
		const struct config_generator *generator = &config->generators[i];

		if (generator->kind == GENERATOR_PORT)
			tell_boards(facts, generator);
		else if (config->cluster.n_nodes == 0 && generator->destination_address != 0)
			tell(facts, generator->name, "sends to %s",
			     ip4(generator->destination_address).text);
	}
	if (config->cluster.n_nodes > 0)
		tell_udp(facts, "control", "messages between the nodes", manager->control_port, 1);
	if (config->cluster.n_nodes > 0 && manager->has_multicast)
		tell(facts, "control", "multicast %s: grants and releases",
		     ip4(manager->multicast).text);
	for (unsigned i = 0; i < config->n_results; i++)
		if (config->results[i].to == CONFIG_RESULTS_UDP && config->results[i].has_address)
			tell(facts, config->results[i].name, "sends decisions to %s, UDP port %u",
			     ip4(config->results[i].address).text, config->results[i].udp_port);
	tell(facts, "telemetry", "%s/dpdk/evb-%s/dpdk_telemetry.v2", runtime_directory(),
	     config->name);
	if (config->cluster.n_nodes > 0 && control_socket_path(config->name, path, error) == 0)
		tell(facts, "evb ctl", "%s", path);
}

static void tell_path(const struct facts *facts, const char *who, const char *verb,
		      const char *path)
{
	if (path[0] != '\0')
		tell(facts, who, "%s %s", verb, path);
}

static void tell_files(const struct facts *facts)
{
	const struct config *config = facts->config;

	for (unsigned i = 0; i < config->n_generators; i++)
		tell_path(facts, config->generators[i].name, "reads", config->generators[i].file);
	tell_path(facts, "event_ring", "in", config->event_ring.directory);
	for (unsigned i = 0; i < config->n_writers; i++) {
		tell_path(facts, config->writers[i].name, "writes into",
			  config->writers[i].directory);
		tell_path(facts, config->writers[i].name, "reads", config->writers[i].source_map);
	}
	for (unsigned i = 0; i < config->n_results; i++)
		if (config->results[i].to == CONFIG_RESULTS_FILE)
			tell_path(facts, config->results[i].name, "writes into",
				  config->results[i].directory);
	tell_path(facts, "event_manager", "reads the key from", config->event_manager.key_file);
}

void check_facts(const struct plan *plan, check_facts_visit *visit, void *context)
{
	struct facts facts = { .config = plan->config, .visit = visit, .context = context };

	facts.section = "addresses";
	tell_addresses(&facts);
	facts.section = "services";
	tell_services(&facts);
	facts.section = "files";
	tell_files(&facts);
}
