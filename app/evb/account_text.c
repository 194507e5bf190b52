// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "account_text.h"

#include <math.h>

#include "appliance/diagnosis_watch.h"
#include "top/numbers.h"

static void write_segment_drops(FILE *to, const struct account *a)
{
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		if (a->segment_drops[i] > 0)
			fprintf(to, ", %s %llu", segment_cause_name(i),
				(unsigned long long)a->segment_drops[i]);
}

static void write_packet_drops(FILE *to, const struct account *a)
{
	for (unsigned i = 0; i < PACKET_N_CAUSES; i++)
		if (a->rx.packet_drops[i] > 0)
			fprintf(to, ", %s %llu", packet_cause_name(i),
				(unsigned long long)a->rx.packet_drops[i]);
}

void account_write_drops(FILE *to, const struct account *a)
{
	write_segment_drops(to, a);
	write_packet_drops(to, a);
}

void account_print_rate(FILE *to, const char *prefix, double value, const char *unit)
{
	static const char *const scales[] = { "", "k", "M", "G", "T" };
	unsigned scale = 0;

	while (value >= 999.5 && scale + 1 < sizeof(scales) / sizeof(scales[0])) {
		value /= 1000;
		scale++;
	}
	fprintf(to, "%s%.3g %s%s", prefix, value, scales[scale], unit);
}

static uint64_t sum_of(const uint64_t *drops, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += drops[i];
	return sum;
}

// The line exists where packets are not accounted for by the segments alone.
static void print_packets(const struct appliance *appliance, const struct account *a)
{
	const uint64_t dropped = sum_of(a->rx.packet_drops, PACKET_N_CAUSES);
	const uint64_t with_segments = a->rx.segments - a->rx.bundled;
	const uint64_t others = a->rx.packets - with_segments - dropped;

	if (dropped == 0 && !appliance->input_is_mixed)
		return;
	printf("packets  %llu received, %llu with segments, %llu other%s, %llu dropped",
	       (unsigned long long)a->rx.packets, (unsigned long long)with_segments,
	       (unsigned long long)others, others == 1 ? "" : "s", (unsigned long long)dropped);
	write_packet_drops(stdout, a);
	printf("\n");
}

// Nanoseconds, in the unit that suits them.
static void print_time(const char *prefix, uint64_t ns)
{
	char text[NUMBERS_SIZE];

	numbers_time((double)ns, text);
	printf("%s %s", prefix, text);
}

static void print_quantiles(const struct histogram *times)
{
	print_time("p50", histogram_quantile(times, 0.5));
	print_time(", p99", histogram_quantile(times, 0.99));
}

static void print_built(const struct appliance *appliance, const struct account *a)
{
	const double seconds = a->seconds > 0 ? a->seconds : INFINITY;

	printf("events   %llu complete, %llu incomplete, %llu discarded",
	       (unsigned long long)a->built.events_complete,
	       (unsigned long long)a->built.events_incomplete,
	       (unsigned long long)a->built.events_discarded);
	account_print_rate(stdout, "; ", (double)a->built.events_complete / seconds, "events/s");
	account_print_rate(stdout, ", ", (double)a->built.bytes_built * 8 / seconds, "b/s built\n");
	print_packets(appliance, a);
	printf("segments %llu received, %llu placed, %llu dropped",
	       (unsigned long long)a->segments_received, (unsigned long long)a->built.placed,
	       (unsigned long long)sum_of(a->segment_drops, SEGMENT_N_CAUSES));
	write_segment_drops(stdout, a);
	printf("; the ports missed %llu\n", (unsigned long long)a->missed);
	printf("latency  first segment to complete: ");
	print_quantiles(&a->latency.complete);
	print_time(", p99.9", histogram_quantile(&a->latency.complete, 0.999));
	print_time(", max", a->latency.complete.maximum);
	printf("\n");
}

