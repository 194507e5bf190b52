// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/roce_cm.h"

#include "wire/bit_field.h"

#define BASE_VERSION  1
#define CM_CLASS      0x07
#define CLASS_VERSION 2
#define METHOD_SEND   3

#define HEADER_SIZE 24u

#define IP_SERVICES      0x0000000001000000u // service ids with any protocol and port
#define IP_SERVICES_MASK 0xFFFFFFFFFF000000u

// Offsets of the parts of a message, from its start after the MAD header.
static const struct layout {
	uint8_t private_data; // private data, up to the end of the MAD
	uint8_t info;         // 0: none
	uint8_t info_size;    // offset of the byte with its size; 0: none
	uint8_t info_shift;   // shift of the size in this byte
	bool has_remote_id;
} layouts[] = {
	[ROCE_CM_REQ] = { .private_data = 140 },
	[ROCE_CM_MRA] = { .private_data = 10, .has_remote_id = true },
	[ROCE_CM_REJ] = { .private_data = 84,
			  .info = 12,
			  .info_size = 9,
			  .info_shift = 1,
			  .has_remote_id = true },
	[ROCE_CM_REP] = { .private_data = 36, .has_remote_id = true },
	[ROCE_CM_RTU] = { .private_data = 8, .has_remote_id = true },
	[ROCE_CM_DREQ] = { .private_data = 12, .has_remote_id = true },
	[ROCE_CM_DREP] = { .private_data = 8, .has_remote_id = true },
	[ROCE_CM_SIDR_REQ] = { .private_data = 16 },
	[ROCE_CM_SIDR_REP] = { .private_data = 96, .info = 24, .info_size = 5 },
};

// NULL if the attribute is unknown.
static const struct layout *layout_of(unsigned attribute)
{
	if (attribute >= sizeof(layouts) / sizeof(layouts[0]) ||
	    layouts[attribute].private_data == 0)
		return NULL;
	return &layouts[attribute];
}

