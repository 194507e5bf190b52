// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// `evb dump --json` for programs: one JSON object per line, each with "kind": file, mep, mfp, mdf,
// packet, problem, and at the end summary.
#pragma once

#include <stdio.h>

#include <cjson/cJSON.h>

#include "inspect/inspect.h"

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
