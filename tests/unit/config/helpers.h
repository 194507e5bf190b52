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

// Asserts that a text is refused in exactly these words; it is called "x.json" in them.
void assert_text_refused(const char *text, const char *expected);
