// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is wrong with the appliance (diagnosis/diagnosis.h).
#include "telemetry/group.h"

#include "appliance/diagnosis_watch.h"
#include "dpdk/release.h"

#define NS_PER_SECOND UINT64_C(1000000000)

struct finding_view {
	struct diagnosis_finding finding;
	uint64_t held_seconds;
};

static const struct metric finding_metrics[] = {
	TEXT("what", finding_view, finding.what,
	     "the sentence without times and rates: the same for as long as the finding holds"),
	LABEL("rule", finding_view, finding.rule, "rule that found it"),
	LABEL("subject", finding_view, finding.subject, "the culprit"),
	LABEL("holds_back", finding_view, finding.holds_back,
	      "role that cannot go on because of it, or empty"),
	LABEL("remedy", finding_view, finding.remedy, "how to correct it"),
	AGAIN(TEXT, "sentence", finding_view, finding.sentence,
	      "what is wrong, as all views show it"),
	GAUGE("severity", finding_view, finding.severity,
	      "2 if data is lost or the run stands still, 1 if it is worth a look"),
	GAUGE("held_seconds", finding_view, held_seconds, "time for which it has held"),
	{ 0 },
};

static void view_finding(const struct appliance *appliance, unsigned index, telemetry_bases bases)
{
	static _Thread_local struct finding_view view;
	struct diagnosis diagnosis;

	appliance_diagnosis(appliance, &diagnosis);
	if (index >= diagnosis.n)
		return;
	view.finding = diagnosis.findings[index];
	view.held_seconds = view.finding.held_ns / NS_PER_SECOND;
	bases[0] = &view;
}

static bool may_come(const struct appliance *appliance)
{
	(void)appliance;
	return true;
}

const struct telemetry_group telemetry_diagnosis = {
	.name = "diagnosis",
	.things = "findings",
	.help = "What is wrong, and how to correct it",
	.note = "Causes come before their consequences: the first finding is the diagnosis.",
	.tables = { finding_metrics },
	.comes_and_goes = may_come,
	.view = view_finding,
};

void telemetry_answer_diagnosis(const struct appliance *appliance, const char *parameters,
				struct rte_tel_data *data)
{
	struct diagnosis diagnosis;

	(void)parameters;
	appliance_diagnosis(appliance, &diagnosis);
	rte_tel_data_start_dict(data);
	rte_tel_data_add_dict_string(data, "sentence", diagnosis_sentence(&diagnosis));
	rte_tel_data_add_dict_string(data, "remedy",
				     diagnosis.n > 0 ? diagnosis.findings[0].remedy : "");
	(void)dpdk_add_uint(data, "severity", diagnosis.n > 0 ? diagnosis.findings[0].severity : 0);
	(void)dpdk_add_uint(data, "findings", diagnosis.n);
}
