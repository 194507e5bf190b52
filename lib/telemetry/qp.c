// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Queue pairs of RoCE v2: those of receiving ports and those of generators.
#include "telemetry/group.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "node/readout_role.h"
#include "rdma/roce_source_role.h"
#include "telemetry/roce_metrics.h"

#define NAME_SIZE (EVB_NAME_SIZE + 12)

struct qp_view {
	const char *name, *service, *state, *cause, *peer;
	uint64_t qpn, peer_qpn, path_mtu, expected_psn, next_psn, msn;
	struct qp_counters counters;
	char name_text[NAME_SIZE], peer_text[INET6_ADDRSTRLEN];
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

static const char *name_of_drop(unsigned drop)
{
	return qp_drop_name((enum qp_drop)drop);
}

const struct metric_causes metric_naks = { QP_N_NAKS, name_of_nak };
const struct metric_causes metric_qp_drops = { QP_N_DROPS, name_of_drop };

static const char *const state_words[] = { "free", "open", "ready", "error", NULL };

static const struct metric qp_metrics[] = {
	TEXT("name", qp_view, name, "port or generator, and number"),
	TEXT("service", qp_view, service, "transport service: rc, uc or ud"),
	STATE("state", qp_view, state, state_words, "state of the queue pair"),
	TEXT("cause", qp_view, cause, "reason of state error, else none"),
	TEXT("peer", qp_view, peer, "address of the other end"),
	NUMBER("qpn", qp_view, qpn, "number of the queue pair"),
	NUMBER("peer_qpn", qp_view, peer_qpn, "number at the other end"),
	GAUGE("path_mtu_bytes", qp_view, path_mtu, "payload of a full packet"),
	NUMBER("expected_psn", qp_view, expected_psn, "number of the next packet to receive"),
	NUMBER("next_psn", qp_view, next_psn, "number of the next packet to send"),
	NUMBER("msn", qp_view, msn, "messages received, modulo 2^24"),
	ROCE_QP_METRICS(qp_view, counters),
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
	const struct role *role = telemetry_find_role(appliance, CONFIG_ROLE_READOUT, generator);

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
	role = telemetry_find_role(appliance, CONFIG_ROLE_SOURCE, owner - n_ports);
	return role != NULL && roce_source_role_is(role)
		   ? appliance->sets[owner - n_ports]->n_sources
		   : 0;
}

static bool read_place(const struct appliance *appliance, const struct place *place,
		       struct queue_pair *qp)
{
	unsigned n_ports = appliance->config->n_ports;
	const struct readout_roce *readout;
	const struct queue_pair *own;

	if (place->owner < n_ports)
		own = roce_port_qp(appliance->roce_ports[place->owner], place->at);
	else if ((readout = readout_of(appliance, place->owner - n_ports)) != NULL)
		own = readout_roce_qp(readout, place->at);
	else
		own = roce_source_role_qp(
		    telemetry_find_role(appliance, CONFIG_ROLE_SOURCE, place->owner - n_ports),
		    place->at);
	if (own == NULL || own->state == QP_FREE)
		return false;
	*qp = *own;
	return true;
}

// Moves `place` to the next queue pair at or behind it. False if there is none.
static bool seek(const struct appliance *appliance, struct place *place, struct queue_pair *qp)
{
	unsigned n_owners = appliance->config->n_ports + appliance->config->n_generators;

	for (; place->owner < n_owners; place->owner++, place->at = 0)
		for (unsigned n = places_of(appliance, place->owner); place->at < n; place->at++)
			if (read_place(appliance, place, qp))
				return true;
	return false;
}

// Finds queue pair number `index`. False if it has been closed since it was counted.
static bool find(const struct appliance *appliance, unsigned index, struct place *found,
		 struct queue_pair *qp)
{
	static _Thread_local struct place last;

	if (last.appliance != appliance || index < last.index)
		last = (struct place){ .appliance = appliance };
	while (seek(appliance, &last, qp)) {
		*found = last;
		if (last.index == index)
			return true;
		last.index++;
		last.at++;
	}
	last = (struct place){ 0 };
	return false;
}

// With RoCE, connections are opened and closed during the run.
static bool has_roce(const struct appliance *appliance)
{
	return appliance->config->transport.kind == CONFIG_TRANSPORT_ROCE;
}

static unsigned count_qps(const struct appliance *appliance)
{
	struct place place = { 0 };
	struct queue_pair qp;
	unsigned n = 0;

	for (; seek(appliance, &place, &qp); place.at++)
		n++;
	return n;
}

static void print_name(const struct appliance *appliance, const struct place *place,
		       const struct queue_pair *qp, char name[NAME_SIZE])
{
	const struct config *config = appliance->config;

	snprintf(name, NAME_SIZE, "%s/%u",
		 place->owner < config->n_ports
		     ? config->ports[place->owner].name
		     : config->generators[place->owner - config->n_ports].name,
		 qp->qpn);
}

static const char *name_of_qp(const struct appliance *appliance, unsigned index)
{
	static _Thread_local char name[NAME_SIZE];
	struct place place;
	struct queue_pair qp;

	if (!find(appliance, index, &place, &qp))
		return "gone";
	print_name(appliance, &place, &qp, name);
	return name;
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
	struct queue_pair qp = { .service = ROCE_CONGESTION }; // "none"
	struct place place;

	snprintf(view.name_text, sizeof(view.name_text), "gone");
	if (find(appliance, index, &place, &qp))
		print_name(appliance, &place, &qp, view.name_text);
	print_peer(&qp.peer, view.peer_text);
	view.name = view.name_text;
	view.service = services[qp.service];
	view.state = qp_state_name((enum qp_state)qp.state);
	view.cause = qp_cause_name((enum qp_cause)qp.cause);
	view.peer = view.peer_text;
	view.qpn = qp.qpn;
	view.peer_qpn = qp.peer_qpn;
	view.path_mtu = qp.path_mtu;
	view.expected_psn = qp.expected_psn;
	view.next_psn = qp.next_psn;
	view.msn = qp.msn;
	view.counters = qp.counters;
	bases[0] = &view;
}

const struct telemetry_group telemetry_qp = {
	.name = "qp",
	.things = "RoCE queue pairs",
	.help = "A RoCE queue pair: its state, and counts of received and sent packets",
	.note = "A queue pair is called by its port or generator and its number: `wire/17`. It "
		"disappears with\n"
		"its connection; the sums in `/evb/roce/info` retain its counts.",
	.tables = { qp_metrics },
	.comes_and_goes = has_roce,
	.count = count_qps,
	.name_of = name_of_qp,
	.view = view_qp,
};
