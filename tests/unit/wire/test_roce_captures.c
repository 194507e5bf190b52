// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Real conversations of two rxe endpoints, of which we are neither: each packet's ICRC is right,
// and what is parsed, written again, gives the same bytes.
#include "bytes.h"

#include <limits.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/icrc.h"
#include "wire/roce_cm.h"

// What a capture holds.
struct account {
	unsigned packets;      // of RoCE
	unsigned others;       // frames that are none
	unsigned cm[16];       // CM messages, by attribute - ROCE_CM_REQ
	unsigned naks;         // syndrome 0x60
	unsigned rnr_naks;     // syndrome 0x20 | 12
	uint16_t service_port; // of the last REQ or SIDR_REQ
};

static void rewrite(const uint8_t *frame, size_t size, const struct net_frame *parsed,
		    const struct roce_packet *packet)
{
	const uint8_t *payload = frame + parsed->payload_offset + packet->payload_offset;
	const size_t ip_size = (size_t)parsed->l4_offset - parsed->l3_offset;
	struct bytes again = bytes_copy(frame, size);
	uint8_t *bth = again.data + parsed->payload_offset;

	memset(bth, 0, parsed->payload_size);
	assert_int_equal(roce_headers_encode(bth, packet), packet->payload_offset);
	memcpy(bth + packet->payload_offset, payload, packet->payload_size);
	icrc_append(again.data + parsed->l3_offset, ip_size, parsed->payload_size);
	assert_memory_equal(again.data, frame, size);
	bytes_free(&again);
}

static void verify_cut(const uint8_t *frame, size_t size, size_t number,
		       const struct net_frame *parsed)
{
	size_t headers = parsed->payload_offset + ROCE_BTH_SIZE;
	size_t cut = headers + number * 7 % (size - headers + 1);
	const struct icrc_piece pieces[] = { { frame, cut }, { frame + cut, size - cut } };

	assert_true(icrc_verify_pieces(pieces, 2, parsed));
}

// The same frame with one byte wrong, in a place that the ICRC covers.
static void refuse_damaged(const uint8_t *frame, size_t size, size_t number,
			   const struct net_frame *parsed)
{
	size_t payload = parsed->payload_offset + ROCE_BTH_SIZE;
	struct bytes damaged = bytes_copy(frame, size);

	damaged.data[payload + number % (size - payload)] ^= 0x10;
	assert_false(icrc_verify(damaged.data, parsed));
	bytes_free(&damaged);
}

static void expect_addresses(const uint8_t *frame, const struct net_frame *parsed,
			     const struct roce_cm *message, uint64_t service_id,
			     struct account *account)
{
	const uint8_t *ipv4 = frame + parsed->l3_offset;
	uint8_t again[ROCE_CM_IP_SIZE], address[16];
	struct roce_cm_ip ip;

	assert_true(roce_cm_ip_service(service_id, &account->service_port));
	assert_int_equal(roce_cm_ip_decode(message->private_data, message->private_size, &ip),
			 WIRE_OK);
	assert_int_equal(ip.version, 4);
	bytes_store_ipv4(address, load_be32(ipv4 + 12));
	assert_memory_equal(ip.source, address, sizeof(address));
	bytes_store_ipv4(address, load_be32(ipv4 + 16));
	assert_memory_equal(ip.destination, address, sizeof(address));
	roce_cm_ip_encode(again, &ip);
	assert_memory_equal(again, message->private_data, sizeof(again));
	if (message->attribute != ROCE_CM_REQ)
		return;
	address[10] = address[11] = 0xFF; // as GID
	memcpy(address + 12, ipv4 + 12, 4);
	assert_memory_equal(message->req.primary.local_gid, address, sizeof(address));
	memcpy(address + 12, ipv4 + 16, 4);
	assert_memory_equal(message->req.primary.remote_gid, address, sizeof(address));
	assert_int_equal(message->req.primary.local_lid, ROCE_CM_NO_LID);
	assert_int_equal(message->req.transport, ROCE_CM_RC);
	assert_int_equal(message->req.partition_key, ROCE_DEFAULT_P_KEY);
}

static void check_cm(const uint8_t *frame, const struct net_frame *parsed,
		     const struct roce_packet *packet, struct account *account)
{
	const uint8_t *mad = frame + parsed->payload_offset + packet->payload_offset;
	uint8_t again[ROCE_CM_MAD_SIZE];
	struct roce_cm message;

	assert_int_equal(packet->deth.source_qpn, ROCE_CM_QPN);
	assert_int_equal(packet->deth.qkey, ROCE_CM_QKEY);
	assert_int_equal(packet->payload_size, ROCE_CM_MAD_SIZE);
	assert_int_equal(roce_cm_decode(mad, packet->payload_size, &message), WIRE_OK);
	assert_int_equal(roce_cm_encode(again, &message), WIRE_OK);
	assert_memory_equal(again, mad, sizeof(again));
	account->cm[message.attribute - ROCE_CM_REQ]++;
	if (message.attribute == ROCE_CM_REQ)
		expect_addresses(frame, parsed, &message, message.req.service_id, account);
	if (message.attribute == ROCE_CM_SIDR_REQ)
		expect_addresses(frame, parsed, &message, message.sidr_req.service_id, account);
}

