// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads values: numbers, quantities, words, names, addresses, options.
#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "wire/net.h"

#define NUMBER "%.15g" // format of a JSON number in messages

static void *field(const struct config_key *key, void *base)
{
	return (char *)base + key->offset;
}

static void mark_present(const struct config_key *key, void *base)
{
	if (key->presence)
		*((bool *)base + key->presence) = true;
}

static void store_count(const struct config_key *key, unsigned count, void *base)
{
	memcpy((char *)base + key->count, &count, sizeof(count));
}

static int read_boolean(struct config_reader *reader, const struct config_key *key,
			const cJSON *item, void *base)
{
	bool value = cJSON_IsTrue(item);

	if (!cJSON_IsBool(item))
		return config_fail_type(reader, "true or false", item);
	memcpy(field(key, base), &value, sizeof(value));
	return 0;
}

static int fail_range(struct config_reader *reader, const struct config_key *key, const cJSON *item)
{
	char minimum[UNITS_TEXT_SIZE], maximum[UNITS_TEXT_SIZE], hint[64] = "";

	units_format(key->units, key->minimum, minimum);
	units_format(key->units, key->maximum, maximum);
	if (cJSON_IsString(item))
		return config_fail(reader, "%s is out of range %s..%s",
				   quote(item->valuestring).text, minimum, maximum);
	if (key->units == UNITS_TIME)
		snprintf(hint, sizeof(hint), " (a number without a unit is in %s)",
			 units_base(key->units));
	return config_fail(reader, NUMBER " is out of range %s..%s%s", item->valuedouble, minimum,
			   maximum, hint);
}

static int read_exact_number(struct config_reader *reader, const struct config_key *key,
			     const cJSON *item, uint64_t *value)
{
	double number = item->valuedouble;

	if (number < 0)
		return fail_range(reader, key, item);
	if (number > (double)CONFIG_EXACT_MAXIMUM) {
		if (number > (double)key->maximum)
			return fail_range(reader, key, item);
		return config_fail(reader,
				   "numbers above %llu lose digits in JSON, write it as a string",
				   CONFIG_EXACT_MAXIMUM);
	}
	if (number != floor(number))
		return config_fail(reader, NUMBER " is not a whole number", number);
	*value = (uint64_t)number;
	return 0;
}

// The lowest bytes come first: evb runs on little-endian machines only (wire/wire.h).
static void store_whole(const struct config_key *key, uint64_t value, void *base)
{
	memcpy(field(key, base), &value, key->width);
}

static int fail_whole_type(struct config_reader *reader, const struct config_key *key,
			   const cJSON *item)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "%sa whole number%s",
		 key->or_auto ? "\"auto\" or " : "",
		 key->units == UNITS_COUNT ? "" : " or a string with a unit");
	return config_fail_type(reader, expected, item);
}

static int read_whole(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		      void *base)
{
	char error[UNITS_ERROR_SIZE];
	uint64_t value;

	if (key->or_auto && cJSON_IsString(item) && strcmp(item->valuestring, "auto") == 0) {
		store_whole(key, key->automatic, base);
		return 0;
	}
	if (cJSON_IsNumber(item)) {
		if (read_exact_number(reader, key, item, &value))
			return -1;
	} else if (!cJSON_IsString(item)) {
		return fail_whole_type(reader, key, item);
	} else if (units_parse(key->units, item->valuestring, &value, error)) {
		const bool is_word = isalpha((unsigned char)item->valuestring[0]);

		return config_fail(reader, "%s%s", error,
				   key->or_auto && is_word ? "; \"auto\" is allowed, too" : "");
	}
	if (value < key->minimum || value > key->maximum)
		return fail_range(reader, key, item);
	if (key->power_of_two && (value & (value - 1)))
		return config_fail(reader, "%" PRIu64 " is not a power of two", value);
	store_whole(key, value, base);
	mark_present(key, base);
	return 0;
}

