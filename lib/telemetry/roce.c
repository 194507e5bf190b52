// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE endpoints of ports: packets, connections, and sums over their queue pairs.
#include "telemetry/shared_metrics.h"

#include "telemetry/group.h"

struct roce_view {
	const char *name;
	uint64_t queue_pairs;
	struct roce_port_counters port;
	struct cm_counters cm;
	struct roce_reader_counters reader;
	struct qp_counters sums;
};

static const struct metric roce_metrics[] = {
	TEXT("name", roce_view, name, "name of the port"),
	GAUGE("queue_pairs", roce_view, queue_pairs, "open queue pairs"),
	COUNTER("datagrams", roce_view, port.packets,
		"datagrams to RoCE or its connection managers"),
	COUNTER("datagrams_data", roce_view, port.data, "datagrams that became segments"),
	COUNTER("datagrams_taken", roce_view, port.taken,
		"datagrams for connection managers and queue pairs, dropped ones included"),
	COUNTER("datagrams_malformed", roce_view, port.malformed,
		"datagrams that are not a valid RoCE packet"),
	COUNTER("datagrams_icrc_errors", roce_view, port.icrc_errors,
		"datagrams whose ICRC is wrong"),
	COUNTER("datagrams_unknown_qp", roce_view, port.unknown_qp,
		"datagrams to an unknown queue pair"),
	COUNTER("messages_put_off", roce_view, port.rnr,
		"messages delayed because no slot was free"),
	COUNTER("answers_sent", roce_view, port.sent, "responses and connection messages sent"),
	COUNTER("answers_not_sent", roce_view, port.not_sent,
		"responses not sent because no buffer or no room was free"),
	COUNTER("reads_offered", roce_view, reader.offers, "blocks offered by readouts"),
	COUNTER("reads_no_room", roce_view, reader.no_room,
		"offers refused: too many waiting, or an unexpected source"),
	COUNTER("reads_forgotten", roce_view, reader.forgotten,
		"offers that their readout refused to serve"),
	COUNTER("blocks_read", roce_view, reader.blocks, "blocks read by RDMA READ"),
	COUNTER("blocks_read_malformed", roce_view, reader.malformed,
		"responses that do not match the offered block"),
	COUNTER("cm_requests", roce_view, cm.requests,
		"connections requested by RDMA CM or FERoCE boards"),
	COUNTER("cm_established", roce_view, cm.established, "connections established"),
	COUNTER("cm_refused", roce_view, cm.refused, "connections refused"),
	COUNTER("cm_no_resources", roce_view, cm.no_resources,
		"connections refused because there were too many"),
	COUNTER("cm_restarted", roce_view, cm.restarted,
		"connections replaced by a restarted peer"),
	COUNTER("cm_kept", roce_view, cm.kept,
		"requests ignored because the connection that they name is not silent"),
	COUNTER("cm_early_drops", roce_view, cm.early_drops,
		"half-open connections dropped to make room"),
	COUNTER("cm_idle", roce_view, cm.idle, "silent connections ended to make room"),
	COUNTER("cm_timed_out", roce_view, cm.timed_out,
		"connections closed because the peer was silent"),
	COUNTER("cm_disconnected", roce_view, cm.disconnected, "connections ended"),
	COUNTER("cm_malformed", roce_view, cm.malformed, "invalid connection messages"),
	ROCE_QP_METRICS(roce_view, sums),
	{ 0 },
};

// The port that has endpoint number `index`; n_ports if there is none.
static unsigned port_of(const struct appliance *appliance, unsigned index)
{
	for (unsigned i = 0; i < appliance->config->n_ports; i++)
		if (appliance->roce_ports[i] != NULL && index-- == 0)
			return i;
	return appliance->config->n_ports;
}

static void view_endpoint(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct roce_view view;
	unsigned index_of_port = port_of(appliance, index);
	const struct roce_reader_counters *reader;
	const struct roce_port *port;
	const struct cm_counters *cm;

	if (index_of_port == appliance->config->n_ports)
		return;
	port = appliance->roce_ports[index_of_port];
	cm = roce_port_cm_counters(port);
	reader = roce_port_reader_counters(port);
	view = (struct roce_view){
		.name = appliance->config->ports[index_of_port].name,
		.queue_pairs = roce_port_open_qps(port),
		.port = *roce_port_counters(port),
	};
	if (cm != NULL)
		view.cm = *cm;
	if (reader != NULL)
		view.reader = *reader;
	roce_port_totals(port, &view.sums);
	bases[0] = &view;
}

const struct telemetry_group telemetry_roce = {
	.name = "roce",
	.things = "ports that receive RoCE",
	.help = "RoCE of a port: packets, connections, all its queue pairs together",
	.note = "The keys from `packets` on are sums over all queue pairs, closed ones included.",
	.tables = { roce_metrics },
	.view = view_endpoint,
};
