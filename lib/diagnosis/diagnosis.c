// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "diagnosis/diagnosis.h"

#include <stddef.h>

#include "diagnosis/rules.h"

void diagnose(const struct diagnosis_facts *facts, struct diagnosis *diagnosis)
{
	diagnosis->n = 0;
	for (const struct rule *rule = rules; rule->name != NULL; rule++) {
		struct findings to = { rule, diagnosis };

		rule->look(facts, &to);
	}
}

const char *diagnosis_sentence(const struct diagnosis *diagnosis)
{
	return diagnosis->n > 0 ? diagnosis->findings[0].sentence : DIAGNOSIS_WELL;
}
