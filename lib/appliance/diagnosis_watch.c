// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "appliance/diagnosis_watch.h"

#include <stdlib.h>
#include <string.h>

#include "appliance/diagnosis_facts.h"
#include "appliance/parts.h"
#include "base/seqlock.h"
#include "base/tick_clock.h"

#define LOOK_NS      UINT64_C(250000000)
#define LOGGED_MOST  16u                   // findings that are remembered as logged
#define LOG_AGAIN_NS UINT64_C(60000000000) // a finding that comes back is not logged before

// A finding that holds.
struct held {
	char what[DIAGNOSIS_TEXT_SIZE];
	uint64_t since;
	bool logged;
};

struct logged {
	char what[DIAGNOSIS_TEXT_SIZE];
	uint64_t at;
};

struct diagnosis_watch {
	struct facts_watch facts;
	uint64_t next; // time of the next look
	struct diagnosis_drain drain;
	uint64_t drain_since;
	struct held held[DIAGNOSIS_MAX];
	unsigned n_held;
	struct logged logged[LOGGED_MOST];
	struct diagnosis at_end, final;
	struct seqlock lock;
	struct diagnosis shown;
};

int diagnosis_make(struct appliance *appliance)
{
	appliance->diagnosis = calloc(1, sizeof(*appliance->diagnosis));
	return appliance->diagnosis != NULL ? 0 : -1;
}

void diagnosis_free(struct appliance *appliance)
{
	free(appliance->diagnosis);
	appliance->diagnosis = NULL;
}

// --- what holds, and since when ------------------------------------------------------------------

static struct held *find_held(struct diagnosis_watch *watch, const char *what)
{
	for (unsigned i = 0; i < watch->n_held; i++)
		if (strcmp(watch->held[i].what, what) == 0)
			return &watch->held[i];
	return NULL;
}

// The number of the finding, or that of all findings if it is not there.
static unsigned find_finding(const struct diagnosis *diagnosis, const char *what)
{
	unsigned i = 0;

	while (i < diagnosis->n && strcmp(diagnosis->findings[i].what, what) != 0)
		i++;
	return i;
}

// Whether the log may have this finding again, and notes that it has.
static bool may_log(struct diagnosis_watch *watch, const char *what, uint64_t now)
{
	struct logged *oldest = &watch->logged[0];

	for (unsigned i = 0; i < LOGGED_MOST; i++) {
		struct logged *one = &watch->logged[i];

		if (one->at < oldest->at)
			oldest = one;
		if (one->at == 0 || strcmp(one->what, what) != 0)
			continue;
		if (now - one->at < LOG_AGAIN_NS)
			return false;
		one->at = now;
		return true;
	}
	strcpy(oldest->what, what);
	oldest->at = now;
	return true;
}

static void log_finding(struct appliance *appliance, const struct diagnosis_finding *finding,
			struct held *held, uint64_t now)
{
	if (held->logged || finding->severity < DIAGNOSIS_BAD ||
	    finding->held_ns < finding->log_after_ns)
		return;
	held->logged = may_log(appliance->diagnosis, finding->what, now);
	if (held->logged)
		notice(appliance, "%s: %s", finding->sentence, finding->remedy);
}

// Findings that hold no longer.
static void log_ends(struct appliance *appliance, const struct diagnosis *diagnosis, uint64_t now)
{
	struct diagnosis_watch *watch = appliance->diagnosis;

	for (unsigned i = 0; i < watch->n_held; i++)
		if (watch->held[i].logged &&
		    find_finding(diagnosis, watch->held[i].what) == diagnosis->n)
			notice(appliance, "over after %.1f s: %s",
			       (double)(now - watch->held[i].since) * 1e-9, watch->held[i].what);
}

static void hold(struct appliance *appliance, struct diagnosis *diagnosis, uint64_t now)
{
	struct diagnosis_watch *watch = appliance->diagnosis;
	struct held held[DIAGNOSIS_MAX] = { 0 };

	for (unsigned i = 0; i < diagnosis->n; i++) {
		struct diagnosis_finding *finding = &diagnosis->findings[i];
		const struct held *before = find_held(watch, finding->what);

		if (before != NULL)
			held[i] = *before;
		else
			held[i].since = now;
		strcpy(held[i].what, finding->what);
		finding->held_ns = now - held[i].since;
		log_finding(appliance, finding, &held[i], now);
	}
	log_ends(appliance, diagnosis, now);
	memcpy(watch->held, held, sizeof(held));
	watch->n_held = (unsigned)diagnosis->n;
}

