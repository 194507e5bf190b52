// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the completion of shells is made of.
#pragma once

// Prints the names of the nodes of a configuration, one per line; nothing if it cannot be read or
// has none. Returns the exit status.
int completion_nodes(const char *path);