static int read_real(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		     void *base)
{
	char error[UNITS_ERROR_SIZE];
	double value = item->valuedouble;

	if (cJSON_IsString(item) && key->units != UNITS_COUNT) {
		if (units_parse_real(key->units, item->valuestring, &value, error))
			return config_fail(reader, "%s", error);
	} else if (!cJSON_IsNumber(item)) {
		return config_fail_type(
		    reader,
		    key->units == UNITS_COUNT ? "a number" : "a number or a string with a unit",
		    item);
	}
	if (!(value >= (double)key->minimum && value <= (double)key->maximum))
		return fail_range(reader, key, item);
	memcpy(field(key, base), &value, sizeof(value));
	return 0;
}

static int read_word(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		     void *base)
{
	char known[128] = "";

	for (unsigned i = 0; key->words[i]; i++) {
		if (cJSON_IsString(item) && strcmp(item->valuestring, key->words[i]) == 0) {
			store_whole(key, i, base);
			return 0;
		}
		size_t used = strlen(known);
		snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", key->words[i]);
	}
	if (!cJSON_IsString(item)) {
		char expected[160];
		snprintf(expected, sizeof(expected), "one of %s", known);
		return config_fail_type(reader, expected, item);
	}
	return config_fail(reader, "%s is none of %s", quote(item->valuestring).text, known);
}

// Reads a name, or an element of a list of names. Names of roles may contain points.
static int read_name_to(struct config_reader *reader, const struct config_key *key,
			const cJSON *item, char *name)
{
	bool is_role = key->type == CONFIG_TYPE_ROLES;
	bool is_list = is_role || key->type == CONFIG_TYPE_NAMES;
	size_t maximum = is_list ? EVB_NAME_SIZE - 1 : (size_t)key->maximum;

	if (!cJSON_IsString(item))
		return config_fail_type(reader, is_role ? "the name of a role" : "a name", item);
	const char *text = item->valuestring;
	size_t length = strlen(text);
	for (size_t i = 0; i < length; i++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
			    text[i]) &&
		    !(is_role && text[i] == '.'))
			return config_fail(reader, "%s has a character outside A-Z a-z 0-9 _ -%s",
					   quote(text).text, is_role ? " ." : "");
	if (length == 0)
		return config_fail(reader, "must not be empty");
	if (length > maximum)
		return config_fail(reader, "%s has %zu characters, at most %zu are allowed",
				   quote(text).text, length, maximum);
	memcpy(name, text, length + 1);
	return 0;
}

static int read_name_element(struct config_reader *reader, const struct config_key *key,
			     const cJSON *item, void *elements, unsigned index)
{
	char(*names)[EVB_NAME_SIZE] = elements;

	if (read_name_to(reader, key, item, names[index]))
		return -1;
	for (unsigned i = 0; i < index; i++)
		if (strcmp(names[i], names[index]) == 0)
			return config_fail(reader, "\"%s\" is given twice", names[i]);
	return 0;
}

static int read_names(struct config_reader *reader, const struct config_key *key, const cJSON *json,
		      void *base)
{
	if (!cJSON_IsArray(json))
		return config_fail_type(reader, "a list of names", json);
	return config_read_elements(reader, key, json, read_name_element, base);
}

static int read_name(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		     void *base)
{
	return read_name_to(reader, key, item, field(key, base));
}

