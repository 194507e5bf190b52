// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// `evb dump` for people: one line per event or packet; options print more.
#pragma once

#include <stdio.h>

#include "inspect/inspect.h"

struct dump_text {
	FILE *out;
	bool quiet; // problems only
	bool hex;   // payloads of fragments, banks and segments
};

// A visitor that prints to text->out; `text` must outlive it.
struct inspect_visitor dump_text_visitor(struct dump_text *text);

// Prints the summary, which is the last line.
void dump_text_summary(struct dump_text *text, const struct inspect_summary *summary);
