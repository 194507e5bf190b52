// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "dump.h"

#include <inttypes.h>
#include <stdlib.h>

#define DIGITS_SIZE 24 // of a 64-bit number, with the closing 0

// Adds a number as text, because cJSON stores numbers as doubles and event ids have 64 bits.
static void add_number(cJSON *object, const char *name, uint64_t value)
{
	char digits[DIGITS_SIZE];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	cJSON_AddRawToObject(object, name, digits);
}

static void add_hex(cJSON *object, const char *name, const uint8_t *bytes, size_t size)
{
	static const char DIGITS[] = "0123456789abcdef";
	char *text = malloc(2 * size + 1);

	if (!text)
		return;
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = DIGITS[bytes[i] >> 4];
		text[2 * i + 1] = DIGITS[bytes[i] & 15];
	}
	text[2 * size] = '\0';
	cJSON_AddStringToObject(object, name, text);
	free(text);
}

static cJSON *new_line(const char *kind)
{
	cJSON *line = cJSON_CreateObject();

	cJSON_AddStringToObject(line, "kind", kind);
	return line;
}

static void print_line(struct dump_json *json, cJSON *line)
{
	char *text = cJSON_PrintUnformatted(line);

	if (text)
		fprintf(json->out, "%s\n", text);
	else
		json->failed = true;
	cJSON_free(text);
	cJSON_Delete(line);
}

static void print_file(void *context, const struct inspect_file *file)
{
	struct dump_json *json = context;
	cJSON *line = new_line("file");
	cJSON_AddStringToObject(line, "path", file->path);
	cJSON_AddStringToObject(line, "format", inspect_kind_name(file->kind));
	add_number(line, "size_bytes", file->size);
	print_line(json, line);
}

static void add_mfp_header(cJSON *object, const struct mfp_header *header)
{
	add_number(object, "source_id", header->source_id);
	cJSON_AddStringToObject(object, "subdetector", mfp_subdetector_name(header->source_id));
	add_number(object, "n_fragments", header->n_fragments);
	add_number(object, "version", header->version);
	add_number(object, "align_bytes", UINT64_C(1) << header->align_log2);
}

static void add_record_header(cJSON *object, const struct inspect_event *event)
{
	add_number(object, "run", event->mdf.run);
	add_number(object, "orbit", event->mdf.orbit);
	add_number(object, "bunch", event->mdf.bunch);
	add_number(object, "checksum", event->mdf.checksum);
	add_number(object, "n_banks", event->n_sources);
	add_number(object, "status_flags", event->status);
}

static void begin_event(void *context, const struct inspect_event *event)
{
	struct dump_json *json = context;

	json->event = new_line(inspect_kind_name(event->kind));
	add_number(json->event, "index", event->index);
	add_number(json->event, "offset", event->offset);
	add_number(json->event, "size_bytes", event->size);
	if (event->has_event_id)
		add_number(json->event, "event_id", event->event_id);
	if (event->kind == INSPECT_MEP) {
		add_number(json->event, "n_events", event->n_events);
		add_number(json->event, "n_sources", event->n_sources);
		add_number(json->event, "n_missing", event->n_missing);
		json->source_list =
		    json->sources ? cJSON_AddArrayToObject(json->event, "sources") : NULL;
		return;
	}
	if (event->kind == INSPECT_MFP)
		add_mfp_header(json->event, &event->mfp);
	else
		add_record_header(json->event, event);
	if (json->fragments)
		json->fragment_list = cJSON_AddArrayToObject(
		    json->event, event->kind == INSPECT_MFP ? "fragments" : "banks");
}

static void add_source(void *context, const struct inspect_source *source)
{
	struct dump_json *json = context;
	cJSON *object = cJSON_CreateObject();

	add_mfp_header(object, &source->header);
	add_number(object, "size_bytes", source->header.packet_size);
	add_number(object, "offset", source->offset);
	cJSON_AddBoolToObject(object, "missing", source->missing);
	cJSON_AddBoolToObject(object, "opaque", source->opaque != NULL);
	if (source->opaque && json->hex)
		add_hex(object, "payload", source->opaque,
			source->header.packet_size - MFP_HEADER_SIZE);
	if (json->fragments)
		json->fragment_list = cJSON_AddArrayToObject(object, "fragments");
	cJSON_AddItemToArray(json->source_list, object);
}

static void add_fragment(void *context, const struct inspect_fragment *fragment)
{
	struct dump_json *json = context;
	cJSON *object = cJSON_CreateObject();

	if (fragment->has_event_id)
		add_number(object, "event_id", fragment->event_id);
	add_number(object, "source_id", fragment->source_id);
	add_number(object, "type", fragment->type);
	cJSON_AddStringToObject(object, "type_name", mfp_type_name(fragment->type));
	add_number(object, "version", fragment->version);
	add_number(object, "size_bytes", fragment->size);
	if (json->hex)
		add_hex(object, "payload", fragment->payload, fragment->size);
	cJSON_AddItemToArray(json->fragment_list, object);
}

static void end_event(void *context)
{
	struct dump_json *json = context;

	print_line(json, json->event);
	json->event = json->source_list = json->fragment_list = NULL;
}

