// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "inspect/inspect.h"
#include "record/mep_to_mdf.h"
#include "wire/icrc.h"

#define EVENTS     4u
#define ROOM       (EVENTS * MEP_ROOM)
#define FRAME_ROOM 9216u

// The problems and visits that an inspection reported.
struct verdict {
	struct inspect_summary summary;
	enum inspect_kind kind;
	unsigned events, sources, fragments, packets, problems;
	uint64_t offset; // of the first problem
	enum wire_error reason;
	char text[256];
	uint64_t event_id; // of the last event
	char roce[64];     // the last packet of RoCE
};

static void on_file(void *context, const struct inspect_file *file)
{
	((struct verdict *)context)->kind = file->kind;
}

static void on_event(void *context, const struct inspect_event *event)
{
	struct verdict *verdict = context;

	verdict->events++;
	verdict->event_id = event->event_id;
}

static void on_source(void *context, const struct inspect_source *source)
{
	(void)source;
	((struct verdict *)context)->sources++;
}

static void on_fragment(void *context, const struct inspect_fragment *fragment)
{
	(void)fragment;
	((struct verdict *)context)->fragments++;
}

static void on_packet(void *context, const struct inspect_packet *packet)
{
	struct verdict *verdict = context;

	verdict->packets++;
	if (packet->is_roce)
		snprintf(verdict->roce, sizeof(verdict->roce), "%s %s %s 0x%x %u",
			 inspect_roce_service(&packet->roce), inspect_roce_operation(&packet->roce),
			 inspect_roce_part(&packet->roce), packet->roce.destination_qpn,
			 packet->roce.psn);
}

static void on_problem(void *context, const struct inspect_problem *problem)
{
	struct verdict *verdict = context;

	if (verdict->problems++)
		return;
	verdict->offset = problem->offset;
	verdict->reason = problem->reason;
	snprintf(verdict->text, sizeof(verdict->text), "%s", problem->text);
}

static struct verdict judge_file(const char *path, struct inspect_options options)
{
	struct verdict verdict = { 0 };
	const struct inspect_visitor visitor = {
		.context = &verdict,
		.file = on_file,
		.event = on_event,
		.source = on_source,
		.fragment = on_fragment,
		.packet = on_packet,
		.problem = on_problem,
	};
	char error[INSPECT_ERROR_SIZE] = "";
	struct inspect *inspect = inspect_open(&options, &visitor);

	assert_non_null(inspect);
	assert_int_equal(inspect_read(inspect, path, error), 0);
	inspect_finish(inspect, &verdict.summary);
	inspect_close(inspect);
	assert_int_equal(verdict.summary.problems, verdict.problems);
	return verdict;
}

static const struct inspect_options VERIFY = { .verify = true };

static struct verdict judge_bytes(const char *directory, const char *name, const uint8_t *bytes,
				  size_t size, struct inspect_options options)
{
	char path[PATH_SIZE];

	path_in(path, directory, name);
	write_file(path, bytes, size);
	return judge_file(path, options);
}

// MEPs of the events 0, FRAGMENTS, 2 * FRAGMENTS ...: their ids are consecutive.
static size_t make_meps(uint8_t *bytes, unsigned n)
{
	size_t at = 0;

	for (unsigned i = 0; i < n; i++)
		at += make_file_mep(bytes + at, FRAGMENTS * i);
	return at;
}

static void inspect__sound_meps(void **state)
{
	static uint8_t bytes[ROOM];
	size_t size = make_meps(bytes, EVENTS);
	struct inspect_options options = { .verify = true, .sources = true, .fragments = true };
	struct verdict verdict = judge_bytes(*state, "x", bytes, size, options);

	assert_int_equal(verdict.kind, INSPECT_MEP);
	assert_int_equal(verdict.problems, 0);
	assert_int_equal(verdict.events, EVENTS);
	assert_int_equal(verdict.sources, EVENTS * MEP_SOURCES);
	assert_int_equal(verdict.fragments, EVENTS * MEP_SOURCES * FRAGMENTS);
	assert_int_equal(verdict.summary.meps, EVENTS);
	assert_int_equal(verdict.summary.generated, EVENTS * MEP_SOURCES * FRAGMENTS);
	assert_int_equal(verdict.summary.bytes, size);
}

