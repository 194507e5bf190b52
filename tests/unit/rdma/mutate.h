// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Damage to a RoCE frame, as chance has it, where it hurts: addresses, lengths, opcode, PSN, queue
// pair, keys, extension headers, what the payload begins with, the frame's length.
#pragma once

#include "testbed.h"

#include "base/random.h"

// Changes a frame that net_parse() takes in one to three places. Of eight frames seven get lengths,
// IPv4 checksum and ICRC that are right for what they have become, so that it is what lies behind
// these that is tried.
void mutate(struct frame *frame, struct random *random);
