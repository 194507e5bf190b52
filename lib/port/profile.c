// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/error_line.h"

#define PROFILE_MAX_FILE 65536

static int fail(char *error, const char *name, const char *what, const char *detail)
{
	return error_line(error, PROFILE_ERROR_SIZE, "profile %s: %s%s", name, what, detail);
}

static void read_text(char *text, size_t size, const cJSON *root, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);

	snprintf(text, size, "%s", cJSON_IsString(item) ? item->valuestring : "");
}

static bool is_true(const cJSON *root, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, key));
}

static uint32_t number(const cJSON *root, const char *key, uint32_t otherwise)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(root, key);

	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= 1e9
		   ? (uint32_t)item->valuedouble
		   : otherwise;
}

static void read_arguments(struct profile *profile, const cJSON *arguments)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, arguments)
	{
		struct port_option *argument = &profile->arguments[profile->n_arguments];

		if (!cJSON_IsString(item) || profile->n_arguments == PROFILE_MAX_ARGUMENTS)
			continue;
		snprintf(argument->name, sizeof(argument->name), "%s", item->string);
		snprintf(argument->value, sizeof(argument->value), "%s", item->valuestring);
		profile->n_arguments++;
	}
}

static void read_capabilities(struct profile *profile, const cJSON *list)
{
	size_t used = 0;
	const cJSON *item;

	cJSON_ArrayForEach(item, list)
	{
		int n = snprintf(profile->capabilities + used, sizeof(profile->capabilities) - used,
				 "%s%s", used > 0 ? " " : "",
				 cJSON_IsString(item) ? item->valuestring : "");

		if (n < 0 || used + (size_t)n >= sizeof(profile->capabilities))
			return;
		used += (size_t)n;
	}
}

static int read_profile(struct profile *profile, const cJSON *root,
			const struct port_settings *port, char *error)
{
	bool jumbo = port->mtu > number(root, "jumbo_above", 1500);
	char bus[8];

	*profile = (struct profile){
		.queues = number(root, "queues", 1),
		.rx_descriptors = number(root, "rx_descriptors", 1024),
		.tx_descriptors = number(root, "tx_descriptors", 1024),
		.linger_ms = number(root, "linger_ms", 0),
		.maximum_mtu = number(root, "maximum_mtu", 1500),
		.minimum_buffer = number(root, "minimum_buffer", 0),
		.mtu_is_free = is_true(root, "mtu_is_free"),
		.needs_address = is_true(root, "needs_address"),
		.partial_checksums = is_true(root, "partial_checksums"),
		.close_on_interrupt_thread = is_true(root, "close_on_interrupt_thread"),
	};
	snprintf(profile->name, sizeof(profile->name), "%s", port->profile);
	read_text(profile->driver, sizeof(profile->driver), root, "driver");
	if (profile->driver[0] == '\0')
		return fail(error, port->profile, "has no \"driver\"", "");
	read_text(profile->device_argument, sizeof(profile->device_argument), root,
		  "device_argument");
	read_text(profile->queues_argument, sizeof(profile->queues_argument), root,
		  "queues_argument");
	read_text(bus, sizeof(bus), root, "bus");
	profile->is_pci = strcmp(bus, "pci") == 0;
	if (port->rx_descriptors != 0)
		profile->rx_descriptors = port->rx_descriptors;
	if (port->tx_descriptors != 0)
		profile->tx_descriptors = port->tx_descriptors;
	if (jumbo)
		profile->minimum_buffer =
		    number(root, "jumbo_minimum_buffer", profile->minimum_buffer);
	if (jumbo && port->rx_descriptors == 0)
		profile->rx_descriptors =
		    number(root, "jumbo_rx_descriptors", profile->rx_descriptors);
	if (jumbo && port->tx_descriptors == 0)
		profile->tx_descriptors =
		    number(root, "jumbo_tx_descriptors", profile->tx_descriptors);
	jumbo = jumbo && cJSON_HasObjectItem(root, "jumbo_arguments");
	read_arguments(profile, cJSON_GetObjectItemCaseSensitive(root, jumbo ? "jumbo_arguments"
									     : "arguments"));
	read_capabilities(profile, cJSON_GetObjectItemCaseSensitive(root, "capabilities"));
	return 0;
}

// Reads a profile file. The caller frees the text.
static char *read_file(const char *path, char *error)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t n = 0;

	if (file == NULL) {
		fail(error, path, "cannot be read: ", strerror(errno));
		return NULL;
	}
	text = malloc(PROFILE_MAX_FILE + 1);
	if (text != NULL) {
		n = fread(text, 1, PROFILE_MAX_FILE, file);
		text[n] = '\0';
	} else {
		fail(error, path, "out of memory", "");
	}
	fclose(file); // the file was only read, so no data can be lost
	return text;
}

static int load_text(struct profile *profile, const char *text, const struct port_settings *port,
		     char *error)
{
	cJSON *root = cJSON_Parse(text);
	int result;

	if (root == NULL)
		return fail(error, port->profile, "is not valid JSON", "");
	result = read_profile(profile, root, port, error);
	cJSON_Delete(root);
	return result;
}

int profile_load(struct profile *profile, const struct port_settings *port, char *error)
{
	char known[256] = "";

	if (strchr(port->profile, '/') != NULL) {
		char *text = read_file(port->profile, error);
		int result = text != NULL ? load_text(profile, text, port, error) : -1;

		free(text);
		return result;
	}
	for (const struct profile_text *t = profile_texts; t->name != NULL; t++) {
		size_t used = strlen(known);

		if (strcmp(t->name, port->profile) == 0)
			return load_text(profile, t->text, port, error);
		snprintf(known + used, sizeof(known) - used, " %s", t->name);
	}
	return fail(error, port->profile,
		    "there is none of this name: name a file with its path, or one of:", known);
}

bool profile_is_pci(const struct profile *profile, const struct port_settings *port)
{
	unsigned domain, bus, device, function;

	return profile->device_argument[0] == '\0' &&
	       sscanf(port->device, "%x:%x:%x.%x", &domain, &bus, &device, &function) == 4;
}

int profile_check_device(const struct profile *profile, const struct port_settings *port,
			 char *error)
{
	if (profile->is_pci && !profile_is_pci(profile, port))
		return error_line(
		    error, PROFILE_ERROR_SIZE,
		    "profile %s needs the PCI address of a card, such as 0000:3b:00.0, \"%s\" is "
		    "none: `dpdk-devbind.py --status` lists them",
		    profile->name, port->device);
	// The driver of tap devices names them itself.
	if (profile->device_argument[0] != '\0' && port->device[0] == '\0' &&
	    strcmp(profile->driver, "net_tap") != 0)
		return error_line(error, PROFILE_ERROR_SIZE, "profile %s needs a device (its %s)",
				  profile->name, profile->device_argument);
	return 0;
}

bool profile_owns_device(const struct profile *profile, const struct port_settings *port)
{
	return profile_is_pci(profile, port) ||
	       (strcmp(profile->device_argument, "iface") == 0 && port->device[0] != '\0');
}
