// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Output of `evb dump`.
#pragma once

#include <stdio.h>

#include <cjson/cJSON.h>

#include "inspect/inspect.h"

// For people: one line per event or packet; options print more.
struct dump_text {
	FILE *out;
	bool quiet; // problems only
	bool hex;   // payloads of fragments, banks and segments
};

// A visitor that prints to text->out; `text` must outlive it.
struct inspect_visitor dump_text_visitor(struct dump_text *text);

// Prints the summary, which is the last line.
void dump_text_summary(struct dump_text *text, const struct inspect_summary *summary);

// For programs: one JSON object per line, each with "kind": file, mep, mfp, mdf, packet, problem,
// and at the end summary.
struct dump_json {
	FILE *out;
	bool quiet; // problems and summary only
	bool hex;   // payloads of fragments and banks, as hexadecimal digits
	bool sources;
	bool fragments;
	// The event being printed, its list of sources, and the list that receives fragments.
	cJSON *event, *source_list, *fragment_list;
	bool failed; // memory ran out: the output is not complete
};

// A visitor that prints to json->out; `json` must outlive it.
struct inspect_visitor dump_json_visitor(struct dump_json *json);

void dump_json_summary(struct dump_json *json, const struct inspect_summary *summary);