static bool has_control_character(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

static int read_text_to(struct config_reader *reader, const struct config_key *key,
			const cJSON *item, char *target)
{
	if (!cJSON_IsString(item))
		return config_fail_type(reader, "a string", item);
	size_t length = strlen(item->valuestring);
	if (length < key->minimum)
		return config_fail(reader, "must not be empty");
	if (length > key->maximum)
		return config_fail(reader, "%zu bytes long, at most %u are allowed", length,
				   (unsigned)key->maximum);
	if (has_control_character(item->valuestring))
		return config_fail(reader, "%s has a control character",
				   quote(item->valuestring).text);
	memcpy(target, item->valuestring, length + 1);
	return 0;
}

static int read_text(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		     void *base)
{
	return read_text_to(reader, key, item, field(key, base));
}

static int read_ipv4(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		     void *base)
{
	unsigned prefix_length;
	uint32_t address;

	if (!cJSON_IsString(item))
		return config_fail_type(reader, "an IPv4 address", item);
	const char *text = item->valuestring, *prefix = strchr(text, '/');
	bool is_wrong = prefix && (!key->prefix || (prefix[1] == '0' && prefix[2] != '\0'));
	if (is_wrong || !net_ipv4_parse(text, &address, &prefix_length))
		return config_fail(reader, "%s is not an IPv4 address such as \"10.0.0.1%s\"",
				   quote(text).text, key->prefix ? "/24" : "");
	store_whole(key, address, base);
	if (key->prefix)
		*((uint8_t *)base + key->prefix) = (uint8_t)prefix_length;
	mark_present(key, base);
	return 0;
}

static int read_ip(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		   void *base)
{
	const char *what =
	    key->type == CONFIG_TYPE_IP ? "an IPv4 or IPv6 address" : "an IPv6 address";
	uint8_t *address = field(key, base);

	if (!cJSON_IsString(item))
		return config_fail_type(reader, what, item);
	if (inet_pton(AF_INET6, item->valuestring, address) != 1) {
		memset(address, 0, 16);
		if (key->type != CONFIG_TYPE_IP ||
		    inet_pton(AF_INET, item->valuestring, address + 12) != 1)
			return config_fail(reader, "%s is not %s such as \"%sfd00::1\"",
					   quote(item->valuestring).text, what,
					   key->type == CONFIG_TYPE_IP ? "10.0.0.1\" or \"" : "");
		address[10] = address[11] = 0xff;
	}
	mark_present(key, base);
	return 0;
}

static bool parse_mac(const char *text, uint8_t mac[6])
{
	const char *hexadecimal = "0123456789abcdefABCDEF";
	bool is_mac = strlen(text) == 17;

	for (unsigned i = 0; is_mac && i < 6; i++) {
		is_mac = strspn(text + 3 * i, hexadecimal) == 2 &&
			 text[3 * i + 2] == (i < 5 ? ':' : '\0');
		if (is_mac)
			mac[i] = (uint8_t)strtoul(text + 3 * i, NULL, 16);
	}
	return is_mac;
}

static int read_mac(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		    void *base)
{
	if (!cJSON_IsString(item))
		return config_fail_type(reader, "an Ethernet address", item);
	const char *text = item->valuestring;
	if (!parse_mac(text, field(key, base)))
		return config_fail(reader,
				   "%s is not an Ethernet address such as \"02:00:00:00:00:01\"",
				   quote(text).text);
	mark_present(key, base);
	return 0;
}

// Parses an address without prefix, and sets the prefix to all its bits.
static bool parse_address(const char *text, struct source_address *address)
{
	memset(address, 0, sizeof(*address));
	if (parse_mac(text, address->bytes)) {
		address->kind = SOURCE_ADDRESS_MAC;
		address->prefix = 48;
	} else if (inet_pton(AF_INET, text, address->bytes) == 1) {
		address->kind = SOURCE_ADDRESS_IP4;
		address->prefix = 32;
	} else if (inet_pton(AF_INET6, text, address->bytes) == 1) {
		address->kind = SOURCE_ADDRESS_IP6;
		address->prefix = 128;
	} else {
		return false;
	}
	return true;
}

static bool parse_prefix(const char *text, struct source_address *address)
{
	size_t n_digits = strspn(text, "0123456789");
	int bits = atoi(text);

	if (n_digits < 1 || n_digits > 3 || text[n_digits] != '\0' || bits > address->prefix ||
	    (n_digits > 1 && text[0] == '0') || address->kind == SOURCE_ADDRESS_MAC)
		return false;
	address->prefix = (uint8_t)bits;
	return true;
}

static int read_address(struct config_reader *reader, const struct config_key *key,
			const cJSON *item, void *elements, unsigned index)
{
	struct source_address *address = (struct source_address *)elements + index;
	char digits[INET6_ADDRSTRLEN];

	(void)key;
	if (!cJSON_IsString(item))
		return config_fail_type(reader, "an address", item);
	const char *text = item->valuestring;
	size_t length = strcspn(text, "/");
	bool is_address = length < sizeof(digits);
	if (is_address) {
		memcpy(digits, text, length);
		digits[length] = '\0';
		is_address = parse_address(digits, address) &&
			     (text[length] == '\0' || parse_prefix(text + length + 1, address));
	}
	if (!is_address)
		return config_fail(reader,
				   "%s is not an address such as \"10.0.0.0/24\", \"fd00::1\" or "
				   "\"02:00:00:00:00:01\"",
				   quote(text).text);
	return 0;
}

static int read_addresses(struct config_reader *reader, const struct config_key *key,
			  const cJSON *json, void *base)
{
	if (!cJSON_IsArray(json))
		return config_fail_type(reader, "a list of addresses", json);
	return config_read_elements(reader, key, json, read_address, base);
}

// Reads an option. Its value is a string, or a whole number, which drivers receive as digits.
static int read_option(struct config_reader *reader, const cJSON *item, struct port_option *option)
{
	static const struct config_key name_key = { .type = CONFIG_TYPE_NAME,
						    .maximum = EVB_NAME_SIZE - 1 };
	static const struct config_key value_key = { .type = CONFIG_TYPE_TEXT,
						     .maximum = EVB_PATH_SIZE - 1 };
	cJSON name = { .type = cJSON_String, .valuestring = item->string };

	if (read_name_to(reader, &name_key, &name, option->name))
		return -1;
	if (!cJSON_IsNumber(item))
		return read_text_to(reader, &value_key, item, option->value);
	double number = item->valuedouble;
	if (number != floor(number) || fabs(number) > (double)CONFIG_EXACT_MAXIMUM)
		return config_fail(reader, NUMBER " is not a whole number, write it as a string",
				   number);
	snprintf(option->value, sizeof(option->value), "%" PRId64, (int64_t)number);
	return 0;
}

static int read_options(struct config_reader *reader, const struct config_key *key,
			const cJSON *json, void *base)
{
	struct port_option *options = field(key, base);
	unsigned n_options = 0;
	const cJSON *item;

	if (!cJSON_IsObject(json))
		return config_fail_type(reader, "an object of names and values", json);
	cJSON_ArrayForEach(item, json)
	{
		if (n_options == key->maximum)
			return config_fail(reader, "more than %u options", (unsigned)key->maximum);
		size_t length = config_path_key(reader, item->string);
		if (read_option(reader, item, &options[n_options]))
			return -1;
		for (unsigned i = 0; i < n_options; i++)
			if (strcmp(options[i].name, options[n_options].name) == 0)
				return config_fail(reader, "key is given twice");
		config_path_leave(reader, length);
		n_options++;
	}
	store_count(key, n_options, base);
	return 0;
}

static int read_ignored(struct config_reader *reader, const struct config_key *key,
			const cJSON *item, void *base)
{
	(void)key;
	(void)base;
	return cJSON_IsString(item) ? 0 : config_fail_type(reader, "a string", item);
}

int config_read_value(struct config_reader *reader, const struct config_key *key, const cJSON *item,
		      void *base)
{
	static int (*const readers[])(struct config_reader *, const struct config_key *,
				      const cJSON *, void *) = {
		[CONFIG_TYPE_BOOLEAN] = read_boolean,
		[CONFIG_TYPE_WHOLE] = read_whole,
		[CONFIG_TYPE_REAL] = read_real,
		[CONFIG_TYPE_WORD] = read_word,
		[CONFIG_TYPE_NAME] = read_name,
		[CONFIG_TYPE_TEXT] = read_text,
		[CONFIG_TYPE_IPV4] = read_ipv4,
		[CONFIG_TYPE_IPV6] = read_ip,
		[CONFIG_TYPE_IP] = read_ip,
		[CONFIG_TYPE_MAC] = read_mac,
		[CONFIG_TYPE_IDS] = config_read_ids,
		[CONFIG_TYPE_OWN_IDS] = config_read_ids,
		[CONFIG_TYPE_EXPECTED] = config_read_ids,
		[CONFIG_TYPE_ID_RANGES] = config_read_ids,
		[CONFIG_TYPE_ADDRESSES] = read_addresses,
		[CONFIG_TYPE_NAMES] = read_names,
		[CONFIG_TYPE_ROLES] = read_names,
		[CONFIG_TYPE_OPTIONS] = read_options,
		[CONFIG_TYPE_IGNORED] = read_ignored,
	};

	return readers[key->type](reader, key, item, base);
}
