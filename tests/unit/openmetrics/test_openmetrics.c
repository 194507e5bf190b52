// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "openmetrics/openmetrics.h"

static char *write_all(enum openmetrics_format format, const struct openmetrics_node *nodes,
		       unsigned n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	openmetrics_write(out, format, nodes, n);
	assert_int_equal(fclose(out), 0);
	return text;
}

static char *write_one(enum openmetrics_format format, const char *json)
{
	cJSON *snapshot = cJSON_Parse(json);
	struct openmetrics_node node = { .name = "demo", .snapshot = snapshot };
	char *text;

	assert_non_null(snapshot);
	text = write_all(format, &node, 1);
	cJSON_Delete(snapshot);
	return text;
}

static void assert_has(const char *text, const char *lines)
{
	if (text == NULL || strstr(text, lines) == NULL)
		fail_msg("%s\nlacks\n%s", text != NULL ? text : "nothing", lines);
}

static void assert_lacks(const char *text, const char *part)
{
	if (text == NULL || strstr(text, part) != NULL)
		fail_msg("%s in\n%s", part, text != NULL ? text : "nothing");
}

static void write__of_nobody(void **state)
{
	char *text = write_all(OPENMETRICS_1_0, NULL, 0);

	(void)state;
	assert_string_equal(text, "# EOF\n");
	free(text);
	text = write_all(OPENMETRICS_TEXT_0_0_4, NULL, 0);
	assert_string_equal(text, "");
	free(text);
}

static void write__of_one_that_does_not_answer(void **state)
{
	struct openmetrics_node node = { .name = "gone", .ended = true };
	char *text = write_all(OPENMETRICS_1_0, &node, 1);

	(void)state;
	assert_string_equal(text, "# TYPE evb_up gauge\n"
				  "# HELP evb_up 1 if the appliance answers, else 0\n"
				  "evb_up{node=\"gone\"} 0\n"
				  "# TYPE evb_ended gauge\n"
				  "# HELP evb_ended 1: the appliance has ended in order\n"
				  "evb_ended{node=\"gone\"} 1\n"
				  "# EOF\n");
	free(text);
}

static void counters__have_total_in_their_samples(void **state)
{
	static const char json[] = "{\"summary\":{\"loss_total\":7,\"bytes_built\":12}}";
	char *text = write_one(OPENMETRICS_1_0, json);

	(void)state;
	assert_has(text, "# TYPE evb_loss counter\n"
			 "# HELP evb_loss packets and segments dropped, of all causes\n"
			 "evb_loss_total{node=\"demo\"} 7\n");
	assert_has(text, "# TYPE evb_built_bytes counter\n# UNIT evb_built_bytes bytes\n");
	assert_has(text, "\nevb_built_bytes_total{node=\"demo\"} 12\n");
	free(text);
	text = write_one(OPENMETRICS_TEXT_0_0_4, json);
	assert_has(text, "# TYPE evb_loss_total counter\n"
			 "# HELP evb_loss_total packets and segments dropped, of all causes\n"
			 "evb_loss_total{node=\"demo\"} 7\n");
	assert_lacks(text, "# UNIT");
	assert_lacks(text, "# EOF");
	free(text);
}

static void texts__are_labels_of_an_info(void **state)
{
	static const char json[] = "{\"lcore\":[{\"lcore\":2,\"cpu\":5,\"roles\":[\"rx.a\","
				   "\"builder.b\"],\"running\":1}]}";
	static const char sample[] =
	    "evb_lcore_info{node=\"demo\",lcore=\"2\",cpu=\"5\",roles=\"rx.a,builder.b\"} 1\n";
	char *text = write_one(OPENMETRICS_1_0, json);

	(void)state;
	assert_has(text, "# TYPE evb_lcore info\n");
	assert_has(text, sample);
	assert_has(text, "\nevb_lcore_running{node=\"demo\",lcore=\"2\"} 1\n");
	free(text);
	text = write_one(OPENMETRICS_TEXT_0_0_4, json);
	assert_has(text, "# TYPE evb_lcore_info gauge\n");
	assert_has(text, sample);
	free(text);
}

static void build__is_an_info_of_its_own(void **state)
{
	char *text =
	    write_one(OPENMETRICS_1_0, "{\"build\":{\"version\":\"1.2.3\",\"commit\":\"abc\","
				       "\"dpdk\":\"22.11.4\",\"xdp\":\"yes\"}}");

	(void)state;
	assert_has(text, "# TYPE evb_build info\n");
	assert_has(text, "evb_build_info{node=\"demo\",version=\"1.2.3\",commit=\"abc\","
			 "dpdk=\"22.11.4\",xdp=\"yes\"} 1\n");
	free(text);
}

