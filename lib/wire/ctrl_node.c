// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Control records about nodes and runs: who takes part, in which state, and what to do next.
#include "wire/ctrl_internal.h"

static enum wire_error check_register(const struct ctrl_register *r)
{
	return ctrl_in_range(r->n_builders <= CTRL_MAX_BUILDERS &&
			     r->n_sources <= CTRL_MAX_SOURCES);
}

size_t ctrl_put_register(uint8_t *bytes, size_t capacity, const struct ctrl_register *in)
{
	if (check_register(in) || !ctrl_open(bytes, capacity, CTRL_REGISTER, CTRL_REGISTER_SIZE))
		return 0;
	store_le32(bytes + 4, in->roles);
	store_le64(bytes + 8, in->config_hash);
	store_le32(bytes + 16, in->run);
	store_le16(bytes + 20, in->n_builders);
	store_le16(bytes + 22, in->n_sources);
	store_le64(bytes + 24, in->buffer_bytes);
	ctrl_put_text(bytes + 32, in->name, CTRL_NAME_SIZE);
	store_le64(bytes + 64, in->known_from);
	store_le32(bytes + 72, in->flags);
	return CTRL_REGISTER_SIZE;
}

enum wire_error ctrl_get_register(const struct ctrl_record *record, struct ctrl_register *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_REGISTER, CTRL_REGISTER_SIZE);

	if (error)
		return error;
	out->roles = load_le32(bytes + 4);
	out->config_hash = load_le64(bytes + 8);
	out->run = load_le32(bytes + 16);
	out->n_builders = load_le16(bytes + 20);
	out->n_sources = load_le16(bytes + 22);
	out->buffer_bytes = load_le64(bytes + 24);
	ctrl_get_text(bytes + 32, out->name, CTRL_NAME_SIZE);
	out->known_from = load_le64(bytes + 64);
	out->flags = load_le32(bytes + 72);
	return check_register(out);
}

static enum wire_error check_welcome(const struct ctrl_welcome *w)
{
	return ctrl_in_range(w->verdict < CTRL_N_VERDICTS && w->run_state < CTRL_N_RUN_STATES);
}

size_t ctrl_put_welcome(uint8_t *bytes, size_t capacity, const struct ctrl_welcome *in)
{
	if (check_welcome(in) || !ctrl_open(bytes, capacity, CTRL_WELCOME, CTRL_WELCOME_SIZE))
		return 0;
	store_le16(bytes + 4, in->verdict);
	store_le16(bytes + 6, in->run_state);
	store_le64(bytes + 8, in->config_hash);
	store_le32(bytes + 16, in->run);
	store_le32(bytes + 20, in->heartbeat_interval);
	store_le32(bytes + 24, in->heartbeat_timeout);
	ctrl_put_text(bytes + 32, in->text, CTRL_TEXT_SIZE);
	return CTRL_WELCOME_SIZE;
}

enum wire_error ctrl_get_welcome(const struct ctrl_record *record, struct ctrl_welcome *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_WELCOME, CTRL_WELCOME_SIZE);

	if (error)
		return error;
	out->verdict = load_le16(bytes + 4);
	out->run_state = load_le16(bytes + 6);
	out->config_hash = load_le64(bytes + 8);
	out->run = load_le32(bytes + 16);
	out->heartbeat_interval = load_le32(bytes + 20);
	out->heartbeat_timeout = load_le32(bytes + 24);
	ctrl_get_text(bytes + 32, out->text, CTRL_TEXT_SIZE);
	return check_welcome(out);
}

static enum wire_error check_builder(const struct ctrl_builder *b)
{
	return ctrl_in_range(b->builder < CTRL_MAX_BUILDERS && b->slots >= 1 &&
			     b->slots <= CTRL_MAX_SLOTS);
}

