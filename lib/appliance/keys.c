// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The keys of a node of a system: its key file, which is read again when it changes, and the log
// of the frames of other nodes that are refused, for their key or for their version.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "appliance/parts.h"
#include "base/counter.h"
#include "control/endpoint.h"

#define LOOK_SECONDS 1
#define TELL_SECONDS 60 // between two lines about the same node and cause

bool keys_watch_make(struct key_watch *watch, unsigned n_nodes)
{
	watch->told = calloc(n_nodes, sizeof(*watch->told));
	return watch->told != NULL;
}

void keys_watch_free(struct key_watch *watch)
{
	free(watch->told);
}

static const char *file_of(const struct appliance *appliance)
{
	return appliance->config->event_manager.key_file;
}

// Stores what shows a change of the file. False if it is as it was.
static bool has_changed(struct key_watch *watch, const char *path)
{
	struct stat status;
	struct key_file_state now = { 0 };

	if (stat(path, &status) == 0)
		now = (struct key_file_state){
			.inode = status.st_ino,
			.size = (uint64_t)status.st_size,
			.seconds = status.st_ctim.tv_sec,
			.nanoseconds = status.st_ctim.tv_nsec,
		};
	if (memcmp(&now, &watch->file, sizeof(now)) == 0)
		return false;
	watch->file = now;
	return true;
}

int keys_read(struct appliance *appliance, struct control_keys *keys, char *error)
{
	char why[CONTROL_KEYS_ERROR];

	*keys = (struct control_keys){ 0 };
	if (file_of(appliance)[0] == '\0')
		return 0;
	(void)has_changed(&appliance->key_watch, file_of(appliance));
	if (control_keys_read(keys, file_of(appliance), why) != 0)
		return appliance_fail(error, "event_manager.key_file: %s", why);
	return 0;
}

static void read_again(struct appliance *appliance, struct role *control)
{
	struct key_watch *watch = &appliance->key_watch;
	struct control_keys keys;
	char why[CONTROL_KEYS_ERROR];

	watch->due |= has_changed(watch, file_of(appliance));
	if (!watch->due)
		return;
	if (control_keys_read(&keys, file_of(appliance), why) != 0) {
		watch->due = false;
		notice(appliance, "event_manager.key_file: %s; the keys stay as they were", why);
		return;
	}
	if (control_role_set_keys(control, &keys)) {
		watch->due = false;
		notice(appliance,
		       "%s was read again: frames are sealed with the first of %u key(s)",
		       file_of(appliance), keys.n);
	}
	control_keys_wipe(&keys);
}

// What is wrong with a node's frames, and what to do.
static const char *const refusals[REFUSALS] = {
	"it sends without a key and is refused: give it this node's event_manager.key_file",
	"it sends with a key and is refused: give this node its event_manager.key_file",
	("frames with another key, or forged, are refused: all nodes need the same "
	 "event_manager.key_file"),
	("it speaks another version of the control protocol and is refused: all nodes need the "
	 "same release of evb"),
};

static void tell(struct appliance *appliance, unsigned node,
		 const struct control_counters *counters, uint64_t now)
{
	const uint64_t n[REFUSALS] = { counter_read(&counters->without_key),
				       counter_read(&counters->with_key),
				       counter_read(&counters->forged),
				       counter_read(&counters->other_version) };

	for (unsigned i = 0; i < REFUSALS; i++) {
		struct key_told *told = &appliance->key_watch.told[node][i];

		if (n[i] == told->n || (told->n > 0 && now < told->again))
			continue;
		told->n = n[i];
		told->again = now + TELL_SECONDS * rte_get_tsc_hz();
		notice(appliance, "node %s: %s", appliance->config->cluster.nodes[node].name,
		       refusals[i]);
	}
}

void keys_watch(struct appliance *appliance)
{
	struct role *control = appliance_control(appliance);
	const uint64_t now = rte_rdtsc();

	if (control == NULL || control_role_endpoint(control) == NULL ||
	    now < appliance->key_watch.next)
		return;
	appliance->key_watch.next = now + LOOK_SECONDS * rte_get_tsc_hz();
	if (file_of(appliance)[0] != '\0')
		read_again(appliance, control);
	for (unsigned i = 0; i < appliance->config->cluster.n_nodes; i++) {
		const struct control_counters *counters =
		    control_counters(control_role_endpoint(control), i);

		if (counters != NULL)
			tell(appliance, i, counters, now);
	}
}
