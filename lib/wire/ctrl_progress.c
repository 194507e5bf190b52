// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control record of how far a granted event is.
#include "wire/ctrl_internal.h"

static enum wire_error check_progress(const struct ctrl_progress *p)
{
	return ctrl_in_range(p->builder < CTRL_MAX_BUILDERS && p->slot < CTRL_MAX_SLOTS &&
			     p->step >= CTRL_STEP_SENT && p->step < CTRL_N_STEPS);
}

size_t ctrl_put_progress(uint8_t *bytes, size_t capacity, const struct ctrl_progress *in)
{
	if (check_progress(in) || !ctrl_open(bytes, capacity, CTRL_PROGRESS, CTRL_PROGRESS_SIZE))
		return 0;
	store_le16(bytes + 4, in->builder);
	store_le16(bytes + 6, in->step);
	store_le64(bytes + 8, in->event);
	store_le32(bytes + 16, in->slot);
	store_le32(bytes + 20, in->generation);
	store_le16(bytes + 24, in->attempt);
	store_le16(bytes + 26, in->flags);
	store_le32(bytes + 28, in->run);
	return CTRL_PROGRESS_SIZE;
}

enum wire_error ctrl_get_progress(const struct ctrl_record *record, struct ctrl_progress *out)
{
	const uint8_t *bytes = record->bytes;
	enum wire_error error = ctrl_expect(record, CTRL_PROGRESS, CTRL_PROGRESS_SIZE);

	if (error)
		return error;
	out->builder = load_le16(bytes + 4);
	out->step = load_le16(bytes + 6);
	out->event = load_le64(bytes + 8);
	out->slot = load_le32(bytes + 16);
	out->generation = load_le32(bytes + 20);
	out->attempt = load_le16(bytes + 24);
	out->flags = load_le16(bytes + 26);
	out->run = load_le32(bytes + 28);
	return check_progress(out);
}
