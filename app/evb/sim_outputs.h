// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Files with the results of `evb sim`: they are opened before the simulation, which may take long,
// so that what cannot be written is refused, and keep what they contain until there is a result.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "config/config.h"
#include "simulation/simulation.h"

struct sim_output {
	FILE *file; // NULL: not open
	char path[PATH_MAX];
};

// False: one line was printed. A `path` or `directory` of NULL opens nothing.
bool sim_output_open(struct sim_output *output, const char *path);
// The page of a report, in a directory that is made if it does not exist.
bool sim_output_open_report(struct sim_output *output, const char *directory);
// Empties the file, so that the simulation writes to it. NULL: it is not open.
FILE *sim_output_begin(struct sim_output *output);
// Closes a file without a result; one that is not open is ignored, here and below.
void sim_output_close(struct sim_output *output);

// What `--pcap NODE=FILE` asks for. NODE: the name of a node of the file or of a host of the graph,
// or the number of a host. The path is a part of `text`. False: one line was printed.
bool sim_capture_read(struct simulation_capture *capture, const char *text,
		      const struct config *config);

// Write the result and close the file. False: one line was printed. sim_output_report(): as
// simulation_report(), without "version", which it adds.
bool sim_output_json(struct sim_output *output, const cJSON *json);
bool sim_output_report(struct sim_output *output, cJSON *data);