static void states__are_a_set(void **state)
{
	static const char json[] = "{\"info\":{\"name\":\"demo\",\"state\":\"draining\"}}";
	char *text = write_one(OPENMETRICS_1_0, json);

	(void)state;
	assert_has(text, "# TYPE evb_state stateset\n");
	assert_has(text, "evb_state{node=\"demo\",evb_state=\"starting\"} 0\n"
			 "evb_state{node=\"demo\",evb_state=\"running\"} 0\n"
			 "evb_state{node=\"demo\",evb_state=\"draining\"} 1\n"
			 "evb_state{node=\"demo\",evb_state=\"stopped\"} 0\n");
	assert_lacks(text, "evb_info{node=\"demo\",name=");
	free(text);
	text = write_one(OPENMETRICS_TEXT_0_0_4, json);
	assert_has(text, "# TYPE evb_state gauge\n");
	free(text);
}

static void links__name_their_ends(void **state)
{
	char *text =
	    write_one(OPENMETRICS_1_0,
		      "{\"link\":[{\"id\":0,\"producer\":\"rx.w\",\"consumer\":\"builder.b0\","
		      "\"full\":4},{\"id\":1,\"producer\":\"rx.w\","
		      "\"consumer\":\"builder.b1\",\"full\":0}]}");

	(void)state;
	assert_has(text, "evb_link_full_total{node=\"demo\",link=\"0\",producer=\"rx.w\","
			 "consumer=\"builder.b0\"} 4\n"
			 "evb_link_full_total{node=\"demo\",link=\"1\",producer=\"rx.w\","
			 "consumer=\"builder.b1\"} 0\n");
	free(text);
}

static void causes__are_a_label(void **state)
{
	char *text =
	    write_one(OPENMETRICS_1_0, "{\"source\":[{\"id\":7,\"segment_drop_late\":2,"
				       "\"segment_drop_duplicate\":3,\"segment_drop_new\":9}]}");

	(void)state;
	assert_has(text, "# TYPE evb_source_segment_drop counter\n");
	assert_has(text, "evb_source_segment_drop_total{node=\"demo\",source=\"7\","
			 "cause=\"late\"} 2\n"
			 "evb_source_segment_drop_total{node=\"demo\",source=\"7\","
			 "cause=\"duplicate\"} 3\n");
	assert_lacks(text, "new"); // what no table has
	free(text);
}

static void histograms__have_bounds_in_seconds(void **state)
{
	char *text = write_one(
	    OPENMETRICS_1_0,
	    "{\"builder\":[{\"name\":\"b0\",\"latency_complete_ns\":{\"le_512\":1,\"le_1024\":2,"
	    "\"le_68719476736\":5,\"inf\":6,\"count\":6,\"sum\":1500000000,\"max\":2000000}}]}");

	(void)state;
	assert_has(text, "# TYPE evb_builder_latency_complete_seconds histogram\n"
			 "# UNIT evb_builder_latency_complete_seconds seconds\n");
	assert_has(text,
		   "evb_builder_latency_complete_seconds_bucket{node=\"demo\",builder=\"b0\","
		   "le=\"1.024e-06\"} 2\n"
		   "evb_builder_latency_complete_seconds_bucket{node=\"demo\",builder=\"b0\","
		   "le=\"68.719476736\"} 5\n"
		   "evb_builder_latency_complete_seconds_bucket{node=\"demo\",builder=\"b0\","
		   "le=\"+Inf\"} 6\n"
		   "evb_builder_latency_complete_seconds_count{node=\"demo\",builder=\"b0\"} 6\n"
		   "evb_builder_latency_complete_seconds_sum{node=\"demo\",builder=\"b0\"} "
		   "1.5\n");
	assert_has(text, "evb_builder_latency_complete_max_seconds{node=\"demo\",builder=\"b0\"} "
			 "0.002\n");
	free(text);
}

static void nested__have_a_label_more(void **state)
{
	char *text = write_one(OPENMETRICS_1_0,
			       "{\"builder\":[{\"name\":\"b0\",\"group_0\":{\"name\":\"disk\","
			       "\"lag\":3},\"group_5\":{\"name\":\"spy\",\"lag\":0}}]}");

	(void)state;
	assert_has(text, "# TYPE evb_builder_group_lag gauge\n");
	assert_has(text, "evb_builder_group_lag{node=\"demo\",builder=\"b0\",group=\"disk\"} 3\n"
			 "evb_builder_group_lag{node=\"demo\",builder=\"b0\",group=\"spy\"} 0\n");
	free(text);
}

