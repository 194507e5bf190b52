// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames and names; the records' coders are in ctrl_node.c and ctrl_event.c.
#include "wire/ctrl.h"

#include "wire/crc32c.h"
#include "wire/ctrl_internal.h"

static const char *const type_names[CTRL_N_TYPES] = {
	[CTRL_REGISTER] = "register",
	[CTRL_WELCOME] = "welcome",
	[CTRL_BUILDER] = "builder",
	[CTRL_CREDIT_RANGE] = "credit_range",
	[CTRL_CREDIT_LIST] = "credit_list",
	[CTRL_ANNOUNCE] = "announce",
	[CTRL_GRANT] = "grant",
	[CTRL_REQUEST] = "request",
	[CTRL_DONE] = "done",
	[CTRL_RELEASE] = "release",
	[CTRL_HEARTBEAT] = "heartbeat",
	[CTRL_EXCLUDE] = "exclude",
	[CTRL_INCLUDE] = "include",
	[CTRL_THROTTLE] = "throttle",
	[CTRL_RUN_COMMAND] = "run_command",
	[CTRL_RUN_STATE] = "run_state",
	[CTRL_ADOPT] = "adopt",
	[CTRL_BYE] = "bye",
	[CTRL_PROGRESS] = "progress",
	[CTRL_OFFER] = "offer",
};

static const char *const run_state_names[CTRL_N_RUN_STATES] = {
	[CTRL_IDLE] = "idle",     [CTRL_CONFIGURED] = "configured", [CTRL_RUNNING] = "running",
	[CTRL_PAUSED] = "paused", [CTRL_DRAINING] = "draining",     [CTRL_STOPPED] = "stopped",
	[CTRL_FAILED] = "failed", [CTRL_READY] = "ready",
};

static const char *const command_names[CTRL_N_COMMANDS] = {
	[CTRL_CONFIGURE] = "configure", [CTRL_START] = "start", [CTRL_PAUSE] = "pause",
	[CTRL_RESUME] = "resume",       [CTRL_DRAIN] = "drain", [CTRL_STOP] = "stop",
};

static const char *name_of(const char *const *names, unsigned n, unsigned number)
{
	return number < n && names[number] ? names[number] : "unknown";
}

const char *ctrl_type_name(unsigned type)
{
	return name_of(type_names, CTRL_N_TYPES, type);
}

const char *ctrl_run_state_name(unsigned state)
{
	return name_of(run_state_names, CTRL_N_RUN_STATES, state);
}

const char *ctrl_command_name(unsigned command)
{
	return name_of(command_names, CTRL_N_COMMANDS, command);
}

static void header_decode(const uint8_t *bytes, struct ctrl_header *header)
{
	header->flags = bytes[5];
	header->node = load_le16(bytes + 8);
	header->destination = load_le16(bytes + 10);
	header->epoch = load_le32(bytes + 12);
	header->session = load_le64(bytes + 16);
	header->peer_session = load_le64(bytes + 24);
	header->sequence = load_le32(bytes + 32);
	header->acknowledgement = load_le32(bytes + 36);
	header->acknowledgement_bits = load_le64(bytes + 40);
	header->stamp = load_le32(bytes + 48);
	header->echo = load_le32(bytes + 52);
	header->echo_age = load_le32(bytes + 56);
	header->window = load_le16(bytes + 60);
}

static bool header_in_range(const struct ctrl_header *header)
{
	return header->node < CTRL_MAX_NODES && header->destination < CTRL_MAX_NODES &&
	       header->session != 0 && header->window >= 1 && header->window <= CTRL_MAX_WINDOW;
}

enum wire_error ctrl_frame_decode(const uint8_t *bytes, size_t length, struct ctrl_frame *frame)
{
	size_t size;
	struct ctrl_record record;
	enum wire_error error;

	if (length < CTRL_OVERHEAD)
		return WIRE_TRUNCATED;
	if (load_le32(bytes) != CTRL_MAGIC)
		return WIRE_BAD_MAGIC;
	if (bytes[4] != CTRL_VERSION)
		return WIRE_BAD_VERSION;
	size = load_le16(bytes + 6);
	if (size > length)
		return WIRE_TRUNCATED;
	if (size < length || (size - CTRL_OVERHEAD) % 8 != 0)
		return WIRE_BAD_LENGTH;
	if (crc32c(0, bytes, size - CTRL_CRC_SIZE) != load_le32(bytes + size - CTRL_CRC_SIZE))
		return WIRE_BAD_CHECKSUM;
	header_decode(bytes, &frame->header);
	if (!header_in_range(&frame->header))
		return WIRE_UNSUPPORTED;
	for (size_t at = CTRL_HEADER_SIZE; at < size - CTRL_CRC_SIZE; at += record.size) {
		error = ctrl_record_at(bytes + at, size - CTRL_CRC_SIZE - at, &record);
		if (error)
			return error;
	}
	frame->bytes = bytes;
	frame->size = size;
	return WIRE_OK;
}

size_t ctrl_frame_encode(uint8_t *bytes, const struct ctrl_header *header, size_t records_size)
{
	const size_t end = CTRL_HEADER_SIZE + records_size;

	store_le32(bytes, CTRL_MAGIC);
	bytes[4] = CTRL_VERSION;
	bytes[5] = header->flags;
	store_le16(bytes + 6, (uint16_t)(end + CTRL_CRC_SIZE));
	store_le16(bytes + 8, header->node);
	store_le16(bytes + 10, header->destination);
	store_le32(bytes + 12, header->epoch);
	store_le64(bytes + 16, header->session);
	store_le64(bytes + 24, header->peer_session);
	store_le32(bytes + 32, header->sequence);
	store_le32(bytes + 36, header->acknowledgement);
	store_le64(bytes + 40, header->acknowledgement_bits);
	store_le32(bytes + 48, header->stamp);
	store_le32(bytes + 52, header->echo);
	store_le32(bytes + 56, header->echo_age);
	store_le16(bytes + 60, header->window);
	store_le16(bytes + 62, 0);
	store_le32(bytes + end, crc32c(0, bytes, end));
	return end + CTRL_CRC_SIZE;
}

bool ctrl_next_record(const struct ctrl_frame *frame, size_t *offset, struct ctrl_record *record)
{
	const size_t end = frame->size - CTRL_OVERHEAD;

	if (*offset >= end)
		return false;
	if (ctrl_record_at(frame->bytes + CTRL_HEADER_SIZE + *offset, end - *offset, record))
		return false;
	*offset += record->size;
	return true;
}

enum wire_error ctrl_record_at(const uint8_t *bytes, size_t length, struct ctrl_record *record)
{
	if (length < 8)
		return WIRE_TRUNCATED;
	record->bytes = bytes;
	record->type = load_le16(bytes);
	record->size = load_le16(bytes + 2);
	if (record->size < 8 || record->size % 8 != 0)
		return WIRE_BAD_ALIGNMENT;
	return record->size > length ? WIRE_TRUNCATED : WIRE_OK;
}