static void inspect__limit_and_event(void **state)
{
	static uint8_t bytes[ROOM];
	size_t size = make_meps(bytes, EVENTS);
	struct inspect_options options = { .limit = 2 };
	struct verdict verdict = judge_bytes(*state, "x", bytes, size, options);

	assert_int_equal(verdict.events, 2);
	assert_int_equal(verdict.event_id, FRAGMENTS);
	options = (struct inspect_options){ .one_event = true, .event_id = 2 * FRAGMENTS + 1 };
	verdict = judge_bytes(*state, "x", bytes, size, options);
	assert_int_equal(verdict.events, 1);
	assert_int_equal(verdict.event_id, 2 * FRAGMENTS);
}

static void inspect__damaged_mep_is_skipped(void **state)
{
	static uint8_t bytes[ROOM];
	size_t size = make_meps(bytes, EVENTS), mep_size = size / EVENTS;
	struct verdict verdict;

	bytes[mep_size] ^= 1; // the magic number of the second
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.events, EVENTS - 1);
	assert_int_equal(verdict.problems, 2); // the MEP, and its event ids
	assert_int_equal(verdict.offset, mep_size);
	assert_int_equal(verdict.reason, WIRE_BAD_MAGIC);
	assert_int_equal(verdict.summary.missing_event_ids, FRAGMENTS);
}

static void inspect__damaged_mfp_in_a_mep(void **state)
{
	static uint8_t bytes[ROOM];
	size_t size = make_meps(bytes, EVENTS), mep_size = size / EVENTS;
	size_t mfp = 2 * mep_size + mep_header_size(MEP_SOURCES, MEP_DEFAULT_ALIGN);
	struct verdict verdict;

	bytes[mfp + 16] ^= 1; // the first source id of the third MEP
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.events, EVENTS - 1);
	assert_int_equal(verdict.offset, 2 * mep_size);
	assert_int_equal(verdict.reason, WIRE_BAD_SOURCE);
}

static void inspect__every_changed_payload_byte_is_found(void **state)
{
	static uint8_t bytes[ROOM];
	size_t size = make_meps(bytes, 2), mep_size = size / 2;
	size_t payload =
	    mep_size + mep_header_size(MEP_SOURCES, MEP_DEFAULT_ALIGN) + mfp_data_offset(FRAGMENTS);

	for (size_t i = 0; i < 17; i++) { // bytes of the first fragment
		struct verdict verdict;

		bytes[payload + i] ^= 0x40;
		verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
		assert_int_equal(verdict.problems, 1);
		assert_string_equal(verdict.text, "source 0, events from 3: payload of 1 "
						  "fragments is not what was generated");
		bytes[payload + i] ^= 0x40;
	}
}

static void inspect__payload_that_was_not_generated(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	size_t size = make_file_mep(bytes, 0);
	struct inspect_options options = VERIFY;

	memset(bytes + size - 8000, 'x', 4000); // in the largest source's fragments
	options.payload = INSPECT_PAYLOAD_ANY;
	assert_int_equal(judge_bytes(*state, "x", bytes, size, options).problems, 0);
	options.payload = INSPECT_PAYLOAD_GENERATED;
	assert_int_equal(judge_bytes(*state, "x", bytes, size, options).problems, 1);
}

static void inspect__truncated_file(void **state)
{
	static uint8_t bytes[ROOM];
	size_t size = make_meps(bytes, 2);
	struct verdict verdict = judge_bytes(*state, "x", bytes, size - 1, VERIFY);

	assert_int_equal(verdict.events, 1);
	assert_int_equal(verdict.problems, 1);
	assert_int_equal(verdict.offset, size / 2);
	assert_int_equal(verdict.reason, WIRE_TRUNCATED);
}

static void inspect__repeated_and_missing_event_ids(void **state)
{
	static uint8_t bytes[ROOM];
	struct inspect_options options = VERIFY;
	struct verdict verdict;
	size_t size = make_file_mep(bytes, 0);

	size += make_file_mep(bytes + size, 0);
	size += make_file_mep(bytes + size, 10);
	verdict = judge_bytes(*state, "x", bytes, size, options);
	assert_int_equal(verdict.problems, 2);
	assert_int_equal(verdict.reason, WIRE_BAD_EVENT);
	assert_int_equal(verdict.summary.repeated_event_ids, FRAGMENTS);
	assert_int_equal(verdict.summary.missing_event_ids, 10 - FRAGMENTS);
	options.allow_gaps = true;
	verdict = judge_bytes(*state, "x", bytes, size, options);
	assert_int_equal(verdict.problems, 1);
	assert_string_equal(verdict.text, "3 of the event ids 0..2 were there before");
}

