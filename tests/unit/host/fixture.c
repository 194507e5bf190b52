// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fixture.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fixture_make(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct config *config = calloc(1, sizeof(*config));
	struct plan *plan = calloc(1, sizeof(*plan));

	assert_non_null(fixture);
	assert_non_null(config);
	assert_non_null(plan);
	strcpy(config->name, "fixture");
	strcpy(config->path, "fixture.json");
	config->n_builders = 1;
	strcpy(config->builders[0].name, "b0");
	plan->config = config;
	plan->roles[0] = (struct plan_role){
		.name = "builder.b0",
		.kind = CONFIG_ROLE_BUILDER,
		.port = PLAN_NONE,
		.lcore = 1,
	};
	plan->n_roles = 1;
	plan->lcores[0] = (struct plan_lcore){ .cpu = 0 };
	plan->lcores[1] = (struct plan_lcore){ .cpu = 1, .n_roles = 1 };
	plan->n_lcores = 2;
	plan->n_nodes = 1;
	plan->packet_bytes = 32 * MIB;
	plan->ring_bytes = 16 * MIB;
	plan->nodes[0].packet_bytes = plan->packet_bytes;
	plan->nodes[0].ring_bytes = plan->ring_bytes;
	plan->nodes[0].hugepage_bytes = 120 * MIB;
	fixture->config = config;
	fixture->plan = plan;
	strcpy(fixture->root, "/tmp/evb-host-XXXXXX");
	assert_non_null(mkdtemp(fixture->root));
	fixture->system =
	    (struct host_system){ .root = fixture->root, .read_link = host_link_read };
	fixture->check = calloc(1, sizeof(*fixture->check));
	assert_non_null(fixture->check);
	*state = fixture;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

int fixture_end(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(nftw(fixture->root, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	host_report_free(&fixture->report);
	free(fixture->check);
	free(fixture->plan);
	free(fixture->config);
	free(fixture);
	return 0;
}

void fixture_port(struct fixture *fixture, const char *driver, const char *device, uint32_t mtu)
{
	unsigned index = fixture->config->n_ports++;
	struct port_settings *config = &fixture->config->ports[index];
	struct plan_port *port = &fixture->plan->ports[index];

	snprintf(config->name, sizeof(config->name), "p%u", index);
	snprintf(config->profile, sizeof(config->profile), "%s", driver + strlen("net_"));
	snprintf(config->device, sizeof(config->device), "%s", device);
	config->mtu = mtu;
	config->rx_queues = 1;
	snprintf(port->profile.driver, sizeof(port->profile.driver), "%s", driver);
	strcpy(port->profile.device_argument, "iface");
	port->profile.maximum_mtu = 9000;
	port->n_rx_queues = port->n_tx_queues = 1;
	fixture->plan->roles[fixture->plan->n_roles] = (struct plan_role){
		.kind = CONFIG_ROLE_RX,
		.port = index,
	};
	snprintf(fixture->plan->roles[fixture->plan->n_roles].name, ROLE_NAME_SIZE, "rx.p%u",
		 index);
	fixture->plan->n_roles++;
}

// --- the tree ------------------------------------------------------------------------------------

static void make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0755); // it may be there
		*at = '/';
	}
}

static void whole(const struct fixture *fixture, const char *path, char text[512])
{
	assert_true(snprintf(text, 512, "%s%s", fixture->root, path) < 512);
}

void tree_write_bytes(const struct fixture *fixture, const char *path, const void *bytes,
		      size_t size)
{
	char name[512];
	FILE *file;

	whole(fixture, path, name);
	make_folders(name);
	file = fopen(name, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

void tree_write(const struct fixture *fixture, const char *path, const char *text)
{
	tree_write_bytes(fixture, path, text, strlen(text));
}

void tree_folder(const struct fixture *fixture, const char *path)
{
	char name[512];

	whole(fixture, path, name);
	strcat(name, "/");
	make_folders(name);
}

void tree_link(const struct fixture *fixture, const char *path, const char *target)
{
	char name[512];

	whole(fixture, path, name);
	make_folders(name);
	assert_int_equal(symlink(target, name), 0);
}

void tree_assert(const struct fixture *fixture, const char *path, const char *text)
{
	char name[512], found[512] = "";
	FILE *file;

	whole(fixture, path, name);
	file = fopen(name, "r");
	assert_non_null(file);
	found[fread(found, 1, sizeof(found) - 1, file)] = '\0';
	fclose(file); // opened for reading: nothing can be lost
	found[strcspn(found, "\n")] = '\0';
	assert_string_equal(found, text);
}

// --- the report ----------------------------------------------------------------------------------

static bool matches(const char *text, const char *wanted)
{
	return wanted == NULL || strstr(text, wanted) != NULL;
}

const struct host_finding *assert_finding(const struct fixture *fixture, enum host_verdict verdict,
					  const char *stage, const char *text, const char *remedy)
{
	const struct host_report *report = &fixture->report;

	for (unsigned i = 0; i < report->n_findings; i++) {
		const struct host_finding *finding = &report->findings[i];

		if (finding->verdict == verdict && strcmp(finding->stage, stage) == 0 &&
		    matches(finding->text, text) && matches(finding->remedy, remedy))
			return finding;
	}
	for (unsigned i = 0; i < report->n_findings; i++)
		print_error("%s %s %s: %s\n", host_verdict_name(report->findings[i].verdict),
			    report->findings[i].stage, report->findings[i].text,
			    report->findings[i].remedy);
	fail_msg("no finding %s %s %s: %s", host_verdict_name(verdict), stage,
		 text != NULL ? text : "", remedy != NULL ? remedy : "");
	return NULL;
}

void assert_counts(const struct fixture *fixture, unsigned ok, unsigned warn, unsigned fail,
		   unsigned changes)
{
	assert_int_equal(report_count(&fixture->report, HOST_OK), ok);
	assert_int_equal(report_count(&fixture->report, HOST_WARN), warn);
	assert_int_equal(report_count(&fixture->report, HOST_FAIL), fail);
	assert_int_equal(fixture->report.n_changes, changes);
}

void assert_change(const struct fixture *fixture, enum host_change_kind kind, const char *target,
		   const char *value)
{
	for (unsigned i = 0; i < fixture->report.n_changes; i++) {
		const struct host_change *change = &fixture->report.changes[i];

		if (change->kind == kind && strcmp(change->target, target) == 0) {
			assert_string_equal(change->value, value);
			return;
		}
	}
	fail_msg("no change of %s", target);
}

void report_reset(struct fixture *fixture)
{
	host_report_free(&fixture->report);
	memset(fixture->check, 0, sizeof(*fixture->check));
}

static const struct stage *stage_of(struct fixture *fixture, const char *name)
{
	const struct stage *stage = host_stages;

	fixture->check->system = &fixture->system;
	fixture->check->plan = fixture->plan;
	fixture->check->report = &fixture->report;
	while (stage->name != NULL && strcmp(stage->name, name) != 0)
		stage++;
	assert_non_null(stage->name);
	return stage;
}

void judge_stage(struct fixture *fixture, const char *name)
{
	const struct stage *stage = stage_of(fixture, name);

	if (stage->read != NULL)
		stage->read(fixture->check);
	stage_judge(stage, fixture->check);
}

void judge_facts(struct fixture *fixture, const char *name)
{
	stage_judge(stage_of(fixture, name), fixture->check);
}
