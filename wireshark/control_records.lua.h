// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Calls of Lua with the layout of each record of the control protocol: what the C preprocessor
// makes of the protocol's table. make_control.py puts them into the dissector.
#define CTRL_RECORD(name, size)          record(#name, size)
#define CTRL_PART(name, size)            record(#name, size)
#define CTRL_FIELD(bits, at, name)       number(#name, at, bits)
#define CTRL_RANGE(bits, at, name, a, b) number(#name, at, bits)
#define CTRL_TEXT(size, at, name)        text(#name, at, size)
#define CTRL_ZERO(size, at)
#define CTRL_SKIP(size, at)
#define CTRL_MEMBER(declaration)
#define CTRL_END(name)
#include "wire/ctrl_records.def"