static void inspect__order_of_events_does_not_matter(void **state)
{
	static uint8_t bytes[ROOM];
	size_t size = make_file_mep(bytes, FRAGMENTS);

	size += make_file_mep(bytes + size, 0);
	size += make_file_mep(bytes + size, 2 * FRAGMENTS);
	assert_int_equal(judge_bytes(*state, "x", bytes, size, VERIFY).problems, 0);
}

static void inspect__mfp_file(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	size_t second = make_mfp(bytes, MEP_ROOM, 0, 0x1001, 20), third, size;
	struct verdict verdict;

	third = second + make_mfp(bytes + second, MEP_ROOM - second, 0, 0x1002, 20);
	size = third + make_mfp(bytes + third, MEP_ROOM - third, FRAGMENTS, 0x1001, 20);
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.kind, INSPECT_MFP);
	assert_int_equal(verdict.events, 3);
	assert_int_equal(verdict.problems, 0);
	bytes[second] ^= 1;
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.events, 2);
	assert_int_equal(verdict.problems, 1);
	assert_int_equal(verdict.offset, second);
}

// Two records made of one MEP. Returns their size.
static size_t make_mdf(uint8_t *bytes, size_t capacity)
{
	static uint8_t mep[MEP_ROOM];
	struct mep_to_mdf_event event = { .data = mep, .length = make_file_mep(mep, 0) };
	struct mep_to_mdf *converter;
	char error[256];
	uint64_t total;
	size_t at = 0, size;

	assert_int_equal(mep_to_mdf_open(&converter, NULL, error, sizeof(error)), 0);
	assert_int_equal(mep_to_mdf_begin(converter, &event, &total, error, sizeof(error)), 0);
	assert_true(total <= capacity);
	while ((size = mep_to_mdf_next_size(converter))) {
		mep_to_mdf_next(converter, bytes + at);
		at += size;
	}
	mep_to_mdf_close(converter);
	return at;
}

static void inspect__mdf_file(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	size_t size = make_mdf(bytes, sizeof(bytes));
	uint32_t second = load_le32(bytes);
	struct verdict verdict = judge_bytes(*state, "x", bytes, size, VERIFY);

	assert_int_equal(verdict.kind, INSPECT_MDF);
	assert_int_equal(verdict.problems, 0);
	assert_int_equal(verdict.summary.records, FRAGMENTS);
	assert_int_equal(verdict.summary.banks, FRAGMENTS * MEP_SOURCES);
	assert_int_equal(verdict.summary.generated, FRAGMENTS * MEP_SOURCES);

	bytes[second + 37] ^= 1; // the run number: only the checksum detects the change
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.problems, 1);
	assert_int_equal(verdict.offset, second);
	assert_int_equal(verdict.reason, WIRE_BAD_CHECKSUM);
	bytes[second + 37] ^= 1;

	bytes[second + 4] ^= 1; // one of the three sizes
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.problems, 1);
	assert_int_equal(verdict.events, FRAGMENTS - 1);
	assert_int_equal(verdict.offset, second);
	assert_int_equal(verdict.reason, WIRE_BAD_LENGTH);
	bytes[second + 4] ^= 1;

	bytes[second + MDF_HEADER_SIZE] ^= 1; // a bank's magic number
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.problems, 2); // and the checksum
	assert_int_equal(verdict.reason, WIRE_BAD_MAGIC);
}

// A record with an ODIN bank.
static size_t make_numbered(uint8_t *bytes, size_t capacity, uint32_t run, uint64_t event_id)
{
	const struct odin odin = { .event_id = event_id, .run = run };
	uint8_t payload[ODIN_SIZE];
	const struct mdf_bank bank = { .payload = payload,
				       .size = sizeof(payload),
				       .type = MFP_TYPE_ODIN,
				       .version = MDF_VERSION_ODIN };
	struct mdf_header header = { .data_type = MDF_TYPE_BANKS, .run = run };
	size_t size = MDF_HEADER_SIZE;

	odin_encode(payload, &odin);
	assert_int_equal(mdf_append_bank(bytes, capacity, &size, &bank), WIRE_OK);
	header.size = (uint32_t)size;
	assert_int_equal(mdf_encode_header(bytes, capacity, &header), WIRE_OK);
	return size;
}

