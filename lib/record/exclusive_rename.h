// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Gives a whole file its final name.
#pragma once

// Renames a file of an open directory without replacing another one, also on file systems without
// RENAME_NOREPLACE. Returns 0 or a negative errno: -EEXIST if the name is taken. Any thread.
int exclusive_rename(int directory, const char *from, const char *to);
