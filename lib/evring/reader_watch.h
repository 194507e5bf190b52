// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// For evb's own roles; not part of the public library.
#pragma once

#include "evb_reader.h"

// The next published event that no call has returned yet, of any builder, without claiming it: only
// event_id, complete_ns and builder are set. Returns false if there is none at present.
//
// For the only member of a group that comes after a deciding one and gets rejected events, too,
// which has joined before the first event was published. It must call this function until it
// returns false before it calls evb_reader_next(): then no event is missed, because the slots of
// events that this member has not released are not used again.
bool evb_reader_watch(struct evb_reader *reader, struct evb_event *event);