static void check_frame(const uint8_t *frame, size_t size, struct account *account)
{
	struct roce_packet packet;
	struct net_frame parsed;

	if (net_parse(frame, size, size, 0, &parsed) != WIRE_OK ||
	    (parsed.kind != NET_UDP4 && parsed.kind != NET_UDP6) ||
	    parsed.destination_port != ROCE_UDP_PORT) {
		account->others++;
		return;
	}
	account->packets++;
	assert_true(icrc_verify(frame, &parsed));
	verify_cut(frame, size, account->packets, &parsed);
	refuse_damaged(frame, size, account->packets, &parsed);
	assert_int_equal(roce_parse(frame + parsed.payload_offset, parsed.payload_size,
				    parsed.payload_size, &packet),
			 WIRE_OK);
	assert_true(roce_pad_ok(&packet));
	rewrite(frame, size, &parsed, &packet);
	if (packet.flags & ROCE_ACKNOWLEDGE) {
		account->naks += packet.aeth.syndrome == ROCE_NAK_PSN_SEQUENCE;
		account->rnr_naks += packet.aeth.syndrome == roce_rnr_syndrome(12);
	}
	if (packet.flags & ROCE_HAS_DETH && packet.destination_qpn == ROCE_CM_QPN)
		check_cm(frame, &parsed, &packet, account);
}

// Skips the test if the capture is not there.
static struct account read_capture(const char *name)
{
	const char *shared = getenv("EVB_SHARED");
	char path[PATH_MAX], error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	struct account account = { 0 };
	const u_char *bytes;
	pcap_t *capture;
	int status;

	snprintf(path, sizeof(path), "%s/vectors/roce/%s.pcap",
		 shared ? shared : REPOSITORY "/../shared", name);
	capture = pcap_open_offline(path, error);
	if (!capture) {
		print_message("%s\n", error);
		skip();
	}
	while ((status = pcap_next_ex(capture, &header, &bytes)) == 1) {
		assert_int_equal(header->caplen, header->len);
		check_frame(bytes, header->caplen, &account);
	}
	assert_int_equal(status, PCAP_ERROR_BREAK);
	pcap_close(capture);
	return account;
}

static void captures__each_packet(void **state)
{
	static const struct {
		const char *name;
		unsigned packets;
	} captures[] = {
		{ "rc_atomic_cswap", 20 },
		{ "rc_atomic_fadd", 20 },
		{ "rc_atomic_loss10_b", 160 },
		{ "rc_pingpong_srq", 100 },
		{ "rc_read_16k_loss5_b", 1446 },
		{ "rc_read_16k_mtu1024", 170 },
		{ "rc_send_1025b", 30 },
		{ "rc_send_32k_loss3_a", 1557 },
		{ "rc_send_3b", 20 },
		{ "rc_send_4k_loss10_b", 166 },
		{ "rc_send_4k_with_tcp", 25 },
		{ "rc_send_64k_mtu1024", 325 },
		{ "rc_send_64k_mtu4096", 85 },
		{ "rc_send_cm_64k", 139 },
		{ "rc_send_lat_64b", 40 },
		{ "rc_send_rnr", 258 },
		{ "rc_write_4k_ipv6", 25 },
		{ "rc_write_64k_mtu1024", 325 },
		{ "rc_write_64k_mtu4096", 85 },
		{ "rc_write_lat_8b", 40 },
		{ "rping_mtu1500", 53 },
		{ "rping_mtu9000", 41 },
		{ "rping_reject", 19 },
		{ "uc_send_64k_mtu1024", 320 },
		{ "uc_write_64k_mtu1024", 320 },
		{ "uc_write_64k_mtu4096", 80 },
		{ "ucmatose", 17 },
		{ "ud_send_1k", 20 },
		{ "ud_send_4k", 20 },
		{ "udaddy", 8 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
		assert_int_equal(read_capture(captures[i].name).packets, captures[i].packets);
}

static void captures__frames_of_others(void **state)
{
	struct account account = read_capture("rc_send_4k_with_tcp");

	(void)state;
	assert_int_equal(account.others, 29);
}

static void captures__naks(void **state)
{
	struct account rnr = read_capture("rc_send_rnr");
	struct account loss = read_capture("rc_send_32k_loss3_a");

	(void)state;
	assert_int_equal(rnr.rnr_naks, 9);
	assert_int_equal(rnr.naks, 9);
	assert_int_equal(loss.rnr_naks, 0);
	assert_int_equal(loss.naks, 13);
}

static void expect_messages(const char *name, uint16_t port, const struct account *expected)
{
	struct account account = read_capture(name);

	assert_int_equal(account.service_port, port);
	for (unsigned i = 0; i < 16; i++)
		assert_int_equal(account.cm[i], expected->cm[i]);
}

static void captures__connection_messages(void **state)
{
#define COUNTS(...) (&(const struct account){ .cm = { __VA_ARGS__ } })
	(void)state;
	// REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP
	expect_messages("rping_mtu9000", 7174, COUNTS(1, 0, 0, 1, 1, 1, 1));
	expect_messages("rping_mtu1500", 7174, COUNTS(1, 0, 0, 1, 1, 1, 1));
	expect_messages("rping_reject", 7999, COUNTS(2, 0, 1, 1, 1, 1, 1));
	expect_messages("ucmatose", 7471, COUNTS(1, 0, 0, 1, 1, 1, 1));
	expect_messages("rc_send_cm_64k", 18515, COUNTS(2, 0, 0, 2, 2, 2, 2));
	expect_messages("udaddy", 7174, COUNTS(0, 0, 0, 0, 0, 0, 0, 1, 1));
#undef COUNTS
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures__each_packet),
		cmocka_unit_test(captures__frames_of_others),
		cmocka_unit_test(captures__naks),
		cmocka_unit_test(captures__connection_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
