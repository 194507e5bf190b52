// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Macros for the tables in keys*.c.
#pragma once

#include "config/keys.h"

#define FIELD(structure, member)                      \
	.offset = offsetof(struct structure, member), \
	.width = sizeof(((struct structure *)NULL)->member)
// A member that the struct has beside has_MEMBER, which tells whether the key is given.
#define OPTIONAL(structure, member) \
	FIELD(structure, member), .presence = offsetof(struct structure, has_##member)
#define ELEMENTS(structure, member)                             \
	.offset = offsetof(struct structure, member),           \
	.width = sizeof(((struct structure *)NULL)->member[0]), \
	.count = offsetof(struct structure, n_##member)
#define OBJECT(name_, keys_)                                \
	const struct config_object name_ = {                \
		.keys = keys_,                              \
		.n_keys = sizeof(keys_) / sizeof(keys_[0]), \
	};                                                  \
	_Static_assert(sizeof(keys_) / sizeof(keys_[0]) <= CONFIG_KEYS_MAXIMUM, "")
#define RANGE(minimum_, maximum_) .minimum = (minimum_), .maximum = (maximum_)
#define NAME                      .type = CONFIG_TYPE_NAME, RANGE(1, EVB_NAME_SIZE - 1)
// A name that becomes part of a role's name ("builder.NAME"), which must also fit EVB_NAME_SIZE.
#define ROLE_NAME     .type = CONFIG_TYPE_NAME, RANGE(1, EVB_NAME_SIZE - sizeof("builder."))
#define TEXT          .type = CONFIG_TYPE_TEXT, RANGE(1, EVB_PATH_SIZE - 1)
#define TEXT_OR_EMPTY .type = CONFIG_TYPE_TEXT, RANGE(0, EVB_PATH_SIZE - 1), .standard = ""
#define WHOLE(unit)   .type = CONFIG_TYPE_WHOLE, .units = UNITS_##unit
// The key also accepts the word "auto", which is stored as this value.
#define OR_AUTO(value) .or_auto = true, .automatic = (value)
#define WORDS(...)                                               \
	.type = CONFIG_TYPE_WORD, .words = (const char *const[]) \
	{                                                        \
		__VA_ARGS__, NULL                                \
	}
// The key and all in it may change between two runs of a process.
#define BETWEEN_RUNS    .between_runs = true
#define NESTED(object_) .type = CONFIG_TYPE_OBJECT, .object = &(object_)
#define LIST(object_)   .type = CONFIG_TYPE_LIST, .object = &(object_)

#define MICROSECOND 1000ULL
#define MILLISECOND (1000 * MICROSECOND)
#define SECOND      (1000 * MILLISECOND)
#define HOUR        (3600 * SECOND)
#define KIB         (1ULL << 10)
#define GIB         (1ULL << 30)
#define TIB         (1ULL << 40)
