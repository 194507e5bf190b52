// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "version/build.h"

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

static bool find_node(const char *name, size_t length, const struct config *config, uint32_t *host)
{
	for (unsigned i = 0; i < config->cluster.n_nodes; i++) {
		const char *node = config->cluster.nodes[i].name;

		if (strlen(node) == length && memcmp(node, name, length) == 0) {
			*host = i;
			return true;
		}
	}
	return false;
}

bool sim_capture_read(struct simulation_capture *capture, const char *text,
		      const struct config *config)
{
	const char *equals = strchr(text, '=');
	const size_t length = equals != NULL ? (size_t)(equals - text) : 0;

	if (length == 0 || length >= sizeof(capture->name) || equals[1] == '\0') {
		fprintf(stderr, "evb sim: --pcap %s: NODE=FILE is expected\n", text);
		return false;
	}
	*capture = (struct simulation_capture){ .path = equals + 1 };
	if (!find_node(text, length, config, &capture->host))
		memcpy(capture->name, text, length);
	return true;
}

// Pipes and devices have no length.
static bool empty(const struct sim_output *output)
{
	return ftruncate(fileno(output->file), 0) == 0 || errno == EINVAL;
}

FILE *sim_output_begin(struct sim_output *output)
{
	if (output->file != NULL && !empty(output))
		(void)fail(output->path);
	return output->file;
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
	cJSON_AddStringToObject(data, "version", build_get()->version);
	return end(output, empty(output) && simulation_report(data, output->file));
}
