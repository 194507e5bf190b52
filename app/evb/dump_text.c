// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "dump.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <time.h>

#include "evring/evb_reader.h"

#define BYTES_IN_LINE 16u

static void print_hex(const struct dump_text *text, const uint8_t *bytes, size_t size)
{
	if (!text->hex)
		return;
	for (size_t at = 0; at < size; at += BYTES_IN_LINE) {
		size_t n = size - at < BYTES_IN_LINE ? size - at : BYTES_IN_LINE;

		fprintf(text->out, "      %04zx ", at);
		for (size_t i = 0; i < n; i++)
			fprintf(text->out, " %02x", bytes[at + i]);
		fprintf(text->out, "%*s  ", (int)(3 * (BYTES_IN_LINE - n)), "");
		for (size_t i = 0; i < n; i++)
			fputc(bytes[at + i] >= ' ' && bytes[at + i] < 127 ? bytes[at + i] : '.',
			      text->out);
		fputc('\n', text->out);
	}
}

static void print_file(void *context, const struct inspect_file *file)
{
	const struct dump_text *text = context;

	fprintf(text->out, "%s: %s, %" PRIu64 " bytes\n", file->path, inspect_kind_name(file->kind),
		file->size);
}

static void print_ids(const struct dump_text *text, const struct inspect_event *event)
{
	if (!event->has_event_id)
		return;
	if (event->event_id == MFP_END_OF_RUN)
		fprintf(text->out, "  end of run");
	else if (event->n_events > 1)
		fprintf(text->out, "  events %" PRIu64 "..%" PRIu64, event->event_id,
			event->event_id + event->n_events - 1);
	else
		fprintf(text->out, "  event %" PRIu64, event->event_id);
}

static void print_mfp_header(const struct dump_text *text, const struct mfp_header *header)
{
	char source[MFP_SOURCE_NAME_SIZE];

	mfp_source_name(header->source_id, source);
	fprintf(text->out, "  source %s", source);
	if (mfp_has_subdetector(header->source_id))
		fprintf(text->out, " %s/%u", mfp_subdetector_name(header->source_id),
			header->source_id & 0x7ffu);
	fprintf(text->out, "  fragments %u  version %u  align %u", header->n_fragments,
		header->version, 1u << header->align_log2);
}

static void print_record(const struct dump_text *text, const struct inspect_event *event)
{
	fprintf(text->out, "  run %u  orbit %u  bunch %u  banks %u", event->mdf.run,
		event->mdf.orbit, event->mdf.bunch, event->n_sources);
	if (event->status & EVB_EVENT_INCOMPLETE)
		fprintf(text->out, "  incomplete");
	if (event->status & EVB_EVENT_MALFORMED)
		fprintf(text->out, "  malformed");
	if (event->status & EVB_EVENT_FLUSHED)
		fprintf(text->out, "  flushed");
	if (event->status & EVB_EVENT_REPEATED)
		fprintf(text->out, "  perhaps repeated");
}

static void print_event(void *context, const struct inspect_event *event)
{
	const struct dump_text *text = context;

	fprintf(text->out, "%s %" PRIu64,
		event->kind == INSPECT_MDF ? "record" : inspect_kind_name(event->kind),
		event->index);
	print_ids(text, event);
	if (event->kind == INSPECT_MEP)
		fprintf(text->out, "  sources %u", event->n_sources);
	else if (event->kind == INSPECT_MFP)
		print_mfp_header(text, &event->mfp);
	else
		print_record(text, event);
	if (event->n_missing)
		fprintf(text->out, "  missing %u", event->n_missing);
	fprintf(text->out, "  %" PRIu64 " B at %" PRIu64 "\n", event->size, event->offset);
}

static void print_source(void *context, const struct inspect_source *source)
{
	const struct dump_text *text = context;

	print_mfp_header(text, &source->header);
	fprintf(text->out, "  %u B at %" PRIu64 "%s%s\n", source->header.packet_size,
		source->offset, source->missing ? "  missing" : "",
		source->opaque ? "  opaque" : "");
	if (source->opaque)
		print_hex(text, source->opaque, source->header.packet_size - MFP_HEADER_SIZE);
}

static void print_fragment(void *context, const struct inspect_fragment *fragment)
{
	const struct dump_text *text = context;
	char source[MFP_SOURCE_NAME_SIZE];

	mfp_source_name(fragment->source_id, source);
	fprintf(text->out, "    ");
	if (fragment->has_event_id)
		fprintf(text->out, "event %" PRIu64 "  ", fragment->event_id);
	fprintf(text->out, "source %s  type %u %s  version %u  %u B\n", source, fragment->type,
		mfp_type_name(fragment->type), fragment->version, fragment->size);
	print_hex(text, fragment->payload, fragment->size);
}

