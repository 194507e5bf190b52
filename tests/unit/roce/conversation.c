// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "conversation.h"

#include <limits.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/net.h"

#define MOST_PACKETS 4096u
#define MOST_BYTES   (4u << 20)

static struct qp_address address_at(const uint8_t *ip, enum net_kind kind, unsigned which)
{
	struct qp_address address;

	if (kind == NET_UDP4)
		return qp_address_ipv4(load_be32(ip + 12 + 4 * which));
	memcpy(address.bytes, ip + 8 + 16 * which, sizeof(address.bytes));
	return address;
}

static void keep(struct conversation *conversation, const uint8_t *frame, size_t size)
{
	struct heard *heard = &conversation->packets[conversation->n];
	struct net_frame parsed;
	const uint8_t *bth;

	if (net_parse(frame, size, size, 0, &parsed) != WIRE_OK ||
	    (parsed.kind != NET_UDP4 && parsed.kind != NET_UDP6) ||
	    parsed.destination_port != ROCE_UDP_PORT)
		return;
	bth = frame + parsed.payload_offset;
	assert_int_equal(roce_parse(bth, parsed.payload_size, parsed.payload_size, &heard->packet),
			 WIRE_OK);
	heard->payload = bth + heard->packet.payload_offset;
	heard->source = address_at(frame + parsed.l3_offset, parsed.kind, 0);
	heard->destination = address_at(frame + parsed.l3_offset, parsed.kind, 1);
	conversation->n++;
}

struct conversation conversation_read(const char *name)
{
	const char *shared = getenv("EVB_SHARED");
	char path[PATH_MAX], error[PCAP_ERRBUF_SIZE];
	struct conversation conversation = { 0 };
	struct pcap_pkthdr *header;
	const u_char *bytes;
	size_t used = 0;
	pcap_t *capture;
	int status;

	snprintf(path, sizeof(path), "%s/vectors/roce/%s.pcap",
		 shared ? shared : REPOSITORY "/../shared", name);
	capture = pcap_open_offline(path, error);
	if (!capture) {
		print_message("%s\n", error);
		skip();
	}
	conversation.packets = calloc(MOST_PACKETS, sizeof(*conversation.packets));
	conversation.bytes = malloc(MOST_BYTES);
	assert_non_null(conversation.packets);
	assert_non_null(conversation.bytes);
	while ((status = pcap_next_ex(capture, &header, &bytes)) == 1) {
		assert_true(conversation.n < MOST_PACKETS && used + header->len <= MOST_BYTES);
		memcpy(conversation.bytes + used, bytes, header->len);
		keep(&conversation, conversation.bytes + used, header->len);
		used += header->len;
	}
	assert_int_equal(status, PCAP_ERROR_BREAK);
	pcap_close(capture);
	return conversation;
}

void conversation_free(struct conversation *conversation)
{
	free(conversation->packets);
	free(conversation->bytes);
}
