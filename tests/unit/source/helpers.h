// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of lib/source share.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/block_maker.h"
#include "source/source_set.h"

#define PATH_SIZE 256

// A configuration with one generator of these sources (NULL: none), the rest 0. cmocka frees
// nothing: config_done().
struct config *config_with(uint16_t first_id, unsigned n_ids, uint32_t packing);
void config_done(struct config *config);

// A configuration whose generator of a file kind takes all sources of the file.
struct config *config_of_file(enum config_generator_kind kind, const char *path, uint32_t packing);

// Makes the set of the configuration's first generator and expects that it works.
struct source_set *make_set(const struct config *config);

// Expects that it does not, with an error that holds `part`.
void expect_refused(const struct config *config, const char *part);

// A new directory, and its removal with all files in it.
void make_directory(char path[PATH_SIZE]);
void remove_directory(const char *path);
// The path of a file in a directory.
void path_in(char path[PATH_SIZE], const char *directory, const char *name);
void write_file(const char *path, const void *bytes, size_t size);

// The path of a file of the shared data; false if it is not there.
bool find_data(char path[PATH_SIZE], const char *name);