// --- looks ---------------------------------------------------------------------------------------

static void publish(struct diagnosis_watch *watch, const struct diagnosis *diagnosis)
{
	seqlock_begin_write(&watch->lock);
	seqlock_copy(&watch->shown, diagnosis, sizeof(*diagnosis));
	seqlock_end_write(&watch->lock);
}

static void look(struct appliance *appliance, struct diagnosis *diagnosis, uint64_t now)
{
	struct diagnosis_watch *watch = appliance->diagnosis;

	facts_take(&watch->facts, appliance, now);
	watch->facts.facts.drain = watch->drain;
	if (watch->drain_since != 0)
		watch->facts.facts.drain.since_ns = now - watch->drain_since + 1;
	diagnose(&watch->facts.facts, diagnosis);
}

void diagnosis_poll(struct appliance *appliance)
{
	struct diagnosis_watch *watch = appliance->diagnosis;
	const uint64_t now = tick_clock_monotonic_ns();
	struct diagnosis diagnosis;

	if (now < watch->next)
		return;
	watch->next = now + LOOK_NS;
	look(appliance, &diagnosis, now);
	hold(appliance, &diagnosis, now);
	publish(watch, &diagnosis);
}

void appliance_diagnosis(const struct appliance *appliance, struct diagnosis *diagnosis)
{
	const struct diagnosis_watch *watch = appliance->diagnosis;
	unsigned begun;

	do {
		begun = seqlock_begin_read(&watch->lock);
		seqlock_copy(diagnosis, &watch->shown, sizeof(*diagnosis));
	} while (seqlock_is_disturbed(&watch->lock, begun));
}

// --- the end of a run ----------------------------------------------------------------------------

void diagnosis_drains(struct appliance *appliance, const char *role, double seconds)
{
	struct diagnosis_watch *watch = appliance->diagnosis;

	if (watch->drain_since == 0)
		watch->drain_since = tick_clock_monotonic_ns();
	watch->drain = (struct diagnosis_drain){
		.role = role,
		.limit_ns = (uint64_t)(seconds * 1e9),
		.writer_limit_ns = UINT64_C(1000000000) * WRITER_SECONDS,
	};
	diagnosis_poll(appliance);
}

// Adds what is bad; a finding that is present already gets the figures of now.
static void add_bad(struct diagnosis *to, const struct diagnosis *from)
{
	for (unsigned i = 0; i < from->n; i++) {
		const struct diagnosis_finding *finding = &from->findings[i];
		const unsigned at = find_finding(to, finding->what);

		if (finding->severity < DIAGNOSIS_BAD || at == DIAGNOSIS_MAX)
			continue;
		to->findings[at] = *finding;
		to->n += at == to->n;
	}
}

void diagnosis_end_run(struct appliance *appliance, bool has_drained)
{
	struct diagnosis_watch *watch = appliance->diagnosis;
	const uint64_t now = tick_clock_monotonic_ns();
	struct diagnosis diagnosis;

	if (!has_drained) {
		look(appliance, &watch->at_end, now);
		return;
	}
	facts_take_all_losses(&watch->facts, appliance);
	watch->facts.facts.drain = (struct diagnosis_drain){ 0 }; // it is over
	diagnose(&watch->facts.facts, &diagnosis);
	watch->final.n = 0;
	add_bad(&watch->final, &watch->at_end);
	add_bad(&watch->final, &diagnosis);
}

const struct diagnosis *appliance_final_diagnosis(const struct appliance *appliance)
{
	return &appliance->diagnosis->final;
}

void diagnosis_begin_run(struct appliance *appliance)
{
	struct diagnosis_watch *watch = appliance->diagnosis;
	static const struct diagnosis none;

	memset(&watch->facts, 0, sizeof(watch->facts));
	watch->next = watch->drain_since = 0;
	watch->n_held = 0;
	publish(watch, &none);
}
