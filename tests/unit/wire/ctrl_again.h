// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any control record, decoded and encoded again. Used by tests/fuzz, too.
#pragma once

#include "wire/ctrl.h"

#define CTRL_AGAIN_SIZE 65536u // room for any record

// Decodes a record of a known type, walks its lists, and encodes what it says into bytes. *size: of
// the encoded record, 0 if the encoder refuses. UNSUPPORTED for an unknown type, else the decoder's
// answer.
enum wire_error ctrl_again(const struct ctrl_record *record, uint8_t bytes[CTRL_AGAIN_SIZE],
			   size_t *size);
