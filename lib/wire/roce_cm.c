// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/roce_cm.h"

#define BASE_VERSION  1
#define CM_CLASS      0x07
#define CLASS_VERSION 2
#define METHOD_SEND   3

#define HEADER_SIZE    24u

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

// A field of a message: `bits` bits, from bit `first` of byte `at` on, where bit 0 is the highest.
// A field of GID_BITS is an array of bytes, any other an unsigned number or bool.
struct field {
	uint8_t attribute, at, first, bits;
	uint16_t member, size; // in struct roce_cm, bytes
};

#define GID_BITS 128u

#define FIELD(message, at, first, bits, member)                                       \
	{                                                                             \
		ROCE_CM_##message, at, first, bits, offsetof(struct roce_cm, member), \
		    sizeof(((struct roce_cm *)0)->member)                             \
	}

#define PATH_FIELDS(at, path)                                                              \
	FIELD(REQ, at, 0, 16, path.local_lid), FIELD(REQ, at + 2, 0, 16, path.remote_lid), \
	    FIELD(REQ, at + 4, 0, GID_BITS, path.local_gid),                               \
	    FIELD(REQ, at + 20, 0, GID_BITS, path.remote_gid),                             \
	    FIELD(REQ, at + 36, 0, 20, path.flow_label),                                   \
	    FIELD(REQ, at + 39, 2, 6, path.packet_rate),                                   \
	    FIELD(REQ, at + 40, 0, 8, path.traffic_class),                                 \
	    FIELD(REQ, at + 41, 0, 8, path.hop_limit),                                     \
	    FIELD(REQ, at + 42, 0, 4, path.service_level),                                 \
	    FIELD(REQ, at + 42, 4, 1, path.subnet_local),                                  \
	    FIELD(REQ, at + 43, 0, 5, path.ack_timeout)

static const struct field fields[] = {
	FIELD(REQ, 8, 0, 64, req.service_id),
	FIELD(REQ, 16, 0, 64, req.ca_guid),
	FIELD(REQ, 28, 0, 32, req.qkey),
	FIELD(REQ, 32, 0, 24, req.qpn),
	FIELD(REQ, 35, 0, 8, req.responder_resources),
	FIELD(REQ, 39, 0, 8, req.initiator_depth),
	FIELD(REQ, 43, 0, 5, req.remote_response_timeout),
	FIELD(REQ, 43, 5, 2, req.transport),
	FIELD(REQ, 43, 7, 1, req.flow_control),
	FIELD(REQ, 44, 0, 24, req.starting_psn),
	FIELD(REQ, 47, 0, 5, req.local_response_timeout),
	FIELD(REQ, 47, 5, 3, req.retry_count),
	FIELD(REQ, 48, 0, 16, req.partition_key),
	FIELD(REQ, 50, 0, 4, req.path_mtu),
	FIELD(REQ, 50, 4, 1, req.rdc_exists),
	FIELD(REQ, 50, 5, 3, req.rnr_retry_count),
	FIELD(REQ, 51, 0, 4, req.max_cm_retries),
	FIELD(REQ, 51, 4, 1, req.srq),
	FIELD(REQ, 51, 5, 3, req.extended_transport),
	PATH_FIELDS(52, req.primary),
	PATH_FIELDS(96, req.alternate),
	FIELD(REP, 8, 0, 32, rep.qkey),
	FIELD(REP, 12, 0, 24, rep.qpn),
	FIELD(REP, 20, 0, 24, rep.starting_psn),
	FIELD(REP, 24, 0, 8, rep.responder_resources),
	FIELD(REP, 25, 0, 8, rep.initiator_depth),
	FIELD(REP, 26, 0, 5, rep.target_ack_delay),
	FIELD(REP, 26, 5, 2, rep.failover),
	FIELD(REP, 26, 7, 1, rep.flow_control),
	FIELD(REP, 27, 0, 3, rep.rnr_retry_count),
	FIELD(REP, 27, 3, 1, rep.srq),
	FIELD(REP, 28, 0, 64, rep.ca_guid),
	FIELD(REJ, 8, 0, 2, rej.subject),
	FIELD(REJ, 10, 0, 16, rej.reason),
	FIELD(MRA, 8, 0, 2, mra.subject),
	FIELD(MRA, 9, 0, 5, mra.service_timeout),
	FIELD(DREQ, 8, 0, 24, dreq.remote_qpn),
	FIELD(SIDR_REQ, 4, 0, 16, sidr_req.partition_key),
	FIELD(SIDR_REQ, 8, 0, 64, sidr_req.service_id),
	FIELD(SIDR_REP, 4, 0, 8, sidr_rep.status),
	FIELD(SIDR_REP, 8, 0, 24, sidr_rep.qpn),
	FIELD(SIDR_REP, 12, 0, 64, sidr_rep.service_id),
	FIELD(SIDR_REP, 20, 0, 32, sidr_rep.qkey),
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint64_t load_member(const void *from, size_t size)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)from;
	case 2:
		return *(const uint16_t *)from;
	case 4:
		return *(const uint32_t *)from;
	default:
		return *(const uint64_t *)from;
	}
}

static void store_member(void *to, size_t size, uint64_t value)
{
	switch (size) {
	case 1:
		*(uint8_t *)to = (uint8_t)value;
		break;
	case 2:
		*(uint16_t *)to = (uint16_t)value;
		break;
	case 4:
		*(uint32_t *)to = (uint32_t)value;
		break;
	default:
		*(uint64_t *)to = value;
	}
}

// The 8 bytes from a field on lie in the MAD, because all fields precede the private data.
static void decode_field(const uint8_t *at, const struct field *field, void *member)
{
	if (field->bits == GID_BITS)
		memcpy(member, at, field->size);
	else
		store_member(member, field->size,
			     load_be64(at) << field->first >> (64 - field->bits));
}

// The bits of the field are 0.
static void encode_field(uint8_t *at, const struct field *field, const void *member)
{
	if (field->bits == GID_BITS)
		memcpy(at, member, field->size);
	else
		store_be64(at, load_be64(at) | load_member(member, field->size)
						       << (64 - field->bits) >>
						   field->first);
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
	for (size_t i = 0; i < N_FIELDS; i++)
		if (fields[i].attribute == attribute)
			decode_field(at + fields[i].at, &fields[i],
				     (uint8_t *)message + fields[i].member);
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
	for (size_t i = 0; i < N_FIELDS; i++)
		if (fields[i].attribute == message->attribute)
			encode_field(at + fields[i].at, &fields[i],
				     (const uint8_t *)message + fields[i].member);
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