static void inspect__mdf_event_ids(void **state)
{
	static const uint64_t ids[] = { 5, 6, 8, 5 };
	static uint8_t bytes[4096];
	struct inspect_options options = VERIFY;
	struct verdict verdict;
	size_t size = 0;

	for (unsigned i = 0; i < 4; i++)
		size += make_numbered(bytes + size, sizeof(bytes) - size, RUN, ids[i]);
	size += make_numbered(bytes + size, sizeof(bytes) - size, RUN + 1, 5); // another run
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.summary.repeated_event_ids, 1);
	assert_int_equal(verdict.summary.missing_event_ids, 1);
	assert_int_equal(verdict.problems, 2);
	assert_string_equal(verdict.text, "1 of the event ids 5..5 were there before");
	options.allow_gaps = true;
	assert_int_equal(judge_bytes(*state, "x", bytes, size, options).problems, 1);
}

static void inspect__real_mdf(void **state)
{
	char path[PATH_SIZE];
	struct verdict verdict;

	(void)state;
	if (!find_data(path, "lhcb-minbias.mdf")) {
		print_message("lhcb-minbias.mdf is not there: skipped\n");
		skip();
	}
	verdict = judge_file(path, VERIFY);
	assert_int_equal(verdict.problems, 0);
	assert_int_equal(verdict.summary.records, 10);
	assert_int_equal(verdict.summary.banks, 12364);
	assert_int_equal(verdict.summary.generated, 0);
}

static size_t make_frame(uint8_t *frame, uint32_t offset, uint32_t size)
{
	const struct net_udp4 header = { .source_ip = 0x0a000001,
					 .destination_ip = 0x0a000002,
					 .source_port = 5000,
					 .destination_port = 19522 };
	const struct ejfat_re re = {
		.event_number = 7, .offset = offset, .length = 4000, .data_id = 0x1001
	};
	size_t at = net_udp4_encode(frame, &header, (uint16_t)(EJFAT_RE_SIZE + size));

	ejfat_re_encode(frame + at, &re);
	memset(frame + at + EJFAT_RE_SIZE, 'p', size);
	return at + EJFAT_RE_SIZE + size;
}

// A capture of four segments of 1000 bytes and one other frame.
static void write_capture(const char *path)
{
	static uint8_t frame[FRAME_ROOM];
	pcap_t *dead =
	    pcap_open_dead_with_tstamp_precision(DLT_EN10MB, 65535, PCAP_TSTAMP_PRECISION_NANO);
	pcap_dumper_t *dumper = pcap_dump_open(dead, path);
	struct pcap_pkthdr header = { .ts = { .tv_sec = 1, .tv_usec = 5 } };

	assert_non_null(dumper);
	for (uint32_t i = 0; i < 4; i++) {
		header.len = header.caplen = (uint32_t)make_frame(frame, 1000 * i, 1000);
		pcap_dump((uint8_t *)dumper, &header, frame);
	}
	memset(frame, 0, NET_MIN_FRAME);
	header.len = header.caplen = NET_MIN_FRAME;
	pcap_dump((uint8_t *)dumper, &header, frame);
	pcap_dump_close(dumper);
	pcap_close(dead);
}

// A packet with blocks of 100 bytes of events 7, 8 and 9, each behind a header of its own.
static size_t make_bundle(uint8_t *frame)
{
	const struct net_udp4 header = { .source_ip = 0x0a000001,
					 .destination_ip = 0x0a000002,
					 .source_port = 5000,
					 .destination_port = 19522 };
	size_t at = net_udp4_encode(frame, &header, 3 * (EJFAT_RE_SIZE + 100));

	for (uint64_t event = 7; event < 10; event++) {
		const struct ejfat_re re = { .event_number = event,
					     .length = 100,
					     .data_id = 0x1001,
					     .flags = event < 9 ? EJFAT_RE_MORE : 0 };

		ejfat_re_encode(frame + at, &re);
		memset(frame + at + EJFAT_RE_SIZE, 'p', 100);
		at += EJFAT_RE_SIZE + 100;
	}
	return at;
}

