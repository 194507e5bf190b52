// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "control/keys.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "base/error_line.h"

#define DIGITS    (2 * CONTROL_KEY_SIZE)
#define MOST_TEXT 4096u // bytes of a file
#define HOW       "a key is a line of 64 hexadecimal digits: openssl rand -hex 32"

#define FAIL(error, ...) error_line(error, CONTROL_KEYS_ERROR, __VA_ARGS__)

static int open_keys(const char *path, char *error)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return FAIL(error, "%s: %s", path, strerror(errno));
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    (status.st_mode & (S_IRWXO | S_IWGRP)) == 0)
		return fd;
	close(fd);
	return FAIL(error, "%s: other users can read or change it, or it is no file: chmod 600 it",
		    path);
}

// The bytes of the file, or -1.
static int read_text(const char *path, char *text, char *error)
{
	int fd = open_keys(path, error);
	size_t length = 0;
	ssize_t n = 1;
	int reason;

	if (fd < 0)
		return -1;
	while (n > 0 && length < MOST_TEXT) {
		n = read(fd, text + length, MOST_TEXT - length);
		length += n > 0 ? (size_t)n : 0;
	}
	reason = errno;
	close(fd);
	if (n < 0)
		return FAIL(error, "%s: %s", path, strerror(reason));
	if (length == MOST_TEXT)
		return FAIL(error, "%s is larger than %u bytes: " HOW, path, MOST_TEXT - 1);
	text[length] = '\0';
	return (int)length;
}

static int add_key(struct control_keys *keys, const char *line, size_t length)
{
	size_t size = 0;
	const char *end = NULL;

	if (keys->n == CONTROL_MAX_KEYS || length != DIGITS ||
	    sodium_hex2bin(keys->keys[keys->n], CONTROL_KEY_SIZE, line, length, NULL, &size,
			   &end) != 0 ||
	    size != CONTROL_KEY_SIZE)
		return -1;
	keys->n++;
	return 0;
}

static int parse(struct control_keys *keys, const char *path, const char *text, char *error)
{
	const char *at = text;

	for (unsigned line = 1; *at != '\0'; line++) {
		const char *next = strchrnul(at, '\n'), *end = next;

		while (at < end && isspace((unsigned char)*at))
			at++;
		while (end > at && isspace((unsigned char)end[-1]))
			end--;
		if (end > at && *at != '#' && add_key(keys, at, (size_t)(end - at)) != 0)
			return FAIL(error, "%s: line %u is no key, or one key too many: " HOW, path,
				    line);
		at = *next == '\n' ? next + 1 : next;
	}
	return keys->n > 0 ? 0 : FAIL(error, "%s has no key: " HOW, path);
}

int control_keys_read(struct control_keys *keys, const char *path, char *error)
{
	struct control_keys read_keys = { 0 };
	char text[MOST_TEXT + 1];
	int length, result;

	if (sodium_init() < 0)
		return FAIL(error, "libsodium does not start");
	length = read_text(path, text, error);
	if (length < 0)
		result = -1;
	else if (strlen(text) != (size_t)length)
		result = FAIL(error, "%s is no text: " HOW, path);
	else
		result = parse(&read_keys, path, text, error);
	if (result == 0)
		*keys = read_keys;
	sodium_memzero(text, sizeof(text));
	control_keys_wipe(&read_keys);
	return result;
}

uint64_t control_new_session(void)
{
	uint64_t session;

	randombytes_buf(&session, sizeof(session));
	return session | 1;
}

void control_keys_wipe(struct control_keys *keys)
{
	sodium_memzero(keys, sizeof(*keys));
}
