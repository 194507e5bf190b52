// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Samples of readings, and figures of samples.
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(double value, double expected)
{
	if (!(fabs(value - expected) <= 1e-6 * (1 + fabs(expected))))
		fail_msg("%g is not %g", value, expected);
}

static void sample_take__knows_all_groups(void **state)
{
	static const unsigned expected[SAMPLE_N_GROUPS] = { 2, 2, 2, 2, 12, 1, 1,
							    1, 3, 2, 1, 1,  0, 2 };
	struct reading *reading = reading_make(fixture_snapshot(3, true), 1, 1);
	struct sample sample;

	(void)state;
	assert_true(sample_take(&sample, reading));
	reading_unref(reading);
	for (unsigned group = 0; group < SAMPLE_N_GROUPS; group++)
		assert_int_equal(sample.groups[group].n, expected[group]);
	assert_string_equal(sample_text(&sample, "info", "state"), "running");
	assert_string_equal(sample.groups[SAMPLE_LCORES].items[1].note, "builder.b0 builder.b1");
	assert_string_equal(sample.groups[SAMPLE_LINKS].items[0].name, "rx.wire > builder.b0");
	assert_string_equal(sample.groups[SAMPLE_CONSUMERS].items[1].name, "b1/main");
	assert_string_equal(sample.groups[SAMPLE_SOURCES].items[11].name, "12");
	assert_string_equal(sample.groups[SAMPLE_PORTS].items[0].note, "af_packet eth1");
	assert_near(sample_metric(&sample.groups[SAMPLE_PORTS].items[0], "xoff_sent"), 45);
	assert_near(sample_metric(&sample.groups[SAMPLE_PORTS].items[0], "xoff_received"), 6);
	assert_string_equal(sample.groups[SAMPLE_SCHEDULER].items[2].name, "grants");
	assert_string_equal(sample_text(&sample, "sched", "state"), "running");
	assert_string_equal(sample.groups[SAMPLE_CREDITS].items[1].name, "b.b0");
	assert_near(sample_metric(&sample.groups[SAMPLE_ROCE].items[0], "queue_pairs"), 12);
	assert_true(isnan(sample_metric(&sample.groups[SAMPLE_GENERATORS].items[0], "unknown")));
	sample_free(&sample);
}

static void sample_take__survives_anything(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"null",
		"{\"summary\": 7, \"lcore\": {\"a\": 1}, \"source\": [1, null, {}, {\"id\": -5}]}",
		"{\"lcore\": [{\"cpu\": \"x\", \"roles\": [1, {}]}], \"port\": [[]]}",
		("{\"builder\": [{\"group_0\": 5, \"group_1\": {}}],"
		 " \"sched\": [1, [2, [3, [4, [5]]]]]}"),
		"{\"source\": [{\"id\": 1e300, \"segment_drop_x\": \"y\"}], \"info\": []}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct model model = { 0 };
		struct model_node *node = model_node(&model, "n");

		for (unsigned second = 0; second < 3; second++) {
			struct reading *reading =
			    reading_make(cJSON_Parse(texts[i]), second * 1000.0 + 1, 1);

			assert_non_null(reading->snapshot);
			model_sample(node, reading);
			reading_unref(reading);
		}
		assert_true(node->has_before);
		for (unsigned section = 0; section < VIEW_N_SECTIONS; section++) {
			struct view view;

			view_make(&view);
			view.section = section;
			free(fixture_draw(&view, &model, 24, 80, false));
		}
		model_free(&model);
	}
}

static void model__rates(void **state)
{
	struct model model = { 0 };
	struct model_node *node = fixture_node(&model, "n", 1, 3);

	(void)state;
	assert_near(model_seconds(node), 1);
	assert_near(model_rate(node, "events_complete"), 20000);
	assert_near(model_completeness(node), 1);
	assert_near(model_losses(node), 0);
	assert_near(model_sum(node, SAMPLE_BUILDERS, "slots"), 128);
	assert_near(model_slots_used(node), 1 - 100.0 / 128);
	assert_near(model_busiest(node), 0.97);
	assert_near(model_latency(node, 0.25), 98304); // between 64 and 128 binary us
	assert_int_equal(node->n_plots, 2);
	assert_near(node->plots[MODEL_BITS][1], 20000 * 15000.0 * 8);
	fixture_sample(node, 6);
	assert_near(model_seconds(node), 3);
	assert_near(model_completeness(node), 2.0 / 3);
	model_free(&model);
}

static void model__of_one_sample_knows_no_rate(void **state)
{
	struct model model = { 0 };
	struct model_node *node = fixture_node(&model, "n", 3, 3);

	(void)state;
	assert_true(isnan(model_rate(node, "events_complete")));
	assert_true(isnan(model_latency(node, 0.5)));
	assert_true(isnan(model_busiest(node)));
	assert_near(model_value(node, "run_number"), 42);
	assert_int_equal(node->n_plots, 0);
	fixture_sample(node, 3); // the same again
	assert_false(node->has_before);
	model_free(&model);
}

static void model__of_another_run(void **state)
{
	struct model model = { 0 };
	struct model_node *node = fixture_node(&model, "n", 8, 9);
	struct reading *reading = reading_make(fixture_snapshot(2, false), 2e12, 1);

	(void)state;
	model_sample(node, reading);
	reading_unref(reading);
	assert_true(isnan(model_rate(node, "events_complete"))); // and not negative
	assert_int_equal(node->n_plots, 1);
	model_free(&model);
}

static void model__forgets(void **state)
{
	struct model model = { 0 };

	(void)state;
	for (char name[] = "A"; name[0] <= 'Z'; name[0]++)
		fixture_node(&model, name, 1, 2);
	assert_int_equal(model.n_nodes, 26);
	model_forget(&model, 0);
	model_forget(&model, 24);
	assert_int_equal(model.n_nodes, 24);
	assert_string_equal(model.nodes[0]->name, "B");
	assert_string_equal(model.nodes[23]->name, "Y");
	model_free(&model);
}

static void model__history_is_bounded(void **state)
{
	struct model model = { 0 };
	struct model_node *node = fixture_node(&model, "n", 1, MODEL_HISTORY + 10);

	(void)state;
	assert_int_equal(node->n_plots, MODEL_HISTORY);
	assert_near(node->plots[MODEL_EVENTS][MODEL_HISTORY - 1], 20000);
	assert_near(node->plots[MODEL_LOSSES][0], 310 + 20000);
	model_free(&model);
}

static void model__down_and_up(void **state)
{
	struct model model = { 0 };
	struct model_node *node = fixture_node(&model, "n", 1, 2);

	(void)state;
	model_down(node, SAMPLER_DIED, "gone", "10:00:00");
	model_down(node, SAMPLER_DIED, "still gone", "10:00:01");
	assert_false(node->up);
	assert_string_equal(node->down_since, "10:00:00");
	assert_string_equal(node->error, "still gone");
	fixture_sample(node, 3);
	assert_true(node->up);
	model_free(&model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_take__knows_all_groups),
		cmocka_unit_test(sample_take__survives_anything),
		cmocka_unit_test(model__rates),
		cmocka_unit_test(model__of_one_sample_knows_no_rate),
		cmocka_unit_test(model__of_another_run),
		cmocka_unit_test(model__forgets),
		cmocka_unit_test(model__history_is_bounded),
		cmocka_unit_test(model__down_and_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
