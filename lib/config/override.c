// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Overrides: "path=value" applied to the JSON tree.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "config/internal.h"

#define MAX_STEPS 8 // more than the path of any key has
#define STEP_SIZE 64

struct step {
	char key[STEP_SIZE]; // empty: the step is an index
	unsigned index;
	size_t end; // length of the path up to the end of this step, in the override's text
};

struct override {
	struct config_reader *reader;
	const char *text;
	struct step steps[MAX_STEPS];
	unsigned n_steps;
};

#define fail(override, format, ...)                                                   \
	error_line((override)->reader->error, CONFIG_ERROR_SIZE, "--set %s: " format, \
		   quote_bare((override)->text).text, ##__VA_ARGS__)

// The text of the path's first n_steps steps, for messages.
static struct quoted prefix(const struct override *override, unsigned n_steps)
{
	char text[QUOTE_MAXIMUM + 8];

	if (n_steps == 0)
		return quote_bare("the file");
	snprintf(text, sizeof(text), "%.*s", (int) override->steps[n_steps - 1].end,
		 override->text);
	return quote_bare(text);
}

static int parse_index(struct override *override, const char **path, struct step *step)
{
	const char *digits = *path + 1;
	size_t n_digits = strspn(digits, "0123456789");

	if (n_digits < 1 || n_digits > 5 || digits[n_digits] != ']')
		return fail(override, "an index such as [0] is expected at %s", quote(*path).text);
	step->index = (unsigned)strtoul(digits, NULL, 10);
	*path = digits + n_digits + 1;
	return 0;
}

static int parse_key(struct override *override, const char **path, struct step *step)
{
	bool is_first = override->n_steps == 0;
	const char *key = is_first ? *path : *path + 1;
	size_t length = strcspn(key, ".[=");

	if ((!is_first && **path != '.') || length == 0 || length >= STEP_SIZE)
		return fail(override, "a key is expected at %s", quote(*path).text);
	memcpy(step->key, key, length);
	*path = key + length;
	return 0;
}

// Splits the path into steps and returns the text after the '='. NULL if the path is not valid.
static const char *parse_path(struct override *override)
{
	const char *path = override->text;

	if (!strchr(path, '=')) {
		fail(override, "PATH=VALUE is expected");
		return NULL;
	}
	while (*path != '=' || override->n_steps == 0) {
		struct step *step = &override->steps[override->n_steps];
		if (override->n_steps == MAX_STEPS) {
			fail(override, "no key lies so deep");
			return NULL;
		}
		if (*path == '[' ? parse_index(override, &path, step)
				 : parse_key(override, &path, step))
			return NULL;
		step->end = (size_t)(path - override->text);
		override->n_steps++;
	}
	return path + 1;
}

cJSON *config_read_bare(const char *text)
{
	const char *end = NULL;
	cJSON *value = cJSON_ParseWithOpts(text, &end, true);

	// cJSON stores numbers as doubles: a number that would lose digits stays text.
	if (cJSON_IsNumber(value) && fabs(value->valuedouble) > (double)CONFIG_EXACT_MAXIMUM) {
		cJSON_Delete(value);
		value = NULL;
	}
	if (value || strchr("{[\"", text[0] ? text[0] : ' '))
		return value;
	return cJSON_CreateString(text);
}

// Stores the value at the step. The tree becomes the owner of the value; on failure it is deleted.
static int put(const struct override *override, cJSON *parent, unsigned i_step, cJSON *value)
{
	const struct step *step = &override->steps[i_step];
	bool is_done;

	if (step->key[0] && cJSON_GetObjectItemCaseSensitive(parent, step->key))
		is_done = cJSON_ReplaceItemInObjectCaseSensitive(parent, step->key, value);
	else if (step->key[0])
		is_done = cJSON_AddItemToObject(parent, step->key, value);
	else if ((int)step->index < cJSON_GetArraySize(parent))
		is_done = cJSON_ReplaceItemInArray(parent, (int)step->index, value);
	else
		is_done = cJSON_AddItemToArray(parent, value);
	if (is_done)
		return 0;
	cJSON_Delete(value);
	return fail(override, "out of memory");
}

// Checks that the parent is an object for a key, or a list that is long enough for an index.
static int check_step(const struct override *override, const cJSON *parent, unsigned i_step)
{
	const struct step *step = &override->steps[i_step];

	if (step->key[0]) {
		if (cJSON_IsObject(parent))
			return 0;
		return fail(override, "%s is no object", prefix(override, i_step).text);
	}
	if (!cJSON_IsArray(parent))
		return fail(override, "%s is no list", prefix(override, i_step).text);
	int size = cJSON_GetArraySize(parent);
	if ((int)step->index > size)
		return fail(override, "%s has %d element%s", prefix(override, i_step).text, size,
			    size == 1 ? "" : "s");
	return 0;
}

// Returns the item at the step. A missing item is created, as an object or a list depending on the
// next step.
static cJSON *descend(const struct override *override, cJSON *parent, unsigned i_step)
{
	const struct step *step = &override->steps[i_step];
	cJSON *item = step->key[0] ? cJSON_GetObjectItemCaseSensitive(parent, step->key)
				   : cJSON_GetArrayItem(parent, (int)step->index);

	if (item)
		return item;
	item = step[1].key[0] ? cJSON_CreateObject() : cJSON_CreateArray();
	if (!item) {
		fail(override, "out of memory");
		return NULL;
	}
	return put(override, parent, i_step, item) ? NULL : item;
}

int config_override(struct config_reader *reader, cJSON *root, const char *text)
{
	struct override override = { .reader = reader, .text = text };
	cJSON *parent = root;

	const char *value_text = parse_path(&override);
	if (!value_text)
		return -1;
	unsigned i_last = override.n_steps - 1;
	for (unsigned i = 0; i < i_last; i++) {
		if (check_step(&override, parent, i))
			return -1;
		parent = descend(&override, parent, i);
		if (!parent)
			return -1;
	}
	if (check_step(&override, parent, i_last))
		return -1;
	cJSON *value = config_read_bare(value_text);
	if (!value)
		return fail(&override, "the value is no valid JSON");
	return put(&override, parent, i_last, value);
}
