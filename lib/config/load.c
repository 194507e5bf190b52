// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Parses the text into a JSON tree, and reads the tree into the struct.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_file.h"
#include "config/internal.h"

#define DEADLINE_NS 100000000ull // of events, where the file says "auto"

static int fail_syntax(struct config_reader *reader, const char *text, size_t length, size_t where,
		       const char *what)
{
	unsigned line = 1, column = 1;

	for (size_t i = 0; i < where && i < length; i++, column++) {
		if (text[i] == '\n') {
			line++;
			column = 0;
		}
	}
	return config_fail(reader, "line %u, column %u: %s", line, column, what);
}

// A null character would end a string early, so the text may contain none, neither literally nor
// escaped.
static int refuse_null(struct config_reader *reader, const char *text, size_t length)
{
	const char *null = memchr(text, '\0', length);

	if (!null)
		null = memmem(text, length, "\\u0000", 6);
	if (!null)
		return 0;
	return fail_syntax(reader, text, length, (size_t)(null - text),
			   "null characters are not allowed");
}

static size_t skip_space(const char *text, size_t length, size_t from)
{
	while (from < length && strchr(" \t\r\n", text[from]))
		from++;
	return from;
}

// cJSON reports the character after the wrong one where it expected a key, that is after '{' or
// ','. If that character cannot begin a value, it is the wrong one itself.
static size_t correct_place(const char *text, size_t length, size_t where)
{
	size_t before = where > 0 ? where - 1 : 0;

	if (where == 0 || where > length || strchr(" \t\r\n\"{[-0123456789", text[where - 1]))
		return where;
	while (before > 0 && strchr(" \t\r\n", text[before - 1]))
		before--;
	if (before > 0 && strchr("{,", text[before - 1]))
		return where - 1;
	return where;
}

static int fail_at(struct config_reader *reader, const char *text, size_t length, size_t where)
{
	char found[2] = "";
	char what[96];

	where = skip_space(text, length, where);
	if (where >= length)
		return fail_syntax(reader, text, length, where, "the JSON text ends too early");
	if (text[where] == '#' ||
	    (text[where] == '/' && where + 1 < length && strchr("/*", text[where + 1])))
		return fail_syntax(reader, text, length, where, "JSON has no comments");
	found[0] = text[where];
	snprintf(what, sizeof(what), "no valid JSON at %s", quote(found).text);
	return fail_syntax(reader, text, length, where, what);
}

static int refuse(struct config_reader *reader, const char *text, size_t length)
{
	if (length > TEXT_FILE_MAXIMUM)
		return config_fail(reader, "is larger than 16 MiB");
	if (length == 0)
		return config_fail(reader, "is empty");
	return refuse_null(reader, text, length);
}

char *config_read_file(struct config_reader *reader, const char *path, size_t *length)
{
	char cause[TEXT_FILE_ERROR], *text = text_file_read(path, length, cause);

	if (text == NULL)
		config_fail(reader, "%s", cause);
	return text;
}

cJSON *config_read_json(struct config_reader *reader, const char *text, size_t length)
{
	const char *end = NULL;
	cJSON *root = NULL;

	if (refuse(reader, text, length))
		return NULL;
	// cJSON reports an error at the end of the text at the last character. The appended space
	// is this character.
	char *spaced = malloc(length + 1);
	if (!spaced) {
		config_fail(reader, "out of memory");
		return NULL;
	}
	memcpy(spaced, text, length);
	spaced[length] = ' ';
	root = cJSON_ParseWithLengthOpts(spaced, length + 1, &end, false);
	size_t where = end ? (size_t)(end - spaced) : 0;
	if (!root)
		where = correct_place(text, length, where);
	if (!root || skip_space(text, length, where) < length) {
		fail_at(reader, text, length, where);
		cJSON_Delete(root);
		root = NULL;
	}
	free(spaced);
	return root;
}

