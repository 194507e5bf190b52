// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What this program was built from, for --version and for telemetry.
#pragma once

struct build {
	const char *version; // of evb, "0.1.0"
	const char *commit;  // "09d3d68", with "-dirty" if files were changed; "not from git"
	const char *dpdk;    // of the libraries that it runs with, "22.11.11"
	const char *xdp;     // "yes", or "no": built without the program that steers AF_XDP ports
};

// Any thread. Valid until the thread ends.
const struct build *build_get(void);