#define FIELD(kind, name, byte, bit, width) \
	BIT_FIELD(ROCE_CM_##kind, struct roce_cm, name, byte, bit, width)

// A path of a REQ that begins at byte `at`.
#define PATH(path, at)                                                                         \
	FIELD(REQ, path.local_lid, (at), 0, 16), FIELD(REQ, path.remote_lid, (at) + 2, 0, 16), \
	    FIELD(REQ, path.local_gid, (at) + 4, 0, 128),                                      \
	    FIELD(REQ, path.remote_gid, (at) + 20, 0, 128),                                    \
	    FIELD(REQ, path.flow_label, (at) + 36, 0, 20),                                     \
	    FIELD(REQ, path.packet_rate, (at) + 39, 2, 6),                                     \
	    FIELD(REQ, path.traffic_class, (at) + 40, 0, 8),                                   \
	    FIELD(REQ, path.hop_limit, (at) + 41, 0, 8),                                       \
	    FIELD(REQ, path.service_level, (at) + 42, 0, 4),                                   \
	    FIELD(REQ, path.subnet_local, (at) + 42, 4, 1),                                    \
	    FIELD(REQ, path.ack_timeout, (at) + 43, 0, 5)

// The fields of each message, behind its communication ids.
static const struct bit_field fields[] = {
	// clang-format off
	FIELD(REQ, req.service_id, 8, 0, 64),
	FIELD(REQ, req.ca_guid, 16, 0, 64),
	FIELD(REQ, req.qkey, 28, 0, 32),
	FIELD(REQ, req.qpn, 32, 0, 24),
	FIELD(REQ, req.responder_resources, 35, 0, 8),
	FIELD(REQ, req.initiator_depth, 39, 0, 8),
	FIELD(REQ, req.remote_response_timeout, 43, 0, 5),
	FIELD(REQ, req.transport, 43, 5, 2),
	FIELD(REQ, req.flow_control, 43, 7, 1),
	FIELD(REQ, req.starting_psn, 44, 0, 24),
	FIELD(REQ, req.local_response_timeout, 47, 0, 5),
	FIELD(REQ, req.retry_count, 47, 5, 3),
	FIELD(REQ, req.partition_key, 48, 0, 16),
	FIELD(REQ, req.path_mtu, 50, 0, 4),
	FIELD(REQ, req.rdc_exists, 50, 4, 1),
	FIELD(REQ, req.rnr_retry_count, 50, 5, 3),
	FIELD(REQ, req.max_cm_retries, 51, 0, 4),
	FIELD(REQ, req.srq, 51, 4, 1),
	FIELD(REQ, req.extended_transport, 51, 5, 3),
	PATH(req.primary, 52),
	PATH(req.alternate, 96),
	FIELD(REP, rep.qkey, 8, 0, 32),
	FIELD(REP, rep.qpn, 12, 0, 24),
	FIELD(REP, rep.starting_psn, 20, 0, 24),
	FIELD(REP, rep.responder_resources, 24, 0, 8),
	FIELD(REP, rep.initiator_depth, 25, 0, 8),
	FIELD(REP, rep.target_ack_delay, 26, 0, 5),
	FIELD(REP, rep.failover, 26, 5, 2),
	FIELD(REP, rep.flow_control, 26, 7, 1),
	FIELD(REP, rep.rnr_retry_count, 27, 0, 3),
	FIELD(REP, rep.srq, 27, 3, 1),
	FIELD(REP, rep.ca_guid, 28, 0, 64),
	FIELD(REJ, rej.subject, 8, 0, 2),
	FIELD(REJ, rej.reason, 10, 0, 16),
	FIELD(MRA, mra.subject, 8, 0, 2),
	FIELD(MRA, mra.service_timeout, 9, 0, 5),
	FIELD(DREQ, dreq.remote_qpn, 8, 0, 24),
	FIELD(SIDR_REQ, sidr_req.partition_key, 4, 0, 16),
	FIELD(SIDR_REQ, sidr_req.service_id, 8, 0, 64),
	FIELD(SIDR_REP, sidr_rep.status, 4, 0, 8),
	FIELD(SIDR_REP, sidr_rep.qpn, 8, 0, 24),
	FIELD(SIDR_REP, sidr_rep.service_id, 12, 0, 64),
	FIELD(SIDR_REP, sidr_rep.qkey, 20, 0, 32),
	// clang-format on
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

size_t roce_cm_private_room(enum roce_cm_attribute attribute)
{
	const struct layout *layout = layout_of(attribute);

	return layout ? ROCE_CM_MAD_SIZE - HEADER_SIZE - layout->private_data : 0;
}

enum wire_error roce_cm_decode(const uint8_t *mad, size_t length, struct roce_cm *message)
{
	const struct layout *layout;
	const uint8_t *at;
	unsigned attribute;

	if (length < ROCE_CM_MAD_SIZE)
		return WIRE_TRUNCATED;
	if (mad[0] != BASE_VERSION)
		return WIRE_BAD_VERSION;
	if (mad[1] != CM_CLASS)
		return WIRE_UNSUPPORTED;
	if (mad[2] != CLASS_VERSION)
		return WIRE_BAD_VERSION;
	attribute = load_be16(mad + 16);
	layout = layout_of(attribute);
	if (mad[3] != METHOD_SEND || layout == NULL)
		return WIRE_UNSUPPORTED;
	at = mad + HEADER_SIZE;
	*message = (struct roce_cm){
		.transaction = load_be64(mad + 8),
		.attribute = (enum roce_cm_attribute)attribute,
		.local_id = load_be32(at),
		.private_data = at + layout->private_data,
		.private_size = ROCE_CM_MAD_SIZE - HEADER_SIZE - layout->private_data,
	};
	if (layout->has_remote_id)
		message->remote_id = load_be32(at + 4);
	if (layout->info != 0) {
		message->info = at + layout->info;
		message->info_size = at[layout->info_size] >> layout->info_shift;
		if (message->info_size > ROCE_CM_INFO_SIZE)
			return WIRE_BAD_LENGTH;
	}
	bit_fields_decode(fields, N_FIELDS, attribute, at, message);
	return WIRE_OK;
}

enum wire_error roce_cm_encode(uint8_t mad[ROCE_CM_MAD_SIZE], const struct roce_cm *message)
{
	const struct layout *layout = layout_of(message->attribute);
	uint8_t *at = mad + HEADER_SIZE;

	if (layout == NULL)
		return WIRE_UNSUPPORTED;
	if (message->private_size > roce_cm_private_room(message->attribute) ||
	    message->info_size > (layout->info ? ROCE_CM_INFO_SIZE : 0))
		return WIRE_NO_ROOM;
	memset(mad, 0, ROCE_CM_MAD_SIZE);
	mad[0] = BASE_VERSION;
	mad[1] = CM_CLASS;
	mad[2] = CLASS_VERSION;
	mad[3] = METHOD_SEND;
	store_be64(mad + 8, message->transaction);
	store_be16(mad + 16, (uint16_t)message->attribute);
	store_be32(at, message->local_id);
	if (layout->has_remote_id)
		store_be32(at + 4, message->remote_id);
	bit_fields_encode(fields, N_FIELDS, message->attribute, at, message);
	if (message->info_size > 0) {
		at[layout->info_size] = (uint8_t)(message->info_size << layout->info_shift);
		memcpy(at + layout->info, message->info, message->info_size);
	}
	if (message->private_size > 0)
		memcpy(at + layout->private_data, message->private_data, message->private_size);
	return WIRE_OK;
}

bool roce_cm_ip_service(uint64_t service_id, uint16_t *port)
{
	if ((service_id & IP_SERVICES_MASK) != IP_SERVICES)
		return false;
	*port = (uint16_t)service_id;
	return true;
}

enum wire_error roce_cm_ip_decode(const uint8_t *private_data, size_t size, struct roce_cm_ip *ip)
{
	if (size < ROCE_CM_IP_SIZE)
		return WIRE_TRUNCATED;
	ip->version = private_data[1] >> 4;
	if (private_data[0] != 0 || (ip->version != 4 && ip->version != 6))
		return WIRE_BAD_VERSION;
	ip->source_port = load_be16(private_data + 2);
	memcpy(ip->source, private_data + 4, sizeof(ip->source));
	memcpy(ip->destination, private_data + 20, sizeof(ip->destination));
	return WIRE_OK;
}

void roce_cm_ip_encode(uint8_t private_data[ROCE_CM_IP_SIZE], const struct roce_cm_ip *ip)
{
	private_data[0] = 0;
	private_data[1] = (uint8_t)(ip->version << 4);
	store_be16(private_data + 2, ip->source_port);
	memcpy(private_data + 4, ip->source, sizeof(ip->source));
	memcpy(private_data + 20, ip->destination, sizeof(ip->destination));
}

const char *roce_cm_reason_text(unsigned reason)
{
	static const char *const texts[] = {
		[ROCE_CM_NO_QP] = "no queue pair is free there",
		[ROCE_CM_NO_RESOURCES] = "there are too many connections",
		[ROCE_CM_TIMEOUT] = "it received no response",
		[ROCE_CM_UNSUPPORTED] = "it does not support the request",
		[ROCE_CM_INVALID_COMM_ID] = "it does not know the connection",
		[ROCE_CM_INVALID_SERVICE_ID] = "nobody listens at this port",
		[ROCE_CM_INVALID_TRANSPORT] = "it does not support the service",
		[ROCE_CM_STALE_CONNECTION] = "it still has an old connection",
		[ROCE_CM_INVALID_GID] = "it has another address",
		[ROCE_CM_INVALID_MTU] = "the path MTU is too large",
		[ROCE_CM_CONSUMER_DEFINED] = "the program there refuses",
	};
	const char *text = reason < sizeof(texts) / sizeof(texts[0]) ? texts[reason] : NULL;

	return text != NULL ? text : "refused for another reason";
}