static void inspect__small_blocks_in_one_packet(void **state)
{
	struct inspect_options options = { .one_event = true, .event_id = 9 };
	struct pcap_pkthdr header = { .ts = { .tv_sec = 1 } };
	uint8_t frame[FRAME_ROOM];
	struct verdict verdict;
	char path[PATH_SIZE];
	pcap_dumper_t *dumper;
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, 65535);

	path_in(path, *state, "bundle");
	dumper = pcap_dump_open(dead, path);
	assert_non_null(dumper);
	header.len = header.caplen = (uint32_t)make_bundle(frame);
	pcap_dump((uint8_t *)dumper, &header, frame);
	pcap_dump_flush(dumper);
	verdict = judge_file(path, VERIFY);
	assert_int_equal(verdict.packets, 1);
	assert_int_equal(verdict.summary.segments, 3);
	assert_int_equal(verdict.problems, 0);
	assert_int_equal(judge_file(path, options).packets, 1);
	options.event_id = 10;
	assert_int_equal(judge_file(path, options).packets, 0);

	// The header of the last block is not one.
	frame[header.len - 100 - EJFAT_RE_SIZE] ^= 0xff;
	pcap_dump((uint8_t *)dumper, &header, frame);
	pcap_dump_close(dumper);
	pcap_close(dead);
	verdict = judge_file(path, VERIFY);
	assert_int_equal(verdict.summary.segments, 5);
	assert_string_equal(verdict.text, "a block behind the first one is not whole");
}

static void inspect__capture(void **state)
{
	struct inspect_options options = { .one_event = true, .event_id = 7 };
	struct verdict verdict;
	char path[PATH_SIZE];
	uint8_t *bytes;
	size_t size;

	path_in(path, *state, "capture");
	write_capture(path);
	verdict = judge_file(path, VERIFY);
	assert_int_equal(verdict.kind, INSPECT_CAPTURE);
	assert_int_equal(verdict.packets, 5);
	assert_int_equal(verdict.summary.segments, 4);
	assert_int_equal(verdict.problems, 0);
	assert_int_equal(judge_file(path, options).packets, 4);

	bytes = read_file(path, &size);
	bytes[24 + 16 + 14 + 8] ^= 1; // time to live of the first packet
	verdict = judge_bytes(*state, "x", bytes, size, VERIFY);
	assert_int_equal(verdict.problems, 1);
	assert_int_equal(verdict.reason, WIRE_BAD_CHECKSUM);
	verdict = judge_bytes(*state, "x", bytes, size - 1, VERIFY);
	assert_int_equal(verdict.packets, 4);
	assert_int_equal(verdict.problems, 2);
	free(bytes);
}

// A SEND over IPv6, whose UDP checksum is 0.
static size_t make_roce6(uint8_t frame[FRAME_ROOM])
{
	const struct roce_packet packet = { .opcode = ROCE_RC_SEND_ONLY,
					    .destination_qpn = 0x123,
					    .psn = 77,
					    .partition_key = ROCE_DEFAULT_P_KEY };
	const uint16_t size = ROCE_BTH_SIZE + 64 + ROCE_ICRC_SIZE;
	uint8_t *ip = frame + NET_ETH_SIZE, *udp = ip + 40;

	memset(frame, 0, NET_ETH_SIZE + 40 + NET_UDP_SIZE + size);
	store_be16(frame + 12, 0x86DD);
	ip[0] = 0x60;
	store_be16(ip + 4, NET_UDP_SIZE + size);
	ip[6] = 17; // UDP
	ip[7] = 64;
	ip[8] = ip[24] = 0xFD;
	ip[23] = 1;
	ip[39] = 2;
	store_be16(udp, 50000);
	store_be16(udp + 2, ROCE_UDP_PORT);
	store_be16(udp + 4, NET_UDP_SIZE + size);
	(void)roce_headers_encode(udp + NET_UDP_SIZE, &packet);
	icrc_append(ip, 40, size);
	return NET_ETH_SIZE + 40 + NET_UDP_SIZE + size;
}

static void write_frame(const char *path, const uint8_t *frame, size_t size)
{
	pcap_t *dead = pcap_open_dead(DLT_EN10MB, 65535);
	pcap_dumper_t *dumper = pcap_dump_open(dead, path);
	const struct pcap_pkthdr header = { .len = (uint32_t)size, .caplen = (uint32_t)size };

	assert_non_null(dumper);
	pcap_dump((uint8_t *)dumper, &header, frame);
	pcap_dump_close(dumper);
	pcap_close(dead);
}

static void inspect__roce(void **state)
{
	static uint8_t frame[FRAME_ROOM];
	size_t size = make_roce6(frame);
	struct verdict verdict;
	char path[PATH_SIZE];

	path_in(path, *state, "capture");
	write_frame(path, frame, size);
	verdict = judge_file(path, VERIFY);
	assert_int_equal(verdict.problems, 0);
	assert_string_equal(verdict.roce, "RC SEND only 0x123 77");
	frame[size - 10] ^= 1; // payload
	write_frame(path, frame, size);
	verdict = judge_file(path, VERIFY);
	assert_int_equal(verdict.problems, 1);
	assert_string_equal(verdict.text, "ICRC");
}

