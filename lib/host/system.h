// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The system that is looked at: this one, or a tree of files that stands for one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "host/link.h"

#define SYSTEM_PATH_SIZE 512
#define SYSTEM_TEXT_SIZE 4096

struct host_system {
	const char *root; // before each path: "" is this system

	// What is not told by files. NULL: host_link_read().
	bool (*read_link)(const char *interface, struct host_link *link, void *context);
	void *context;
};

// This system.
extern const struct host_system host_system_here;

// Below, paths are absolute, formatted, and looked up under the root.

// Reads the beginning of a file, without the newline at its end. Returns false if that cannot be.
bool system_read(const struct host_system *system, char text[SYSTEM_TEXT_SIZE], const char *format,
		 ...) __attribute__((format(printf, 3, 4)));

// Reads a whole number; `otherwise` if there is none.
uint64_t system_number(const struct host_system *system, uint64_t otherwise, const char *format,
		       ...) __attribute__((format(printf, 3, 4)));

// Opens a file to be read with fgets() or the like; NULL if that cannot be.
FILE *system_open(const struct host_system *system, const char *path);

bool system_exists(const struct host_system *system, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Whether this process may read it, or read and write it.
bool system_may_read(const struct host_system *system, const char *path);
bool system_may_use(const struct host_system *system, const char *path);

// Whether this process may make files in a folder: 0, or why not, as errno. ENOENT also where a
// part of the path may not be looked into.
int system_may_make_in(const struct host_system *system, const char *path);

// The last part of the path that a symbolic link leads to. Returns false if it is none.
bool system_link_name(const struct host_system *system, char *name, size_t size, const char *format,
		      ...) __attribute__((format(printf, 4, 5)));

// Bytes that are free in the file system of a path, and in all; false if the kernel does not tell.
bool system_room(const struct host_system *system, const char *path, uint64_t *free,
		 uint64_t *size);