// A generator that sends a capture does not count events.
static void print_sent(const struct account *a)
{
	printf("sent     ");
	if (a->sent_events > 0)
		printf("%llu events, ", (unsigned long long)a->sent_events);
	printf("%llu packets, %llu bytes", (unsigned long long)a->sent.packets,
	       (unsigned long long)a->sent.bytes);
	if (a->unacknowledged > 0)
		printf("; %llu messages were not acknowledged",
		       (unsigned long long)a->unacknowledged);
	printf("\n");
}

static void print_written(const struct account *a)
{
	printf("         %llu events, %llu bytes, %llu file%s",
	       (unsigned long long)a->written.events, (unsigned long long)a->written.bytes,
	       (unsigned long long)a->written.files, a->written.files == 1 ? "" : "s");
	if (a->written.refused > 0)
		printf("; %llu events have no form in the files' format",
		       (unsigned long long)a->written.refused);
	if (a->written.failures > 0)
		printf("; %llu files could not be finished",
		       (unsigned long long)a->written.failures);
	if (a->written.lost > 0)
		printf("; %llu events LOST: their sync failed",
		       (unsigned long long)a->written.lost);
	printf("\n");
}

static void print_decisions(const struct appliance *appliance)
{
	static struct account_decisions d; // large

	for (unsigned i = 0; account_take_decisions(appliance, i, &d); i++) {
		printf("decided  by %s: %llu accepted, %llu rejected, %llu undecided of %llu; ",
		       d.group->name, (unsigned long long)d.accepted,
		       (unsigned long long)d.rejected, (unsigned long long)d.undecided,
		       (unsigned long long)d.published);
		print_quantiles(&d.time);
		printf("\n");
	}
}

static void print_results(const struct appliance *appliance, const struct account *a)
{
	const struct plan *plan = appliance->plan;

	const struct config *config = appliance->config;
	unsigned n = 0;

	for (unsigned i = 0; i < plan->n_roles; i++) {
		const struct config_results *results = &config->results[plan->roles[i].object];

		if (plan->roles[i].kind == CONFIG_ROLE_RESULTS) {
			printf("results  %s\n", results_role_path(appliance->roles[i]));
			n++;
		} else if (plan->roles[i].kind == CONFIG_ROLE_RESULTS_SENDER) {
			const struct cluster_system *system = &config->cluster;
			const unsigned to = system->results[results->system - 1].node;

			printf("results  %s: sent to node %s\n", results->name,
			       system->nodes[to].name);
		}
	}
	if (a->results_sent.lost > 0)
		printf("         %llu of %llu decisions LOST: that node did not write them\n",
		       (unsigned long long)a->results_sent.lost,
		       (unsigned long long)a->results_sent.passed_on);
	if (n == 0)
		return;
	printf("         %llu decisions in order; %llu not decided in time, %llu decided too "
	       "late\n",
	       (unsigned long long)a->results.records, (unsigned long long)a->ordered.timed_out,
	       (unsigned long long)a->ordered.late);
	if (a->results.lost > 0)
		printf("         %llu decisions LOST: they could not be written or sent\n",
		       (unsigned long long)a->results.lost);
}

static void print_diagnosis(const struct diagnosis *diagnosis)
{
	for (unsigned i = 0; i < diagnosis->n; i++)
		printf("problem  %s\n         %s\n", diagnosis->findings[i].sentence,
		       diagnosis->findings[i].remedy);
}

void account_print(const struct appliance *appliance, const struct account *a)
{
	printf("\nappliance %s, run %u: %.2f s\n", appliance->config->name, appliance->run,
	       a->seconds);
	print_diagnosis(appliance_final_diagnosis(appliance));
	if (appliance->config->n_generators > 0)
		print_sent(a);
	if (appliance->config->n_builders > 0)
		print_built(appliance, a);
	print_decisions(appliance);
	for (unsigned i = 0; i < appliance->config->n_writers; i++)
		printf("written  %s in %s\n", appliance->config->writers[i].name,
		       appliance->config->writers[i].directory);
	if (appliance->config->n_writers > 0)
		print_written(a);
	if (appliance->config->n_results > 0)
		print_results(appliance, a);
}
