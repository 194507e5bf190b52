// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control protocol of a node of a system: its own port, and what it exchanged with each peer.
#include "telemetry/group.h"

#include <stdio.h>

#include "control/endpoint.h"

#define NS_PER_SECOND UINT64_C(1000000000)

struct node_view {
	const char *name;
	uint64_t self;
};

struct manager_view {
	const char *name;
	struct cluster_node_view node;
	struct control_office_view office;
	uint64_t office_seconds;
	char standbys[EVB_MAX_MANAGERS * EVB_NAME_SIZE];
};

// Without WIRE_OK.
static const char *name_of_error(unsigned error)
{
	static const char *const names[WIRE_N_ERRORS - 1] = {
		[WIRE_TRUNCATED - 1] = "truncated",     [WIRE_BAD_MAGIC - 1] = "magic",
		[WIRE_BAD_VERSION - 1] = "version",     [WIRE_BAD_LENGTH - 1] = "length",
		[WIRE_BAD_ALIGNMENT - 1] = "alignment", [WIRE_BAD_CHECKSUM - 1] = "checksum",
		[WIRE_BAD_SOURCE - 1] = "source",       [WIRE_BAD_EVENT - 1] = "event",
		[WIRE_UNSUPPORTED - 1] = "unsupported", [WIRE_NO_ROOM - 1] = "no_room",
	};

	return names[error];
}

static const struct metric_causes wire_errors = { WIRE_N_ERRORS - 1, name_of_error };

static const struct metric node_metrics[] = {
	TEXT("name", node_view, name, "name of the node"),
	GAUGE("self", node_view, self, "1 for this node, 0 for a peer"),
	{ 0 },
};

// Of this node alone.
static const struct metric port_metrics[] = {
	COUNTER("datagrams", control_role_counters, frames, "control and ARP frames received"),
	COUNTER("datagrams_malformed", control_role_counters, malformed,
		"frames received that are no control datagram of this system"),
	COUNTER("datagrams_foreign", control_role_counters, foreign,
		"datagrams received from an address that no node, or another one, has"),
	COUNTER("datagrams_sent", control_role_counters, sent, "frames passed to the port"),
	COUNTER("datagrams_not_sent", control_role_counters, not_sent,
		"frames delayed because no mbuf or no room in the port was free"),
	COUNTER("datagrams_no_address", control_role_counters, no_address,
		"frames delayed because the Ethernet address of the node is unknown"),
	COUNTER("arp_requests", control_role_counters, arp_requests, "ARP requests sent"),
	COUNTER("membership_reports", control_role_counters, membership_reports,
		"IGMP reports sent"),
	GAUGE("clock_error_ns", control_role_counters, clock_error,
	      "timed-shift: largest error of the manager's clock as the node knows it, or 0"),
	{ 0 },
};

// Of this node alone.
static const struct metric manager_metrics[] = {
	TEXT("manager", manager_view, name, "node that this one follows as event manager, or none"),
	GAUGE("manager_epoch", manager_view, node.epoch, "epoch of an elected manager, or 0"),
	COUNTER("take_overs", manager_view, node.take_overs,
		"times that an elected manager has come into office"),
	GAUGE("office_seconds", manager_view, office_seconds,
	      "time for which an elected manager is in office, as this node knows, or 0"),
	GAUGE("votes", manager_view, office.own.votes,
	      "nodes that have given their lease to this one, the elected manager, or 0"),
	GAUGE("standbys", manager_view, office.n_standbys,
	      "nodes that are not silent and can take over from an elected manager"),
	TEXT("standby", manager_view, standbys, "their names"),
	{ 0 },
};

static const struct metric total_metrics[] = {
	CAUSES("malformed", control_totals, malformed[WIRE_TRUNCATED], wire_errors,
	       "datagrams that are not a valid frame, by reason"),
	COUNTER("unknown_node", control_totals, unknown_node, "frames whose sender is no peer"),
	COUNTER("misdirected", control_totals, misdirected, "frames for another node"),
	COUNTER("shared_frames", control_totals, shared_frames, "frames sent by multicast"),
	COUNTER("shared_bytes", control_totals, shared_bytes,
		"bytes of frames sent by multicast, as UDP payload"),
	{ 0 },
};

