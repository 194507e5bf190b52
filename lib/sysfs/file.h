// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Files through which the kernel reports: /proc, /sys, /dev. Paths are absolute. They are looked up
// below `root`, which is "" for this system, or a directory with a copy of such files. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYSFS_PATH_SIZE 512
#define SYSFS_TEXT_SIZE 4096

// Reads the beginning of a file, without newlines at its end. Returns false if it is not readable.
bool sysfs_read(const char *root, char text[SYSFS_TEXT_SIZE], const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Reads a whole number; `otherwise` if the file has none.
uint64_t sysfs_number(const char *root, uint64_t otherwise, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Opens a file for reading; NULL if that fails.
FILE *sysfs_open(const char *root, const char *path);

// Reads what follows `key` on the last line of a file that begins with it, without blanks before
// it and the newline. Returns false if no line does.
bool sysfs_field(const char *root, const char *path, const char *key, char text[SYSFS_TEXT_SIZE]);

// A size of /proc/meminfo in bytes, "MemAvailable" or "Hugepagesize"; `otherwise` if the kernel
// does not report it.
uint64_t sysfs_meminfo(const char *root, const char *name, uint64_t otherwise);

bool sysfs_exists(const char *root, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Whether this process may access a file; mode: R_OK, W_OK, X_OK of access(2). Returns 0, or errno.
int sysfs_access(const char *root, const char *path, int mode);

// The last part of the path to which a symbolic link points. Returns false if it is not a link.
bool sysfs_link_name(const char *root, char *name, size_t size, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Free bytes in the file system of a path, and its size; false if the kernel does not report them.
bool sysfs_room(const char *root, const char *path, uint64_t *free, uint64_t *size);
