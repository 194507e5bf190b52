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

#define MOST_IDS 8

// Parameters of sources first_id, first_id + 1, ...; their ids are stored in `ids`.
struct source_set_parameters parameters_with(uint16_t ids[MOST_IDS], uint16_t first_id,
					     unsigned n_ids, uint32_t packing);

// Parameters of all sources of a file.
struct source_set_parameters parameters_of_file(enum generator_kind kind, const char *path,
						uint32_t packing);

// Makes the set and expects that it works.
struct source_set *make_set(const struct source_set_parameters *parameters);

// Expects that it does not, with an error that holds `part`.
void expect_refused(const struct source_set_parameters *parameters, const char *part);

// A new directory, and its removal with all files in it.
void make_directory(char path[PATH_SIZE]);
void remove_directory(const char *path);
// The path of a file in a directory.
void path_in(char path[PATH_SIZE], const char *directory, const char *name);
void write_file(const char *path, const void *bytes, size_t size);

// The path of a file of the shared data; false if it is not there.
bool find_data(char path[PATH_SIZE], const char *name);
