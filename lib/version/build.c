// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "version/build.h"

#include <string.h>

#include <rte_version.h>

#include "commit.h"

const struct build *build_get(void)
{
	static _Thread_local struct build build;
	const char *dpdk = strchr(rte_version(), ' '); // behind its name

	build = (struct build){ EVB_VERSION, EVB_COMMIT, dpdk != NULL ? dpdk + 1 : "", EVB_XDP };
	return &build;
}