// What a node counts of the control protocol was shown nowhere.
static void control__counts_by_peer(void **state)
{
	char *text = write_one(OPENMETRICS_1_0,
			       "{\"control\":[{\"name\":\"a\",\"self\":1,\"arp_requests\":2,"
			       "\"malformed_checksum\":3},{\"name\":\"b\",\"self\":0,"
			       "\"retransmissions\":5,\"fenced\":6,\"bad_checksum\":7}]}");

	(void)state;
	assert_has(text, "evb_control_arp_requests_total{node=\"demo\",control=\"a\"} 2\n");
	assert_has(text, "evb_control_malformed_total{node=\"demo\",control=\"a\","
			 "cause=\"checksum\"} 3\n");
	assert_has(text, "evb_control_retransmissions_total{node=\"demo\",control=\"b\"} 5\n");
	assert_has(text, "evb_control_fenced_total{node=\"demo\",control=\"b\"} 6\n");
	assert_has(text, "evb_control_bad_checksum_total{node=\"demo\",control=\"b\"} 7\n");
	free(text);
}

static void units__are_base_units(void **state)
{
	char *text =
	    write_one(OPENMETRICS_1_0, "{\"port\":[{\"name\":\"wire\",\"profile\":\"ring\","
				       "\"link_megabits\":100000}]}");

	(void)state;
	assert_has(text,
		   "evb_port_link_bytes_per_second{node=\"demo\",port=\"wire\"} 12500000000\n");
	free(text);
}

static void labels__are_escaped(void **state)
{
	char *text =
	    write_one(OPENMETRICS_1_0, "{\"info\":{\"name\":\"demo\",\"state\":\"running\","
				       "\"configuration\":\"a\\\"b\\\\c\\n\xc3\xa4\xff.json\"}}");

	(void)state;
	assert_has(text, "configuration=\"a\\\"b\\\\c\\n\xc3\xa4?.json\"");
	free(text);
}

// The lines of one family stay together, whatever the node.
static void families__go_over_all_nodes(void **state)
{
	cJSON *a = cJSON_Parse("{\"summary\":{\"loss_total\":1,\"slots_free\":5}}");
	cJSON *b = cJSON_Parse("{\"summary\":{\"loss_total\":2,\"slots_free\":6}}");
	struct openmetrics_node nodes[] = { { .name = "a", .snapshot = a },
					    { .name = "gone" },
					    { .name = "b", .snapshot = b } };
	char *text = write_all(OPENMETRICS_1_0, nodes, 3);

	(void)state;
	assert_has(text, "evb_up{node=\"a\"} 1\nevb_up{node=\"gone\"} 0\nevb_up{node=\"b\"} 1\n");
	assert_has(text, "evb_loss_total{node=\"a\"} 1\nevb_loss_total{node=\"b\"} 2\n");
	assert_has(text, "evb_slots_free{node=\"a\"} 5\nevb_slots_free{node=\"b\"} 6\n# EOF\n");
	free(text);
	cJSON_Delete(a);
	cJSON_Delete(b);
}

// What is not of the kind that the tables say is left out.
static void values__of_another_kind_are_left_out(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"{\"summary\":[],\"info\":7,\"role\":{},\"link\":[1,{}]}",
		"{\"summary\":{\"loss_total\":\"x\",\"slots_free\":null},\"info\":{\"state\":1}}",
		("{\"builder\":[{\"name\":{},\"latency_complete_ns\":5,\"group_0\":[],"
		 "\"group_1\":{}}]}"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *text = write_one(OPENMETRICS_1_0, texts[i]);

		assert_has(text, "# EOF\n");
		assert_lacks(text, "evb_loss");
		assert_lacks(text, "evb_slots");
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write__of_nobody),
		cmocka_unit_test(write__of_one_that_does_not_answer),
		cmocka_unit_test(counters__have_total_in_their_samples),
		cmocka_unit_test(texts__are_labels_of_an_info),
		cmocka_unit_test(build__is_an_info_of_its_own),
		cmocka_unit_test(states__are_a_set),
		cmocka_unit_test(links__name_their_ends),
		cmocka_unit_test(causes__are_a_label),
		cmocka_unit_test(histograms__have_bounds_in_seconds),
		cmocka_unit_test(nested__have_a_label_more),
		cmocka_unit_test(control__counts_by_peer),
		cmocka_unit_test(units__are_base_units),
		cmocka_unit_test(labels__are_escaped),
		cmocka_unit_test(families__go_over_all_nodes),
		cmocka_unit_test(values__of_another_kind_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
