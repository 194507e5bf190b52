// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "control/keys.h"

#include "host/stages.h"

void keys_judge(struct check *check)
{
	const struct config *config = check->plan->config;
	const char *path = config->event_manager.key_file;
	struct control_keys keys;
	char error[CONTROL_KEYS_ERROR];

	if (config->cluster.n_nodes < 2)
		return;
	if (path[0] == '\0') {
		report_add(check->report, HOST_WARN,
			   "control messages are not authenticated: who reaches the nodes' network "
			   "can stop the run" REMEDY "set event_manager.key_file");
		return;
	}
	if (control_keys_read(&keys, path, error) != 0) {
		report_add(check->report, HOST_FAIL, "event_manager.key_file: %s", error);
		return;
	}
	report_add(check->report, HOST_OK, "%s has %u key(s)", path, keys.n);
	control_keys_wipe(&keys);
}