size_t ctrl_put_builder(uint8_t *bytes, size_t capacity, const struct ctrl_builder *in)
{
	if (check_builder(in) || !ctrl_open(bytes, capacity, CTRL_BUILDER, CTRL_BUILDER_SIZE))
		return 0;
	store_le16(bytes + 4, in->builder);
	store_le16(bytes + 6, in->group);
	store_le32(bytes + 8, in->slots);
	store_le32(bytes + 12, in->generation);
	store_le64(bytes + 16, in->slot_size);
	store_le64(bytes + 24, in->address);
	store_le64(bytes + 32, in->stride);
	store_le32(bytes + 40, in->rkey);
	store_le32(bytes + 44, in->link_mbps);
	return CTRL_BUILDER_SIZE;
}

enum wire_error ctrl_get_builder(const struct ctrl_record *record, struct ctrl_builder *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_BUILDER, CTRL_BUILDER_SIZE);

	if (error)
		return error;
	out->builder = load_le16(bytes + 4);
	out->group = load_le16(bytes + 6);
	out->slots = load_le32(bytes + 8);
	out->generation = load_le32(bytes + 12);
	out->slot_size = load_le64(bytes + 16);
	out->address = load_le64(bytes + 24);
	out->stride = load_le64(bytes + 32);
	out->rkey = load_le32(bytes + 40);
	out->link_mbps = load_le32(bytes + 44);
	return check_builder(out);
}

static enum wire_error check_heartbeat(const struct ctrl_heartbeat *h)
{
	if (h->n_ports > CTRL_MAX_PORTS)
		return WIRE_BAD_LENGTH;
	for (unsigned i = 0; i < h->n_ports; i++)
		if (h->ports[i].paused_share > CTRL_FULL_SHARE ||
		    h->ports[i].occupancy > CTRL_FULL_SHARE)
			return WIRE_UNSUPPORTED;
	return ctrl_in_range(h->run_state < CTRL_N_RUN_STATES);
}

static void put_port(uint8_t *bytes, const struct ctrl_port *in)
{
	bytes[0] = in->number;
	bytes[1] = in->paused;
	bytes[2] = in->pausing;
	store_le16(bytes + 4, in->paused_share);
	store_le16(bytes + 6, in->occupancy);
	store_le64(bytes + 8, in->pause_frames);
	store_le64(bytes + 16, in->ecn_marks);
}

static void get_port(const uint8_t *bytes, struct ctrl_port *out)
{
	out->number = bytes[0];
	out->paused = bytes[1];
	out->pausing = bytes[2];
	out->paused_share = load_le16(bytes + 4);
	out->occupancy = load_le16(bytes + 6);
	out->pause_frames = load_le64(bytes + 8);
	out->ecn_marks = load_le64(bytes + 16);
}

size_t ctrl_put_heartbeat(uint8_t *bytes, size_t capacity, const struct ctrl_heartbeat *in)
{
	const size_t size = CTRL_HEARTBEAT_SIZE(in->n_ports);

	if (check_heartbeat(in) || !ctrl_open(bytes, capacity, CTRL_HEARTBEAT, size))
		return 0;
	bytes[4] = in->run_state;
	bytes[5] = in->n_ports;
	store_le32(bytes + 8, in->run);
	store_le32(bytes + 12, in->slots_free);
	store_le32(bytes + 16, in->events_open);
	store_le32(bytes + 20, in->events_waiting);
	store_le64(bytes + 24, in->time);
	for (unsigned i = 0; i < in->n_ports; i++)
		put_port(bytes + CTRL_HEARTBEAT_SIZE(i), &in->ports[i]);
	return size;
}