static void print_addresses(const struct dump_text *text, const struct inspect_packet *packet)
{
	const struct net_frame *frame = &packet->frame;
	bool ipv4 = frame->kind == NET_UDP4;
	const uint8_t *addresses = packet->bytes + frame->l3_offset + (ipv4 ? 12 : 8);
	int family = ipv4 ? AF_INET : AF_INET6;
	char source[INET6_ADDRSTRLEN] = "", destination[INET6_ADDRSTRLEN] = "";

	inet_ntop(family, addresses, source, sizeof(source));
	inet_ntop(family, addresses + (ipv4 ? 4 : 16), destination, sizeof(destination));
	fprintf(text->out, "  udp %s port %u > %s port %u", source, frame->source_port, destination,
		frame->destination_port);
}

static void print_what(const struct dump_text *text, const struct inspect_packet *packet)
{
	if (packet->reason) {
		fprintf(text->out, "  not understood: %s", wire_reason(packet->reason));
		return;
	}
	switch (packet->frame.kind) {
	case NET_UDP4:
	case NET_UDP6:
		print_addresses(text, packet);
		break;
	case NET_ARP_IP4:
		fprintf(text->out, "  arp");
		break;
	case NET_ICMP4:
		fprintf(text->out, "  icmp");
		break;
	case NET_ICMP6:
		fprintf(text->out, "  icmp6");
		break;
	case NET_ETHER_PAYLOAD:
	case NET_OTHER:
		fprintf(text->out, "  ethertype 0x%04x", packet->frame.ether_type);
		break;
	}
}

static void print_roce(const struct dump_text *text, const struct roce_packet *packet)
{
	const char *part = inspect_roce_part(packet);

	fprintf(text->out, "  roce %s %s%s%s  qp 0x%06x  psn %u  payload %u B",
		inspect_roce_service(packet), inspect_roce_operation(packet), part[0] ? " " : "",
		part, packet->destination_qpn, packet->psn, packet->payload_size);
}

static void print_segments(const struct dump_text *text, const struct inspect_packet *packet)
{
	struct ejfat_segment segment = packet->segment;
	char source[MFP_SOURCE_NAME_SIZE];

	do {
		mfp_source_name(segment.re.data_id, source);
		fprintf(text->out, "  source %s  event %" PRIu64 "  offset %u  payload %u of %u B",
			source, segment.re.event_number, segment.re.offset, segment.payload_size,
			segment.re.length);
	} while (inspect_next_segment(packet, &segment));
}

static void print_packet(void *context, const struct inspect_packet *packet)
{
	const struct dump_text *text = context;

	fprintf(text->out, "packet %" PRIu64 "  %" PRIu64 ".%09" PRIu64 "  %u B", packet->number,
		packet->time_ns / 1000000000u, packet->time_ns % 1000000000u, packet->length);
	print_what(text, packet);
	if (packet->has_lb)
		fprintf(text->out, "  lb tick %" PRIu64 " entropy %u", packet->lb.tick,
			packet->lb.entropy);
	if (packet->is_segment)
		print_segments(text, packet);
	if (packet->is_roce)
		print_roce(text, &packet->roce);
	fputc('\n', text->out);
	print_hex(text, packet->bytes, packet->captured);
}

static void print_problem(void *context, const struct inspect_problem *problem)
{
	const struct dump_text *text = context;

	fprintf(text->out, "problem: %s: ", problem->path);
	if (problem->packet)
		fprintf(text->out, "packet %" PRIu64 ": ", problem->packet);
	else
		fprintf(text->out, "offset %" PRIu64 ": ", problem->offset);
	if (problem->reason)
		fprintf(text->out, "%s: ", wire_reason(problem->reason));
	fprintf(text->out, "%s\n", problem->text);
}

struct inspect_visitor dump_text_visitor(struct dump_text *text)
{
	if (text->quiet)
		return (struct inspect_visitor){ .context = text, .problem = print_problem };
	return (struct inspect_visitor){
		.context = text,
		.file = print_file,
		.event = print_event,
		.source = print_source,
		.fragment = print_fragment,
		.packet = print_packet,
		.problem = print_problem,
	};
}

static void print_count(struct dump_text *text, uint64_t count, const char *what)
{
	if (count)
		fprintf(text->out, ", %" PRIu64 " %s", count, what);
}

void dump_text_summary(struct dump_text *text, const struct inspect_summary *summary)
{
	fprintf(text->out, "%s: %" PRIu64 " file%s, %" PRIu64 " bytes",
		summary->problems || summary->unread ? "WRONG" : "ok", summary->files,
		summary->files == 1 ? "" : "s", summary->bytes);
	print_count(text, summary->unread, "not read");
	print_count(text, summary->meps, "MEPs");
	print_count(text, summary->mfps, "MFPs");
	print_count(text, summary->missing_mfps, "of them missing");
	print_count(text, summary->fragments, "fragments");
	print_count(text, summary->records, "records");
	print_count(text, summary->banks, "banks");
	print_count(text, summary->generated, "generated payloads checked");
	print_count(text, summary->packets, "packets");
	print_count(text, summary->segments, "segments");
	print_count(text, summary->checksums_unfinished, "unfinished UDP checksums");
	print_count(text, summary->repeated_event_ids, "event ids repeated");
	print_count(text, summary->missing_event_ids, "event ids missing");
	fprintf(text->out, ", %" PRIu64 " problem%s\n", summary->problems,
		summary->problems == 1 ? "" : "s");
}
