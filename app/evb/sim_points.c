// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_points.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulation/simulation.h"
#include "version/build.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)
#define KEY_SIZE   17

// With the 0 at its end, so that no two lists of texts have the same hash by their joints.
static uint64_t add_text(uint64_t hash, const char *text)
{
	do
		hash = (hash ^ (unsigned char)*text) * FNV_PRIME;
	while (*text++ != '\0');
	return hash;
}

// Reads a whole file as text. NULL: errno says why.
static char *read_text(const char *path)
{
	FILE *in = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (in == NULL)
		return NULL;
	if (getdelim(&text, &size, '\0', in) < 0) {
		free(text);
		text = NULL;
	}
	fclose(in);
	return text;
}

static uint64_t add_file(uint64_t hash, const struct sim_sweep *sweep, const char *name)
{
	char path[PATH_MAX], *text;

	simulation_find_file(sweep->config, name, path);
	text = read_text(path);
	if (text != NULL)
		hash = add_text(hash, text);
	free(text);
	return hash;
}

// Adds the file that an override names: "fabric.graph=net".
static uint64_t add_override(uint64_t hash, const struct sim_sweep *sweep, const char *override,
			     const char *key)
{
	const size_t length = strlen(key);

	if (strncmp(override, key, length) != 0 || override[length] != '=')
		return hash;
	return add_file(hash, sweep, override + length + 1);
}

// The value of a key with points in its name.
static const char *text_of(const cJSON *item, const char *key)
{
	char name[64];
	size_t length;

	for (; item != NULL && *key != '\0'; key += length + (key[length] == '.')) {
		length = strcspn(key, ".");
		snprintf(name, sizeof(name), "%.*s", (int)length, key);
		item = cJSON_GetObjectItemCaseSensitive(item, name);
	}
	return cJSON_GetStringValue(item);
}

// Results depend on the files that the configuration names, too.
static uint64_t add_files(uint64_t hash, const struct sim_sweep *sweep, const char *text)
{
	cJSON *root = cJSON_Parse(text);

	for (const char *const *key = simulation_files; *key != NULL; key++) {
		const char *name = text_of(root, *key);

		if (name != NULL)
			hash = add_file(hash, sweep, name);
		for (unsigned i = 0; i < sweep->n_overrides; i++)
			hash = add_override(hash, sweep, sweep->overrides[i], *key);
		for (unsigned i = 0; i < sweep->n_axes; i++)
			for (unsigned j = 0; j < sweep->axes[i].n_values; j++)
				hash = add_override(hash, sweep, sweep->axes[i].values[j], *key);
	}
	cJSON_Delete(root);
	return hash;
}

unsigned sim_points_values(const struct sim_points *points, unsigned point,
			   const char *values[SIM_SWEEP_MAX_AXES])
{
	const struct sim_sweep *sweep = points->sweep;

	for (unsigned i = sweep->n_axes; i-- > 0;) {
		const struct sim_axis *axis = &sweep->axes[i];
		values[i] = axis->values[point % axis->n_values];
		point /= axis->n_values;
	}
	return sweep->n_axes;
}

static void make_key(const struct sim_points *points, unsigned point, char key[KEY_SIZE])
{
	const char *values[SIM_SWEEP_MAX_AXES];
	const unsigned n = sim_points_values(points, point, values);
	uint64_t hash = points->base;

	for (unsigned i = 0; i < n; i++)
		hash = add_text(hash, values[i]);
	snprintf(key, KEY_SIZE, "%016" PRIx64, hash);
}

// Takes results out of what a file contains. A sweep's file has them in the order of its points, so
// that each is searched for behind the one before it.
static void take_results(struct sim_points *points, cJSON *file)
{
	cJSON *list = cJSON_GetObjectItemCaseSensitive(file, "points");
	const cJSON *entry = cJSON_IsArray(list) ? list->child : NULL;
	char key[KEY_SIZE];

	for (unsigned i = 0; i < points->n && entry != NULL; i++) {
		const cJSON *found = entry;

		make_key(points, i, key);
		while (found != NULL) {
			const char *text =
			    cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(found, "key"));
			if (text != NULL && strcmp(text, key) == 0)
				break;
			found = found->next;
		}
		if (found == NULL)
			continue;
		points->results[i] =
		    cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(found, "result"), true);
		entry = found->next != NULL ? found->next : entry;
	}
}

// A file that is no sweep's is not replaced.
static bool load(struct sim_points *points, const char *path)
{
	char *text = read_text(path);
	cJSON *file;
	bool is_right;

	if (text == NULL && errno == ENOENT)
		return true;
	file = text != NULL ? cJSON_Parse(text) : NULL;
	is_right = cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(file, "points"));
	if (is_right)
		take_results(points, file);
	else
		fprintf(stderr, "evb sim: %s: is no file of a sweep: name another one\n", path);
	cJSON_Delete(file);
	free(text);
	return is_right;
}

