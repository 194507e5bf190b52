// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_outputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simulation/simulation.h"

static bool fail(const char *path)
{
	fprintf(stderr, "evb sim: %s: %s\n", path, strerror(errno));
	return false;
}

bool sim_output_open(struct sim_output *output, const char *path)
{
	if (path == NULL)
		return true;
	snprintf(output->path, sizeof(output->path), "%s", path);
	output->file = fopen(path, "ae");
	return output->file != NULL || fail(path);
}

bool sim_output_open_report(struct sim_output *output, const char *directory)
{
	char path[PATH_MAX];

	if (directory == NULL)
		return true;
	if (mkdir(directory, 0777) != 0 && errno != EEXIST)
		return fail(directory);
	snprintf(path, sizeof(path), "%s/index.html", directory);
	return sim_output_open(output, path);
}

void sim_output_close(struct sim_output *output)
{
	if (output->file != NULL)
		fclose(output->file);
	output->file = NULL;
}

// Pipes and devices have no length.
static bool empty(const struct sim_output *output)
{
	return ftruncate(fileno(output->file), 0) == 0 || errno == EINVAL;
}

static bool end(struct sim_output *output, bool is_written)
{
	is_written = fclose(output->file) == 0 && is_written;
	output->file = NULL;
	return is_written || fail(output->path);
}

bool sim_output_json(struct sim_output *output, const cJSON *json)
{
	char *text;
	bool is_written;

	if (output->file == NULL)
		return true;
	text = cJSON_Print(json);
	is_written = text != NULL && empty(output) && fprintf(output->file, "%s\n", text) > 0;
	cJSON_free(text);
	return end(output, is_written);
}

bool sim_output_report(struct sim_output *output, cJSON *data)
{
	if (output->file == NULL)
		return true;
	cJSON_AddStringToObject(data, "version", EVB_VERSION);
	return end(output, empty(output) && simulation_report(data, output->file));
}