enum wire_error ctrl_get_heartbeat(const struct ctrl_record *record, struct ctrl_heartbeat *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_HEARTBEAT, CTRL_HEARTBEAT_SIZE(0));

	if (error)
		return error;
	out->run_state = bytes[4];
	out->n_ports = bytes[5];
	if (out->n_ports > CTRL_MAX_PORTS || CTRL_HEARTBEAT_SIZE(out->n_ports) > record->size)
		return WIRE_BAD_LENGTH;
	out->run = load_le32(bytes + 8);
	out->slots_free = load_le32(bytes + 12);
	out->events_open = load_le32(bytes + 16);
	out->events_waiting = load_le32(bytes + 20);
	out->time = load_le64(bytes + 24);
	memset(out->ports, 0, sizeof(out->ports));
	for (unsigned i = 0; i < out->n_ports; i++)
		get_port(bytes + CTRL_HEARTBEAT_SIZE(i), &out->ports[i]);
	return check_heartbeat(out);
}

static enum wire_error check_member(const struct ctrl_member *m)
{
	if (m->first_source > m->last_source)
		return WIRE_BAD_SOURCE;
	return ctrl_in_range(m->subject >= CTRL_SUBJECT_NODE && m->subject < CTRL_N_SUBJECTS &&
			     m->reason >= CTRL_REASON_OPERATOR && m->reason < CTRL_N_REASONS &&
			     m->node < CTRL_MAX_NODES && m->builder < CTRL_MAX_BUILDERS);
}

static size_t put_member(uint8_t *bytes, size_t capacity, enum ctrl_type type,
			 const struct ctrl_member *in)
{
	if (check_member(in) || !ctrl_open(bytes, capacity, type, CTRL_MEMBER_SIZE))
		return 0;
	bytes[4] = in->subject;
	bytes[5] = in->reason;
	store_le16(bytes + 6, in->node);
	store_le16(bytes + 8, in->builder);
	store_le16(bytes + 10, in->first_source);
	store_le16(bytes + 12, in->last_source);
	store_le64(bytes + 16, in->event);
	return CTRL_MEMBER_SIZE;
}

size_t ctrl_put_exclude(uint8_t *bytes, size_t capacity, const struct ctrl_member *in)
{
	return put_member(bytes, capacity, CTRL_EXCLUDE, in);
}

size_t ctrl_put_include(uint8_t *bytes, size_t capacity, const struct ctrl_member *in)
{
	return put_member(bytes, capacity, CTRL_INCLUDE, in);
}

enum wire_error ctrl_get_member(const struct ctrl_record *record, struct ctrl_member *out)
{
	const uint8_t *bytes = record->bytes;
	const enum ctrl_type type = record->type == CTRL_INCLUDE ? CTRL_INCLUDE : CTRL_EXCLUDE;
	enum wire_error error = ctrl_expect(record, type, CTRL_MEMBER_SIZE);

	if (error)
		return error;
	out->subject = bytes[4];
	out->reason = bytes[5];
	out->node = load_le16(bytes + 6);
	out->builder = load_le16(bytes + 8);
	out->first_source = load_le16(bytes + 10);
	out->last_source = load_le16(bytes + 12);
	out->event = load_le64(bytes + 16);
	return check_member(out);
}

static enum wire_error check_throttle(const struct ctrl_throttle *t)
{
	return ctrl_in_range(t->share <= CTRL_FULL_SHARE && t->level <= CTRL_MAX_LEVEL);
}

size_t ctrl_put_throttle(uint8_t *bytes, size_t capacity, const struct ctrl_throttle *in)
{
	if (check_throttle(in) || !ctrl_open(bytes, capacity, CTRL_THROTTLE, CTRL_THROTTLE_SIZE))
		return 0;
	store_le16(bytes + 4, in->share);
	store_le16(bytes + 6, in->level);
	store_le32(bytes + 8, in->hold);
	store_le32(bytes + 12, in->run);
	return CTRL_THROTTLE_SIZE;
}

enum wire_error ctrl_get_throttle(const struct ctrl_record *record, struct ctrl_throttle *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_THROTTLE, CTRL_THROTTLE_SIZE);

	if (error)
		return error;
	out->share = load_le16(bytes + 4);
	out->level = load_le16(bytes + 6);
	out->hold = load_le32(bytes + 8);
	out->run = load_le32(bytes + 12);
	return check_throttle(out);
}

