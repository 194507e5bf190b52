// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/roce_cm.h"

#define BASE_VERSION  1
#define CM_CLASS      0x07
#define CLASS_VERSION 2
#define METHOD_SEND   3

#define HEADER_SIZE    24u
#define PRIMARY_PATH   52u
#define ALTERNATE_PATH 96u

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

static uint32_t load_upper24(const uint8_t *p)
{
	return load_be32(p) >> 8;
}

// Also sets the byte after the number to 0; a field in that byte is stored later.
static void store_upper24(uint8_t *p, uint32_t v)
{
	store_be32(p, v << 8);
}

static void decode_path(const uint8_t *at, struct roce_cm_path *path)
{
	path->local_lid = load_be16(at);
	path->remote_lid = load_be16(at + 2);
	memcpy(path->local_gid, at + 4, sizeof(path->local_gid));
	memcpy(path->remote_gid, at + 20, sizeof(path->remote_gid));
	path->flow_label = load_be32(at + 36) >> 12;
	path->packet_rate = at[39] & 0x3F;
	path->traffic_class = at[40];
	path->hop_limit = at[41];
	path->service_level = at[42] >> 4;
	path->subnet_local = at[42] & 0x08;
	path->ack_timeout = at[43] >> 3;
}

static void encode_path(uint8_t *at, const struct roce_cm_path *path)
{
	store_be16(at, path->local_lid);
	store_be16(at + 2, path->remote_lid);
	memcpy(at + 4, path->local_gid, sizeof(path->local_gid));
	memcpy(at + 20, path->remote_gid, sizeof(path->remote_gid));
	store_be32(at + 36, path->flow_label << 12 | (path->packet_rate & 0x3F));
	at[40] = path->traffic_class;
	at[41] = path->hop_limit;
	at[42] = (uint8_t)(path->service_level << 4 | (path->subnet_local ? 0x08 : 0));
	at[43] = (uint8_t)(path->ack_timeout << 3);
}

static void decode_req(const uint8_t *at, struct roce_cm_req *req)
{
	req->service_id = load_be64(at + 8);
	req->ca_guid = load_be64(at + 16);
	req->qkey = load_be32(at + 28);
	req->qpn = load_upper24(at + 32);
	req->responder_resources = at[35];
	req->initiator_depth = at[39];
	req->remote_response_timeout = at[43] >> 3;
	req->transport = at[43] >> 1 & 0x3;
	req->flow_control = at[43] & 0x1;
	req->starting_psn = load_upper24(at + 44);
	req->local_response_timeout = at[47] >> 3;
	req->retry_count = at[47] & 0x7;
	req->partition_key = load_be16(at + 48);
	req->path_mtu = at[50] >> 4;
	req->rdc_exists = at[50] & 0x08;
	req->rnr_retry_count = at[50] & 0x7;
	req->max_cm_retries = at[51] >> 4;
	req->srq = at[51] & 0x08;
	req->extended_transport = at[51] & 0x7;
	decode_path(at + PRIMARY_PATH, &req->primary);
	decode_path(at + ALTERNATE_PATH, &req->alternate);
}

static void encode_req(uint8_t *at, const struct roce_cm_req *req)
{
	store_be64(at + 8, req->service_id);
	store_be64(at + 16, req->ca_guid);
	store_be32(at + 28, req->qkey);
	store_upper24(at + 32, req->qpn);
	at[35] = req->responder_resources;
	at[39] = req->initiator_depth;
	at[43] = (uint8_t)(req->remote_response_timeout << 3 | (req->transport & 0x3) << 1 |
			   (req->flow_control ? 1 : 0));
	store_upper24(at + 44, req->starting_psn);
	at[47] = (uint8_t)(req->local_response_timeout << 3 | (req->retry_count & 0x7));
	store_be16(at + 48, req->partition_key);
	at[50] = (uint8_t)(req->path_mtu << 4 | (req->rdc_exists ? 0x08 : 0) |
			   (req->rnr_retry_count & 0x7));
	at[51] = (uint8_t)(req->max_cm_retries << 4 | (req->srq ? 0x08 : 0) |
			   (req->extended_transport & 0x7));
	encode_path(at + PRIMARY_PATH, &req->primary);
	encode_path(at + ALTERNATE_PATH, &req->alternate);
}

