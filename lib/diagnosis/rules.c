// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "diagnosis/rules.h"

// Causes come before their consequences: ports and nodes that are cut off, sources that differ from
// the configuration, groups that hold slots, slow roles, and the losses because of them.
const struct rule rules[] = {
	{ "port_down", DIAGNOSIS_BAD, 10, look_for_ports_that_are_down },
	{ "no_manager", DIAGNOSIS_BAD, 10, look_for_no_manager },
	{ "manager_silent", DIAGNOSIS_BAD, 1, look_for_silent_manager },
	{ "node_silent", DIAGNOSIS_BAD, 0, look_for_silent_nodes },
	{ "node_absent", DIAGNOSIS_BAD, 10, look_for_absent_nodes },
	{ "source_differs", DIAGNOSIS_BAD, NOT_LOGGED, look_for_differences },
	{ "draining", DIAGNOSIS_LOOK, 0, look_at_drain },
	{ "writer_room", DIAGNOSIS_BAD, 1, look_for_writers_without_room },
	{ "group_empty", DIAGNOSIS_BAD, 10, look_for_groups_without_members },
	{ "group_idle", DIAGNOSIS_BAD, 1, look_for_idle_groups },
	{ "group_slow", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_slow_groups },
	{ "node_full", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_full_nodes },
	{ "source_silent", DIAGNOSIS_BAD, 10, look_for_silent_sources },
	{ "events_open", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_open_events },
	{ "role_slow", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_slow_roles },
	{ "port_paused", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_paused_ports },
	{ "packets_missed", DIAGNOSIS_BAD, NOT_LOGGED, look_for_missed_packets },
	{ "dropped", DIAGNOSIS_BAD, NOT_LOGGED, look_for_drops },
	{ "events_incomplete", DIAGNOSIS_BAD, NOT_LOGGED, look_for_incomplete_events },
	{ "file_failed", DIAGNOSIS_BAD, NOT_LOGGED, look_for_failed_files },
	{ "throttled", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_throttling },
	{ "node_excluded", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_excluded_nodes },
	{ "no_standby", DIAGNOSIS_LOOK, NOT_LOGGED, look_for_no_standby },
	{ 0 },
};