static enum wire_error check_run_command(const struct ctrl_run_command *c)
{
	return ctrl_in_range(c->command >= CTRL_CONFIGURE && c->command < CTRL_N_COMMANDS);
}

size_t ctrl_put_run_command(uint8_t *bytes, size_t capacity, const struct ctrl_run_command *in)
{
	if (check_run_command(in) ||
	    !ctrl_open(bytes, capacity, CTRL_RUN_COMMAND, CTRL_RUN_COMMAND_SIZE))
		return 0;
	bytes[4] = in->command;
	store_le32(bytes + 8, in->run);
	store_le32(bytes + 12, in->request);
	store_le64(bytes + 16, in->config_hash);
	store_le64(bytes + 24, in->event);
	return CTRL_RUN_COMMAND_SIZE;
}

enum wire_error ctrl_get_run_command(const struct ctrl_record *record, struct ctrl_run_command *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_RUN_COMMAND, CTRL_RUN_COMMAND_SIZE);

	if (error)
		return error;
	out->command = bytes[4];
	out->run = load_le32(bytes + 8);
	out->request = load_le32(bytes + 12);
	out->config_hash = load_le64(bytes + 16);
	out->event = load_le64(bytes + 24);
	return check_run_command(out);
}

static enum wire_error check_run_report(const struct ctrl_run_report *r)
{
	return ctrl_in_range(r->state < CTRL_N_RUN_STATES && r->command < CTRL_N_COMMANDS);
}

size_t ctrl_put_run_report(uint8_t *bytes, size_t capacity, const struct ctrl_run_report *in)
{
	if (check_run_report(in) ||
	    !ctrl_open(bytes, capacity, CTRL_RUN_STATE, CTRL_RUN_REPORT_SIZE))
		return 0;
	bytes[4] = in->state;
	bytes[5] = in->command;
	store_le16(bytes + 6, in->result);
	store_le32(bytes + 8, in->run);
	store_le32(bytes + 12, in->request);
	store_le64(bytes + 16, in->config_hash);
	store_le64(bytes + 24, in->events);
	ctrl_put_text(bytes + 32, in->text, CTRL_TEXT_SIZE);
	return CTRL_RUN_REPORT_SIZE;
}

enum wire_error ctrl_get_run_report(const struct ctrl_record *record, struct ctrl_run_report *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_RUN_STATE, CTRL_RUN_REPORT_SIZE);

	if (error)
		return error;
	out->state = bytes[4];
	out->command = bytes[5];
	out->result = load_le16(bytes + 6);
	out->run = load_le32(bytes + 8);
	out->request = load_le32(bytes + 12);
	out->config_hash = load_le64(bytes + 16);
	out->events = load_le64(bytes + 24);
	ctrl_get_text(bytes + 32, out->text, CTRL_TEXT_SIZE);
	return check_run_report(out);
}

static enum wire_error check_bye(const struct ctrl_bye *b)
{
	return ctrl_in_range(b->reason >= CTRL_BYE_END && b->reason < CTRL_N_BYE_REASONS);
}

size_t ctrl_put_bye(uint8_t *bytes, size_t capacity, const struct ctrl_bye *in)
{
	if (check_bye(in) || !ctrl_open(bytes, capacity, CTRL_BYE, CTRL_BYE_SIZE))
		return 0;
	store_le16(bytes + 4, in->reason);
	ctrl_put_text(bytes + 8, in->text, CTRL_TEXT_SIZE);
	return CTRL_BYE_SIZE;
}

enum wire_error ctrl_get_bye(const struct ctrl_record *record, struct ctrl_bye *out)
{
	enum wire_error error = ctrl_expect(record, CTRL_BYE, CTRL_BYE_SIZE);

	if (error)
		return error;
	out->reason = load_le16(record->bytes + 4);
	ctrl_get_text(record->bytes + 8, out->text, CTRL_TEXT_SIZE);
	return check_bye(out);
}
