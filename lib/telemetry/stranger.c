// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Senders of segments that were refused.
#include "telemetry/group.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "rx/rx_role.h"
#include "rx/strangers.h"
#include "telemetry/shared_metrics.h"

#define NAME_SIZE (ROLE_NAME_SIZE + INET6_ADDRSTRLEN)

struct stranger_view {
	char name[NAME_SIZE], source[16];
	const char *cause;
	struct stranger stranger;
	uint16_t udp_port, vlan;
};

static const struct metric stranger_metrics[] = {
	TEXT("name", stranger_view, name,
	     "rx role and address of the sender, such as rx.wire/10.0.0.7"),
	TEXT("source", stranger_view, source,
	     "source id of its latest refused segment, - if not known"),
	TEXT("cause", stranger_view, cause, "cause of the latest refusal"),
	NUMBER("udp_port", stranger_view, udp_port, "UDP port that it sent from"),
	NUMBER("vlan", stranger_view, vlan, "VLAN of the outermost tag, 0: none"),
	COUNTER("segments", stranger_view, stranger.segments, "refused segments"),
	{ 0 },
};

static void print_address(const struct origin *origin, char text[INET6_ADDRSTRLEN])
{
	struct source_address address = origin_to_address(origin);
	const uint8_t *bytes = address.bytes;

	if (address.kind == SOURCE_ADDRESS_MAC)
		snprintf(text, INET6_ADDRSTRLEN, "%02x:%02x:%02x:%02x:%02x:%02x", bytes[0],
			 bytes[1], bytes[2], bytes[3], bytes[4], bytes[5]);
	else
		(void)inet_ntop(address.kind == SOURCE_ADDRESS_IP4 ? AF_INET : AF_INET6, bytes,
				text, INET6_ADDRSTRLEN);
}

static void fill(struct stranger_view *view, const struct role *role)
{
	const struct origin *origin = &view->stranger.origin;
	char address[INET6_ADDRSTRLEN];

	print_address(origin, address);
	snprintf(view->name, sizeof(view->name), "%s/%s", role->name, address);
	snprintf(view->source, sizeof(view->source), "-");
	if (view->stranger.source != STRANGER_NO_ID)
		snprintf(view->source, sizeof(view->source), "%u",
			 (unsigned)(uint16_t)view->stranger.source);
	view->cause = segment_cause_name(view->stranger.cause);
	view->udp_port = origin_port(origin);
	view->vlan = origin->key >> ORIGIN_VLAN_SHIFT & 0xFFF;
}

static void view_stranger(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct stranger_view view;
	const struct plan *plan = appliance->plan;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct role *role = appliance->roles[i];

		if (plan->roles[i].kind != CONFIG_ROLE_RX || role == NULL)
			continue;
		for (unsigned place = 0; place < STRANGERS_MOST; place++) {
			if (!strangers_read(rx_role_strangers(role), place, &view.stranger) ||
			    index-- > 0)
				continue;
			fill(&view, role);
			bases[0] = &view;
			return;
		}
	}
}

static bool may_come(const struct appliance *appliance)
{
	return appliance->plan->n_rx > 0;
}

const struct telemetry_group telemetry_stranger = {
	.name = "stranger",
	.things = "refused senders",
	.help = "A sender of segments that were refused: of an unknown source, or not from there",
	.note = "Each rx role remembers at most 64 senders; those with the fewest refused segments "
		"are\nreplaced.",
	.tables = { stranger_metrics },
	.comes_and_goes = may_come,
	.view = view_stranger,
};