bool sim_points_make(struct sim_points *points, const struct sim_sweep *sweep)
{
	uint64_t n = 1;
	char *text = read_text(sweep->config);

	*points = (struct sim_points){ .sweep = sweep };
	if (text == NULL) {
		fprintf(stderr, "%s: %s\n", sweep->config, strerror(errno));
		return false;
	}
	points->base = add_text(add_text(FNV_OFFSET, build_get()->version), text);
	points->base = add_files(points->base, sweep, text);
	free(text);
	for (unsigned i = 0; i < sweep->n_overrides; i++)
		points->base = add_text(points->base, sweep->overrides[i]);
	for (unsigned i = 0; i < sweep->n_axes && n <= SIM_SWEEP_MAX_POINTS; i++)
		n *= sweep->axes[i].n_values;
	if (n > SIM_SWEEP_MAX_POINTS) {
		fprintf(stderr, "evb sim: more than %u points: sweep fewer values\n",
			SIM_SWEEP_MAX_POINTS);
		return false;
	}
	points->n = (unsigned)n;
	points->results = calloc(points->n, sizeof(points->results[0]));
	if (points->results == NULL)
		return false;
	if (sweep->file == NULL || load(points, sweep->file))
		return true;
	sim_points_free(points);
	return false;
}

void sim_points_free(struct sim_points *points)
{
	for (unsigned i = 0; points->results != NULL && i < points->n; i++)
		cJSON_Delete(points->results[i]);
	free(points->results);
	points->results = NULL;
}

// The results in it are those of `points`.
static cJSON *make_list(const struct sim_points *points)
{
	cJSON *list = cJSON_CreateArray();
	const char *values[SIM_SWEEP_MAX_AXES];
	char key[KEY_SIZE];

	for (unsigned i = 0; i < points->n; i++) {
		if (points->results[i] == NULL)
			continue;
		cJSON *entry = cJSON_CreateObject();
		cJSON_AddItemToArray(list, entry);
		make_key(points, i, key);
		cJSON_AddStringToObject(entry, "key", key);
		cJSON_AddItemToObject(
		    entry, "set",
		    cJSON_CreateStringArray(values, (int)sim_points_values(points, i, values)));
		cJSON_AddItemReferenceToObject(entry, "result", points->results[i]);
	}
	return list;
}

cJSON *sim_points_list(const struct sim_points *points)
{
	cJSON *list = make_list(points), *copy = cJSON_Duplicate(list, true);

	cJSON_Delete(list);
	return copy;
}

bool sim_points_save(const struct sim_points *points, const char *path)
{
	cJSON *file = cJSON_CreateObject();
	char *text;
	char part[PATH_MAX];
	FILE *out;
	bool is_done;

	cJSON_AddItemToObject(file, "points", make_list(points));
	text = cJSON_Print(file);
	cJSON_Delete(file);
	snprintf(part, sizeof(part), "%s.part", path);
	out = fopen(part, "we");
	is_done = out != NULL && text != NULL && fprintf(out, "%s\n", text) > 0;
	if (out != NULL && fclose(out) != 0)
		is_done = false;
	if (is_done)
		is_done = rename(part, path) == 0;
	if (!is_done)
		fprintf(stderr, "evb sim: %s: %s\n", path, strerror(errno));
	cJSON_free(text);
	return is_done;
}

static double number(const cJSON *result, const char *object, const char *name)
{
	const cJSON *parent =
	    object != NULL ? cJSON_GetObjectItemCaseSensitive(result, object) : result;
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(parent, name);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

void sim_points_print(const struct sim_points *points)
{
	const char *values[SIM_SWEEP_MAX_AXES];

	printf("%9s %9s %11s %9s %9s  values\n", "mean Gb/s", "least", "p99 us", "events", "lost");
	for (unsigned i = 0; i < points->n; i++) {
		const cJSON *result = points->results[i];
		double lost = 0;
		const cJSON *cause;

		if (result == NULL)
			continue;
		cJSON_ArrayForEach(cause, cJSON_GetObjectItemCaseSensitive(result, "lost_packets"))
		    lost += cause->valuedouble;
		printf("%9.2f %9.2f %11.1f %9.0f %9.0f ",
		       number(result, "throughput", "mean_bps") * 1e-9,
		       number(result, "throughput", "least_bps") * 1e-9,
		       number(result, "message_latency", "p99_ns") * 1e-3,
		       number(result, NULL, "events_complete"), lost);
		for (unsigned j = 0, n = sim_points_values(points, i, values); j < n; j++)
			printf(" %s", values[j]);
		printf("\n");
	}
}
