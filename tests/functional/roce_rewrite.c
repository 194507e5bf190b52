// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For test_roce_wire.py: reads a capture of RoCE packets, prints what each is parsed to, one JSON
// object a line, and writes a capture of the same packets with headers and ICRC written anew.
//
//   roce_rewrite IN.pcap OUT.pcap
#include <cjson/cJSON.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/icrc.h"
#include "wire/roce_cm.h"

#define MAX_FRAME 65536u

// As a string: a double does not hold 64 bits.
static void add_u64(cJSON *object, const char *name, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	cJSON_AddStringToObject(object, name, text);
}

static void add_bytes(cJSON *object, const char *name, const uint8_t *bytes, size_t size)
{
	char text[2 * ROCE_CM_MAD_SIZE + 1] = "";

	for (size_t i = 0; i < size && i < ROCE_CM_MAD_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	cJSON_AddStringToObject(object, name, text);
}

static void add_extensions(cJSON *object, const struct roce_packet *packet)
{
	if (packet->flags & ROCE_HAS_DETH) {
		cJSON_AddNumberToObject(object, "qkey", packet->deth.qkey);
		cJSON_AddNumberToObject(object, "source_qpn", packet->deth.source_qpn);
	}
	if (packet->flags & ROCE_HAS_RETH) {
		add_u64(object, "address", packet->reth.address);
		cJSON_AddNumberToObject(object, "rkey", packet->reth.rkey);
		cJSON_AddNumberToObject(object, "length", packet->reth.length);
	}
	if (packet->flags & ROCE_HAS_ATOMIC) {
		add_u64(object, "address", packet->atomic.address);
		cJSON_AddNumberToObject(object, "rkey", packet->atomic.rkey);
		add_u64(object, "swap_add", packet->atomic.swap_add);
		add_u64(object, "compare", packet->atomic.compare);
	}
	if (packet->flags & ROCE_HAS_AETH) {
		cJSON_AddNumberToObject(object, "syndrome", packet->aeth.syndrome);
		cJSON_AddNumberToObject(object, "msn", packet->aeth.msn);
	}
	if (packet->flags & ROCE_HAS_ATOMIC_ACK)
		add_u64(object, "atomic_result", packet->atomic_result);
	if (packet->flags & ROCE_HAS_IMM)
		cJSON_AddNumberToObject(object, "immediate", packet->immediate);
	if (packet->flags & ROCE_HAS_IETH)
		cJSON_AddNumberToObject(object, "invalidate_rkey", packet->invalidate_rkey);
}

static void add_packet(cJSON *object, const struct roce_packet *packet)
{
	cJSON_AddNumberToObject(object, "opcode", packet->opcode);
	cJSON_AddNumberToObject(object, "service", packet->service);
	cJSON_AddBoolToObject(object, "solicited", packet->solicited);
	cJSON_AddBoolToObject(object, "migrated", packet->migrated);
	cJSON_AddNumberToObject(object, "pad", packet->pad);
	cJSON_AddNumberToObject(object, "partition_key", packet->partition_key);
	cJSON_AddBoolToObject(object, "fecn", packet->fecn);
	cJSON_AddBoolToObject(object, "becn", packet->becn);
	cJSON_AddNumberToObject(object, "destination_qpn", packet->destination_qpn);
	cJSON_AddBoolToObject(object, "ack_request", packet->ack_request);
	cJSON_AddNumberToObject(object, "psn", packet->psn);
	cJSON_AddNumberToObject(object, "payload_offset", packet->payload_offset);
	cJSON_AddNumberToObject(object, "payload_size", packet->payload_size);
	add_extensions(object, packet);
}

static void add_path(cJSON *object, const char *name, const struct roce_cm_path *path)
{
	cJSON *child = cJSON_AddObjectToObject(object, name);

	cJSON_AddNumberToObject(child, "local_lid", path->local_lid);
	cJSON_AddNumberToObject(child, "remote_lid", path->remote_lid);
	add_bytes(child, "local_gid", path->local_gid, sizeof(path->local_gid));
	add_bytes(child, "remote_gid", path->remote_gid, sizeof(path->remote_gid));
	cJSON_AddNumberToObject(child, "flow_label", path->flow_label);
	cJSON_AddNumberToObject(child, "packet_rate", path->packet_rate);
	cJSON_AddNumberToObject(child, "traffic_class", path->traffic_class);
	cJSON_AddNumberToObject(child, "hop_limit", path->hop_limit);
	cJSON_AddNumberToObject(child, "service_level", path->service_level);
	cJSON_AddBoolToObject(child, "subnet_local", path->subnet_local);
	cJSON_AddNumberToObject(child, "ack_timeout", path->ack_timeout);
}

static void add_req(cJSON *object, const struct roce_cm_req *req)
{
	add_u64(object, "service_id", req->service_id);
	add_u64(object, "ca_guid", req->ca_guid);
	cJSON_AddNumberToObject(object, "qkey", req->qkey);
	cJSON_AddNumberToObject(object, "qpn", req->qpn);
	cJSON_AddNumberToObject(object, "starting_psn", req->starting_psn);
	cJSON_AddNumberToObject(object, "partition_key", req->partition_key);
	cJSON_AddNumberToObject(object, "responder_resources", req->responder_resources);
	cJSON_AddNumberToObject(object, "initiator_depth", req->initiator_depth);
	cJSON_AddNumberToObject(object, "remote_response_timeout", req->remote_response_timeout);
	cJSON_AddNumberToObject(object, "local_response_timeout", req->local_response_timeout);
	cJSON_AddNumberToObject(object, "transport", req->transport);
	cJSON_AddNumberToObject(object, "extended_transport", req->extended_transport);
	cJSON_AddNumberToObject(object, "retry_count", req->retry_count);
	cJSON_AddNumberToObject(object, "rnr_retry_count", req->rnr_retry_count);
	cJSON_AddNumberToObject(object, "path_mtu", req->path_mtu);
	cJSON_AddNumberToObject(object, "max_cm_retries", req->max_cm_retries);
	cJSON_AddBoolToObject(object, "flow_control", req->flow_control);
	cJSON_AddBoolToObject(object, "srq", req->srq);
	cJSON_AddBoolToObject(object, "rdc_exists", req->rdc_exists);
	add_path(object, "primary", &req->primary);
	add_path(object, "alternate", &req->alternate);
}

static void add_rep(cJSON *object, const struct roce_cm_rep *rep)
{
	add_u64(object, "ca_guid", rep->ca_guid);
	cJSON_AddNumberToObject(object, "qkey", rep->qkey);
	cJSON_AddNumberToObject(object, "qpn", rep->qpn);
	cJSON_AddNumberToObject(object, "starting_psn", rep->starting_psn);
	cJSON_AddNumberToObject(object, "responder_resources", rep->responder_resources);
	cJSON_AddNumberToObject(object, "initiator_depth", rep->initiator_depth);
	cJSON_AddNumberToObject(object, "target_ack_delay", rep->target_ack_delay);
	cJSON_AddNumberToObject(object, "failover", rep->failover);
	cJSON_AddNumberToObject(object, "rnr_retry_count", rep->rnr_retry_count);
	cJSON_AddBoolToObject(object, "flow_control", rep->flow_control);
	cJSON_AddBoolToObject(object, "srq", rep->srq);
}

static void add_cm(cJSON *parent, const uint8_t *mad, size_t size)
{
	cJSON *object = cJSON_AddObjectToObject(parent, "cm");
	struct roce_cm message;
	enum wire_error error = roce_cm_decode(mad, size, &message);

	if (error) {
		cJSON_AddStringToObject(object, "error", wire_reason(error));
		return;
	}
	cJSON_AddNumberToObject(object, "attribute", message.attribute);
	add_u64(object, "transaction", message.transaction);
	cJSON_AddNumberToObject(object, "local_id", message.local_id);
	cJSON_AddNumberToObject(object, "remote_id", message.remote_id);
	add_bytes(object, "private", message.private_data, message.private_size);
	if (message.attribute == ROCE_CM_REQ)
		add_req(object, &message.req);
	if (message.attribute == ROCE_CM_REP)
		add_rep(object, &message.rep);
	if (message.attribute == ROCE_CM_DREQ)
		cJSON_AddNumberToObject(object, "remote_qpn", message.dreq.remote_qpn);
	if (message.attribute == ROCE_CM_REJ) {
		cJSON_AddNumberToObject(object, "reason", message.rej.reason);
		cJSON_AddNumberToObject(object, "subject", message.rej.subject);
		cJSON_AddNumberToObject(object, "info_size", (double)message.info_size);
	}
}

// Writes headers, padding and ICRC of the frame anew, in place.
static void rewrite(uint8_t *frame, const struct net_frame *parsed,
		    const struct roce_packet *packet)
{
	uint8_t *bth = frame + parsed->payload_offset;
	uint8_t *behind = bth + packet->payload_offset + packet->payload_size;
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t size = roce_headers_encode(headers, packet);

	memcpy(bth, headers, size);
	memset(behind, 0, packet->pad + ROCE_ICRC_SIZE);
	icrc_append(frame + parsed->l3_offset, (size_t)parsed->l4_offset - parsed->l3_offset,
		    parsed->payload_size);
}

static void use_frame(uint8_t *frame, size_t size, cJSON *object)
{
	struct roce_packet packet;
	struct net_frame parsed;
	enum wire_error error = net_parse(frame, size, size, 0, &parsed);

	if (!error && (parsed.kind != NET_UDP4 && parsed.kind != NET_UDP6))
		error = WIRE_UNSUPPORTED;
	if (!error)
		error = roce_parse(frame + parsed.payload_offset, parsed.payload_size,
				   parsed.payload_size, &packet);
	if (error) {
		cJSON_AddStringToObject(object, "error", wire_reason(error));
		return;
	}
	cJSON_AddBoolToObject(object, "icrc_ok", icrc_verify(frame, &parsed));
	add_packet(object, &packet);
	if (packet.flags & ROCE_HAS_DETH && packet.destination_qpn == ROCE_CM_QPN)
		add_cm(object, frame + parsed.payload_offset + packet.payload_offset,
		       packet.payload_size);
	rewrite(frame, &parsed, &packet);
}

int main(int argc, char **argv)
{
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const u_char *bytes;
	pcap_dumper_t *out;
	pcap_t *in;

	if (argc != 3) {
		fprintf(stderr, "usage: %s IN.pcap OUT.pcap\n", argv[0]);
		return EXIT_FAILURE;
	}
	in = pcap_open_offline(argv[1], error);
	if (!in) {
		fprintf(stderr, "%s: %s\n", argv[1], error);
		return EXIT_FAILURE;
	}
	out = pcap_dump_open(in, argv[2]);
	if (!out) {
		fprintf(stderr, "%s\n", pcap_geterr(in));
		return EXIT_FAILURE;
	}
	while (pcap_next_ex(in, &header, &bytes) == 1) {
		uint8_t frame[MAX_FRAME];
		cJSON *object = cJSON_CreateObject();
		char *text;

		if (header->caplen > MAX_FRAME)
			return EXIT_FAILURE;
		memcpy(frame, bytes, header->caplen);
		use_frame(frame, header->caplen, object);
		pcap_dump((u_char *)out, header, frame);
		text = cJSON_PrintUnformatted(object);
		puts(text);
		cJSON_free(text);
		cJSON_Delete(object);
	}
	pcap_dump_close(out);
	pcap_close(in);
	return EXIT_SUCCESS;
}