static const struct metric peer_metrics[] = {
	COUNTER("frames_sent", control_counters, frames_sent,
		"frames sent to the peer, retransmissions included"),
	COUNTER("frames_received", control_counters, frames_received,
		"frames received from the peer; the sum of the next six"),
	COUNTER("sequenced", control_counters, sequenced,
		"frames with records that were new and in the window"),
	COUNTER("unsequenced", control_counters, unsequenced,
		"heartbeats and acknowledgements without records"),
	COUNTER("duplicates", control_counters, duplicates,
		"frames with records that had been received before"),
	COUNTER("out_of_window", control_counters, out_of_window,
		"frames with records beyond the window"),
	COUNTER("foreign", control_counters, foreign,
		"frames of another session than the current one"),
	COUNTER("fenced", control_counters, fenced, "frames of a lower epoch"),
	COUNTER("bad_checksum", control_counters, bad_checksum,
		"frames with a wrong checksum that name the peer as sender"),
	COUNTER("other_version", control_counters, other_version,
		"frames of another version of the protocol that name the peer as sender"),
	COUNTER("without_key", control_counters, without_key,
		"frames without a seal that name the peer; this node has a key"),
	COUNTER("with_key", control_counters, with_key,
		"sealed frames that name the peer; this node has no key"),
	COUNTER("old_session", control_counters, old_session,
		"sealed frames to a session that this node neither has nor offers"),
	COUNTER("replayed", control_counters, replayed,
		"sealed frames that had been received before, or are too old"),
	COUNTER("forged", control_counters, forged,
		"frames whose seal is wrong: of another key, or of a stranger"),
	COUNTER("retransmissions", control_counters, retransmitted,
		"frames sent to the peer again"),
	COUNTER("shared_sent", control_counters, shared_sent,
		"frames for the peer sent by multicast"),
	COUNTER("shared_repeated", control_counters, shared_repeated,
		"of these, repeated to the peer alone"),
	COUNTER("shared_received", control_counters, shared_received,
		"of frames_received, by multicast"),
	COUNTER("shared_ignored", control_counters, shared_ignored,
		"frames by multicast that are not, or no longer, for this node"),
	COUNTER("records_sent", control_counters, records_sent, "records queued for the peer"),
	COUNTER("records_delivered", control_counters, records_delivered,
		"records of the peer delivered in sequence"),
	COUNTER("records_dropped", control_counters, records_dropped,
		"records that were queued when the session ended"),
	COUNTER("records_refused", control_counters, refused,
		"records refused because the queue for the peer was full"),
	COUNTER("lost", control_counters, lost,
		"times that the peer was silent for heartbeat_timeout"),
	COUNTER("restarts", control_counters, restarts, "times that the peer began a new session"),
	COUNTER("process_ended", control_counters, process_ended,
		"times that the peer's process had ended, by its last will"),
	COUNTER("second_process", control_counters, second_process,
		"frames of another process with the node's number, which was refused"),
	{ 0 },
};

static void view_manager(const struct appliance *appliance, struct manager_view *view)
{
	const struct cluster_system *cluster = &appliance->config->cluster;
	const struct role *control = appliance_control(appliance);
	size_t length = 0;

	control_role_node_view(control, &view->node);
	control_role_office(control, &view->office);
	view->name = view->node.manager < cluster->n_nodes ? cluster->nodes[view->node.manager].name
							   : "none";
	view->office_seconds =
	    view->office.since > 0
		? (control_role_now(control) - view->office.since) / NS_PER_SECOND
		: 0;
	view->standbys[0] = '\0';
	for (unsigned i = 0; i < view->office.n_standbys; i++)
		length += (size_t)snprintf(view->standbys + length, sizeof(view->standbys) - length,
					   "%s%s", i > 0 ? " " : "",
					   cluster->nodes[view->office.standbys[i]].name);
}

static void view_node(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct node_view view;
	static _Thread_local struct manager_view manager;
	const struct cluster_system *cluster = &appliance->config->cluster;
	const struct role *control = appliance_control(appliance);
	const struct control_endpoint *endpoint = control_role_endpoint(control);

	view = (struct node_view){
		.name = cluster->nodes[index].name,
		.self = index == cluster->self,
	};
	bases[0] = &view;
	if (view.self) {
		view_manager(appliance, &manager);
		bases[1] = control_role_counters(control);
		bases[4] = &manager;
	}
	if (endpoint == NULL)
		return; // the only node
	if (view.self)
		bases[2] = control_totals(endpoint);
	else
		bases[3] = control_counters(endpoint, index);
}

const struct telemetry_group telemetry_control = {
	.name = "control",
	.things = "nodes of the system",
	.help = "A node of the system: what this node exchanged with it by the control protocol",
	.note = "Only this node has `datagrams` to `shared_bytes` and `manager` to `standby`, "
		"only peers have the others.",
	.tables = { node_metrics, port_metrics, total_metrics, peer_metrics, manager_metrics },
	.view = view_node,
};
