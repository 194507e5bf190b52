// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "preflight.h"

#include <string.h>
#include <unistd.h>

#include "host/host.h"
#include "log.h"

static bool has_changes(const struct host_report *report, const char *stage)
{
	for (unsigned i = 0; i < report->n_changes; i++)
		if (strcmp(report->changes[i].stage, stage) == 0)
			return true;
	return false;
}

static void log_warning(const struct host_finding *finding)
{
	log_line(LOG_LEVEL_WARNING, "%s%s%s", finding->text, finding->remedy[0] != '\0' ? ": " : "",
		 finding->remedy);
}

// `evb host prepare CONFIG` can fix the failure if the configuration is a file; gen and replay have
// no file.
static void log_failure(const struct host_finding *finding, const struct host_report *report,
			const struct config *config)
{
	const struct cluster_system *cluster = &config->cluster;
	bool can_prepare = has_changes(report, finding->stage) && access(config->path, R_OK) == 0;
	bool has_nodes = can_prepare && cluster->n_nodes > 0;

	log_line(LOG_LEVEL_ERROR, "%s%s%s%s%s%s%s", finding->text,
		 finding->remedy[0] != '\0' ? ": " : "", finding->remedy,
		 can_prepare ? "; or: evb host prepare " : "", can_prepare ? config->path : "",
		 has_nodes ? " --node " : "", has_nodes ? cluster->nodes[cluster->self].name : "");
}

bool preflight(const struct plan *plan)
{
	struct host_report report = { 0 };
	const struct host_finding *failure = host_preflight(&host_system_here, plan, &report);

	for (unsigned i = 0; i < report.n_findings; i++) {
		const struct host_finding *finding = &report.findings[i];

		if (finding->verdict != HOST_WARN || finding->quiet || failure != NULL)
			continue;
		log_warning(finding);
	}
	if (failure != NULL)
		log_failure(failure, &report, plan->config);
	host_report_free(&report);
	return failure == NULL;
}