static void decode_rep(const uint8_t *at, struct roce_cm_rep *rep)
{
	rep->qkey = load_be32(at + 8);
	rep->qpn = load_upper24(at + 12);
	rep->starting_psn = load_upper24(at + 20);
	rep->responder_resources = at[24];
	rep->initiator_depth = at[25];
	rep->target_ack_delay = at[26] >> 3;
	rep->failover = at[26] >> 1 & 0x3;
	rep->flow_control = at[26] & 0x1;
	rep->rnr_retry_count = at[27] >> 5;
	rep->srq = at[27] & 0x10;
	rep->ca_guid = load_be64(at + 28);
}

static void encode_rep(uint8_t *at, const struct roce_cm_rep *rep)
{
	store_be32(at + 8, rep->qkey);
	store_upper24(at + 12, rep->qpn);
	store_upper24(at + 20, rep->starting_psn);
	at[24] = rep->responder_resources;
	at[25] = rep->initiator_depth;
	at[26] = (uint8_t)(rep->target_ack_delay << 3 | (rep->failover & 0x3) << 1 |
			   (rep->flow_control ? 1 : 0));
	at[27] = (uint8_t)(rep->rnr_retry_count << 5 | (rep->srq ? 0x10 : 0));
	store_be64(at + 28, rep->ca_guid);
}

static void decode_message(const uint8_t *at, struct roce_cm *message)
{
	switch (message->attribute) {
	case ROCE_CM_REQ:
		decode_req(at, &message->req);
		break;
	case ROCE_CM_REP:
		decode_rep(at, &message->rep);
		break;
	case ROCE_CM_REJ:
		message->rej.subject = at[8] >> 6;
		message->rej.reason = load_be16(at + 10);
		break;
	case ROCE_CM_MRA:
		message->mra.subject = at[8] >> 6;
		message->mra.service_timeout = at[9] >> 3;
		break;
	case ROCE_CM_DREQ:
		message->dreq.remote_qpn = load_upper24(at + 8);
		break;
	case ROCE_CM_SIDR_REQ:
		message->sidr_req.partition_key = load_be16(at + 4);
		message->sidr_req.service_id = load_be64(at + 8);
		break;
	case ROCE_CM_SIDR_REP:
		message->sidr_rep.status = at[4];
		message->sidr_rep.qpn = load_upper24(at + 8);
		message->sidr_rep.service_id = load_be64(at + 12);
		message->sidr_rep.qkey = load_be32(at + 20);
		break;
	case ROCE_CM_RTU:
	case ROCE_CM_DREP:
		break;
	}
}

static void encode_message(uint8_t *at, const struct roce_cm *message)
{
	switch (message->attribute) {
	case ROCE_CM_REQ:
		encode_req(at, &message->req);
		break;
	case ROCE_CM_REP:
		encode_rep(at, &message->rep);
		break;
	case ROCE_CM_REJ:
		at[8] = (uint8_t)(message->rej.subject << 6);
		store_be16(at + 10, message->rej.reason);
		break;
	case ROCE_CM_MRA:
		at[8] = (uint8_t)(message->mra.subject << 6);
		at[9] = (uint8_t)(message->mra.service_timeout << 3);
		break;
	case ROCE_CM_DREQ:
		store_upper24(at + 8, message->dreq.remote_qpn);
		break;
	case ROCE_CM_SIDR_REQ:
		store_be16(at + 4, message->sidr_req.partition_key);
		store_be64(at + 8, message->sidr_req.service_id);
		break;
	case ROCE_CM_SIDR_REP:
		at[4] = message->sidr_rep.status;
		store_upper24(at + 8, message->sidr_rep.qpn);
		store_be64(at + 12, message->sidr_rep.service_id);
		store_be32(at + 20, message->sidr_rep.qkey);
		break;
	case ROCE_CM_RTU:
	case ROCE_CM_DREP:
		break;
	}
}

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
	decode_message(at, message);
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
	encode_message(at, message);
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
