// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the tests of the configuration share: a small valid one, and what is said when it is
// changed.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "config/config.h"

// One port "wire", sources 1 to 8, one builder "b0", one generator "g0".
extern const char base_text[];

// Loads the small configuration with one override, or fails the test with its error.
struct config *load_with(const char *override);

// Asserts that the small configuration with this override is refused in exactly these words.
void assert_refused(const char *override, const char *expected);

// The same with several overrides, ended by NULL.
void assert_all_refused(const char *const *overrides, const char *expected);

// A system: node "a" is manager, reads sources 1 and 2 and builds; "b" reads 3 and 4; "c" builds.
extern const char system_text[];

// Loads a node of it with overrides, ended by NULL, or fails the test with the error.
struct config *load_node(const char *node, const char *const *overrides);

// Asserts that the system is refused in exactly these words, whichever node is loaded.
void assert_system_refused(const char *override, const char *expected);
void assert_system_all_refused(const char *const *overrides, const char *expected);

#define ALL(...)                  \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

// Asserts that a text is refused in exactly these words; it is called "x.json" in them.
void assert_text_refused(const char *text, const char *expected);
