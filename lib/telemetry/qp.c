// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Queue pairs of RoCE v2: those of receiving ports and those of generators.
#include "telemetry/group.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "node/readout_role.h"
#include "rdma/roce_source_role.h"
#include "telemetry/shared_metrics.h"

#define NAME_SIZE (EVB_NAME_SIZE + 12)

struct qp_view {
	char name[NAME_SIZE], peer[INET6_ADDRSTRLEN];
	const char *service, *state, *cause;
};

static const char *name_of_nak(unsigned nak)
{
	static const char *const names[QP_N_NAKS] = {
		[QP_NAK_SEQUENCE] = "sequence",
		[QP_NAK_INVALID] = "invalid",
		[QP_NAK_ACCESS] = "access",
		[QP_NAK_OPERATIONAL] = "operational",
	};

	return names[nak];
}

const struct metric_causes metric_naks = { QP_N_NAKS, name_of_nak };
const struct metric_causes metric_qp_drops = { QP_N_DROPS, qp_drop_name };

static const char *const state_words[] = { "free", "open", "ready", "error", NULL };

static const struct metric qp_metrics[] = {
	TEXT("name", qp_view, name, "port or generator, and number, such as wire/17"),
	TEXT("service", qp_view, service, "transport service: rc, uc or ud"),
	STATE("state", qp_view, state, state_words, "state of the queue pair"),
	TEXT("cause", qp_view, cause, "reason of state error, else none"),
	TEXT("peer", qp_view, peer, "address of the other end"),
	{ 0 },
};

static const struct metric state_metrics[] = {
	NUMBER("qpn", queue_pair, qpn, "number of the queue pair"),
	NUMBER("peer_qpn", queue_pair, peer_qpn, "number at the other end"),
	GAUGE("path_mtu_bytes", queue_pair, path_mtu, "payload of a full packet"),
	NUMBER("expected_psn", queue_pair, expected_psn, "number of the next packet to receive"),
	NUMBER("next_psn", queue_pair, next_psn, "number of the next packet to send"),
	NUMBER("msn", queue_pair, msn, "messages received, modulo 2^24"),
	ROCE_QP_METRICS(queue_pair, counters),
	{ 0 },
};

// Where the search for thing `index` stopped. The next search mostly goes on from there.
struct place {
	const struct appliance *appliance;
	unsigned index, owner, at;
};

// The RoCE part of a readout; NULL if the generator is no readout or does not send by RoCE.
static const struct readout_roce *readout_of(const struct appliance *appliance, unsigned generator)
{
	const struct role *role = appliance_role(appliance, CONFIG_ROLE_READOUT, generator);

	return role != NULL ? readout_role_roce(role) : NULL;
}

// The number of places of an owner. Ports come first, then generators.
static unsigned places_of(const struct appliance *appliance, unsigned owner)
{
	unsigned n_ports = appliance->config->n_ports;
	const struct role *role;

	if (owner < n_ports)
		return appliance->roce_ports[owner] != NULL
			   ? roce_port_qps(appliance->roce_ports[owner])
			   : 0;
	if (readout_of(appliance, owner - n_ports) != NULL)
		return appliance->config->cluster.n_builders;
	role = appliance_role(appliance, CONFIG_ROLE_SOURCE, owner - n_ports);
	return role != NULL && roce_source_role_is(role)
		   ? appliance->sets[owner - n_ports]->n_sources
		   : 0;
}

// NULL: the place is free.
static const struct queue_pair *read_place(const struct appliance *appliance,
					   const struct place *place)
{
	unsigned n_ports = appliance->config->n_ports;
	const struct readout_roce *readout;
	const struct queue_pair *qp;

	if (place->owner < n_ports)
		qp = roce_port_qp(appliance->roce_ports[place->owner], place->at);
	else if ((readout = readout_of(appliance, place->owner - n_ports)) != NULL)
		qp = readout_roce_qp(readout, place->at);
	else
		qp = roce_source_role_qp(
		    appliance_role(appliance, CONFIG_ROLE_SOURCE, place->owner - n_ports),
		    place->at);
	return qp != NULL && qp->state != QP_FREE ? qp : NULL;
}

// Moves `place` to the next queue pair at or behind it. NULL if there is none.
static const struct queue_pair *seek(const struct appliance *appliance, struct place *place)
{
	unsigned n_owners = appliance->config->n_ports + appliance->config->n_generators;
	const struct queue_pair *qp;

	for (; place->owner < n_owners; place->owner++, place->at = 0)
		for (unsigned n = places_of(appliance, place->owner); place->at < n; place->at++)
			if ((qp = read_place(appliance, place)) != NULL)
				return qp;
	return NULL;
}

// Finds queue pair number `index`. NULL if there is none, or it has been closed since it was
// counted.
static const struct queue_pair *find(const struct appliance *appliance, unsigned index,
				     unsigned *owner)
{
	static _Thread_local struct place last;
	const struct queue_pair *qp;

	if (last.appliance != appliance || index < last.index)
		last = (struct place){ .appliance = appliance };
	while ((qp = seek(appliance, &last)) != NULL) {
		*owner = last.owner;
		if (last.index == index)
			return qp;
		last.index++;
		last.at++;
	}
	last = (struct place){ 0 };
	return NULL;
}

// With RoCE, connections are opened and closed during the run.
static bool has_roce(const struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		if (config_has_roce(appliance->config, i))
			return true;
	return false;
}

static void print_peer(const struct qp_address *peer, char text[INET6_ADDRSTRLEN])
{
	const struct qp_address ipv4 = qp_address_ipv4(load_be32(peer->bytes + 12));

	if (qp_address_is(peer, &ipv4))
		(void)inet_ntop(AF_INET, peer->bytes + 12, text, INET6_ADDRSTRLEN);
	else
		(void)inet_ntop(AF_INET6, peer->bytes, text, INET6_ADDRSTRLEN);
}

static void view_qp(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static const char *const services[] = { "rc", "uc", "ud", "none" };
	static _Thread_local struct qp_view view;
	const struct config *config = appliance->config;
	unsigned owner;
	const struct queue_pair *qp = find(appliance, index, &owner);

	if (qp == NULL)
		return;
	view = (struct qp_view){
		.service = services[qp->service],
		.state = state_words[qp->state],
		.cause = qp_cause_name((enum qp_cause)qp->cause),
	};
	snprintf(view.name, sizeof(view.name), "%s/%u",
		 owner < config->n_ports ? config->ports[owner].name
					 : config->generators[owner - config->n_ports].name,
		 qp->qpn);
	print_peer(&qp->peer, view.peer);
	bases[0] = &view;
	bases[1] = qp;
}

const struct telemetry_group telemetry_qp = {
	.name = "qp",
	.things = "RoCE queue pairs",
	.help = "A RoCE queue pair: its state, and counts of received and sent packets",
	.note = "A queue pair disappears with its connection; the sums in `/evb/roce/info` retain "
		"its counts.",
	.tables = { qp_metrics, state_metrics },
	.comes_and_goes = has_roce,
	.view = view_qp,
};