static void inspect__what_is_nothing(void **state)
{
	struct verdict verdict = judge_bytes(*state, "x", (const uint8_t *)"hello", 5, VERIFY);

	assert_int_equal(verdict.kind, INSPECT_UNKNOWN);
	assert_int_equal(verdict.problems, 1);
	assert_int_equal(verdict.reason, WIRE_BAD_MAGIC);
	assert_int_equal(judge_bytes(*state, "x", (const uint8_t *)"", 0, VERIFY).problems, 1);
	// The name gives the kind if the content does not.
	verdict = judge_bytes(*state, "x.mep", (const uint8_t *)"hello", 5, VERIFY);
	assert_int_equal(verdict.kind, INSPECT_MEP);
	assert_int_equal(verdict.reason, WIRE_TRUNCATED);
}

static void inspect__file_that_cannot_be_read(void **state)
{
	const struct inspect_visitor visitor = { 0 };
	char error[INSPECT_ERROR_SIZE] = "", path[PATH_SIZE];
	struct inspect *inspect = inspect_open(&VERIFY, &visitor);
	struct inspect_summary summary;

	path_in(path, *state, "none");
	assert_int_equal(inspect_read(inspect, path, error), -1);
	assert_non_null(strstr(error, "/none: No such file or directory"));
	assert_int_equal(inspect_read(inspect, *state, error), -1);
	assert_non_null(strstr(error, "Is a directory"));
	inspect_finish(inspect, &summary);
	assert_int_equal(summary.files, 0);
	assert_int_equal(summary.unread, 2);
	inspect_close(inspect);
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*seed >> 33);
}

// Whatever the bytes are, reading them ends and touches nothing else (which the sanitizers see).
static void mutate(const char *directory, uint8_t *bytes, size_t size, unsigned rounds)
{
	struct inspect_options options = { .verify = true, .sources = true, .fragments = true };
	uint8_t *mutated = malloc(size);
	uint64_t seed = size;
	unsigned wrong = 0;

	for (unsigned round = 0; round < rounds; round++) {
		size_t length = round % 4 ? size : next_random(&seed) % size + 1;

		memcpy(mutated, bytes, size);
		for (unsigned i = 0; i <= round % 8; i++)
			mutated[next_random(&seed) % (round % 3 ? 64 : size)] =
			    (uint8_t)next_random(&seed);
		wrong += judge_bytes(directory, "x", mutated, length, options).problems > 0;
	}
	assert_true(wrong > rounds / 2);
	free(mutated);
}

static void inspect__mutated_files(void **state)
{
	static uint8_t bytes[ROOM];
	char path[PATH_SIZE];
	uint8_t *capture;
	size_t size;

	mutate(*state, bytes, make_meps(bytes, 2), 500);
	mutate(*state, bytes, make_mdf(bytes, sizeof(bytes)), 500);
	mutate(*state, bytes, make_mfp(bytes, sizeof(bytes), 0, 1, 200), 500);
	path_in(path, *state, "capture");
	write_capture(path);
	capture = read_file(path, &size);
	mutate(*state, capture, size, 500);
	free(capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inspect__sound_meps),
		cmocka_unit_test(inspect__limit_and_event),
		cmocka_unit_test(inspect__damaged_mep_is_skipped),
		cmocka_unit_test(inspect__damaged_mfp_in_a_mep),
		cmocka_unit_test(inspect__every_changed_payload_byte_is_found),
		cmocka_unit_test(inspect__payload_that_was_not_generated),
		cmocka_unit_test(inspect__truncated_file),
		cmocka_unit_test(inspect__repeated_and_missing_event_ids),
		cmocka_unit_test(inspect__order_of_events_does_not_matter),
		cmocka_unit_test(inspect__mfp_file),
		cmocka_unit_test(inspect__mdf_file),
		cmocka_unit_test(inspect__mdf_event_ids),
		cmocka_unit_test(inspect__real_mdf),
		cmocka_unit_test(inspect__capture),
		cmocka_unit_test(inspect__small_blocks_in_one_packet),
		cmocka_unit_test(inspect__roce),
		cmocka_unit_test(inspect__what_is_nothing),
		cmocka_unit_test(inspect__file_that_cannot_be_read),
		cmocka_unit_test(inspect__mutated_files),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