void config_free(struct config *config)
{
	if (!config)
		return;
	free(config->cluster.nodes);
	free(config->cluster.builders);
	free(config->cluster.source_ids);
	free(config);
}

static int apply_overrides(struct config_reader *reader, cJSON *root, const char *const *overrides,
			   unsigned n_overrides)
{
	for (unsigned i = 0; i < n_overrides; i++)
		if (config_override(reader, root, overrides[i]))
			return -1;
	return 0;
}

// Reads the tree into the struct. `node` selects a node where the file has several.
static int read_tree(struct config_reader *reader, const cJSON *root, const char *node,
		     struct config *config)
{
	if (config_read_object(reader, &config_root, root, config) ||
	    config_check_fabric(reader, &config->fabric))
		return -1;

	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(root, "nodes");
	const uint64_t timeout_ns = config->event_manager.heartbeat_timeout_ns;
	// In a system an event waits for a silent node until that counts as dead, and for what the
	// node sends once it is back.
	if (config->events.deadline_ns == 0)
		config->events.deadline_ns = (nodes ? timeout_ns : 0) + DEADLINE_NS;
	// A node that is back within this time reports what it has published, so that nothing is
	// repeated.
	if (config->event_manager.in_doubt_ns == 0)
		config->event_manager.in_doubt_ns = 2 * timeout_ns;
	if (nodes) {
		config->cluster.hash = config_hash(root, &config->sources);
		return config_read_nodes(reader, nodes, node, config);
	}
	if (node && strcmp(node, CONFIG_MANAGER_NODE) != 0)
		return config_fail(reader, "there are no nodes, so --node names none");
	return config_resolve_fabric(reader, &config->fabric, &config->cluster) ||
		       config_check(reader, config)
		   ? -1
		   : 0;
}

static int parse(struct config_reader *reader, struct config **config, const char *text,
		 size_t length, const char *node, const char *const *overrides,
		 unsigned n_overrides)
{
	*config = NULL;
	cJSON *root = config_read_json(reader, text, length);
	if (!root)
		return -1;
	struct config *loaded = calloc(1, sizeof(*loaded));
	if (!loaded) {
		cJSON_Delete(root);
		return config_fail(reader, "out of memory");
	}
	snprintf(loaded->path, sizeof(loaded->path), "%s", reader->file);
	loaded->event_manager.sched = sched_defaults();
	if (!cJSON_IsObject(root)) {
		config_fail_type(reader, "an object", root);
	} else if (apply_overrides(reader, root, overrides, n_overrides) == 0 &&
		   read_tree(reader, root, node, loaded) == 0) {
		*config = loaded;
		loaded = NULL;
	}
	cJSON_Delete(root);
	config_free(loaded);
	return *config ? 0 : -1;
}

int config_parse(struct config **config, const char *text, size_t length, const char *name,
		 const char *node, const char *const *overrides, unsigned n_overrides, char *error)
{
	struct config_reader reader = { .file = name, .error = error };

	return parse(&reader, config, text, length, node, overrides, n_overrides);
}

static int load(struct config_reader *reader, struct config **config, const char *node,
		const char *const *overrides, unsigned n_overrides)
{
	size_t length;

	*config = NULL;
	char *text = config_read_file(reader, reader->file, &length);
	if (!text)
		return -1;
	int result = parse(reader, config, text, length, node, overrides, n_overrides);
	free(text);
	return result;
}

int config_load(struct config **config, const char *path, const char *node,
		const char *const *overrides, unsigned n_overrides, char *error)
{
	struct config_reader reader = { .file = path, .error = error };

	return load(&reader, config, node, overrides, n_overrides);
}

int config_load_system(struct config **config, const char *path, const char *const *overrides,
		       unsigned n_overrides, const struct config_visitor *visitor, char *error)
{
	struct config_reader reader = { .file = path, .error = error, .visitor = visitor };

	return load(&reader, config, CONFIG_MANAGER_NODE, overrides, n_overrides);
}