static const char *const frame_names[] = {
	[NET_ARP_IP4] = "arp", [NET_ICMP4] = "icmp", [NET_ICMP6] = "icmp6",
	[NET_UDP4] = "udp4",   [NET_UDP6] = "udp6",  [NET_ETHER_PAYLOAD] = "ethernet",
	[NET_OTHER] = "other",
};

static void add_segment(cJSON *object, const struct ejfat_segment *segment)
{
	add_number(object, "source_id", segment->re.data_id);
	add_number(object, "event_id", segment->re.event_number);
	add_number(object, "offset", segment->re.offset);
	add_number(object, "size_bytes", segment->payload_size);
	add_number(object, "length_bytes", segment->re.length);
}

// Those behind the first one stand in a list.
static void add_segments(cJSON *line, const struct inspect_packet *packet)
{
	struct ejfat_segment segment = packet->segment;
	cJSON *first = cJSON_AddObjectToObject(line, "segment"), *others = NULL;

	if (packet->has_lb)
		add_number(first, "lb_tick", packet->lb.tick);
	add_segment(first, &segment);
	while (inspect_next_segment(packet, &segment)) {
		cJSON *object = cJSON_CreateObject();

		if (!others)
			others = cJSON_AddArrayToObject(line, "segments_behind");
		add_segment(object, &segment);
		cJSON_AddItemToArray(others, object);
	}
}

static void add_roce(cJSON *line, const struct roce_packet *packet)
{
	cJSON *object = cJSON_AddObjectToObject(line, "roce");

	cJSON_AddStringToObject(object, "service", inspect_roce_service(packet));
	cJSON_AddStringToObject(object, "operation", inspect_roce_operation(packet));
	cJSON_AddStringToObject(object, "part", inspect_roce_part(packet));
	add_number(object, "destination_qp", packet->destination_qpn);
	add_number(object, "psn", packet->psn);
	add_number(object, "size_bytes", packet->payload_size);
}

static void print_packet(void *context, const struct inspect_packet *packet)
{
	struct dump_json *json = context;
	cJSON *line = new_line("packet");
	add_number(line, "number", packet->number);
	add_number(line, "time_ns", packet->time_ns);
	add_number(line, "size_bytes", packet->length);
	add_number(line, "captured_bytes", packet->captured);
	if (packet->reason) {
		cJSON_AddStringToObject(line, "reason", wire_reason(packet->reason));
	} else {
		cJSON_AddStringToObject(line, "frame", frame_names[packet->frame.kind]);
		if (packet->frame.kind == NET_UDP4 || packet->frame.kind == NET_UDP6) {
			add_number(line, "source_port", packet->frame.source_port);
			add_number(line, "destination_port", packet->frame.destination_port);
		}
	}
	if (packet->is_segment)
		add_segments(line, packet);
	if (packet->is_roce)
		add_roce(line, &packet->roce);
	if (json->hex)
		add_hex(line, "bytes", packet->bytes, packet->captured);
	print_line(json, line);
}

static void print_problem(void *context, const struct inspect_problem *problem)
{
	struct dump_json *json = context;
	cJSON *line = new_line("problem");

	cJSON_AddStringToObject(line, "path", problem->path);
	if (problem->packet)
		add_number(line, "packet", problem->packet);
	else
		add_number(line, "offset", problem->offset);
	if (problem->reason)
		cJSON_AddStringToObject(line, "reason", wire_reason(problem->reason));
	cJSON_AddStringToObject(line, "text", problem->text);
	print_line(json, line);
}

struct inspect_visitor dump_json_visitor(struct dump_json *json)
{
	if (json->quiet)
		return (struct inspect_visitor){ .context = json, .problem = print_problem };
	return (struct inspect_visitor){
		.context = json,
		.file = print_file,
		.event = begin_event,
		.source = add_source,
		.fragment = add_fragment,
		.event_end = end_event,
		.packet = print_packet,
		.problem = print_problem,
	};
}

void dump_json_summary(struct dump_json *json, const struct inspect_summary *summary)
{
	cJSON *line = new_line("summary");

	add_number(line, "files", summary->files);
	add_number(line, "unread", summary->unread);
	add_number(line, "bytes", summary->bytes);
	add_number(line, "meps", summary->meps);
	add_number(line, "mfps", summary->mfps);
	add_number(line, "missing_mfps", summary->missing_mfps);
	add_number(line, "fragments", summary->fragments);
	add_number(line, "records", summary->records);
	add_number(line, "banks", summary->banks);
	add_number(line, "generated_payloads", summary->generated);
	add_number(line, "packets", summary->packets);
	add_number(line, "segments", summary->segments);
	add_number(line, "checksums_unfinished", summary->checksums_unfinished);
	add_number(line, "repeated_event_ids", summary->repeated_event_ids);
	add_number(line, "missing_event_ids", summary->missing_event_ids);
	add_number(line, "problems", summary->problems);
	cJSON_AddBoolToObject(line, "ok", !summary->problems && !summary->unread);
	print_line(json, line);
}
