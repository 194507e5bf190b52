// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/queue_pair.h"

const char *qp_drop_name(unsigned drop)
{
	static const char *const names[QP_N_DROPS] = {
		[QP_DROP_STATE] = "state",
		[QP_DROP_SERVICE] = "service",
		[QP_DROP_PEER] = "peer",
		[QP_DROP_P_KEY] = "p_key",
		[QP_DROP_Q_KEY] = "q_key",
		[QP_DROP_AHEAD] = "ahead",
		[QP_DROP_DUPLICATE] = "duplicate",
		[QP_DROP_STALE_READ] = "stale_read",
		[QP_DROP_GAP] = "gap",
		[QP_DROP_SEQUENCE] = "sequence",
		[QP_DROP_LENGTH] = "length",
		[QP_DROP_ACCESS] = "access",
		[QP_DROP_UNSUPPORTED] = "unsupported",
		[QP_DROP_NO_RESOURCE] = "no_resource",
		[QP_DROP_REFUSED] = "refused",
		[QP_DROP_GHOST] = "ghost",
		[QP_DROP_RESPONSE] = "response",
	};

	return drop < QP_N_DROPS ? names[drop] : "unknown";
}

const char *qp_cause_name(enum qp_cause cause)
{
	static const char *const names[QP_N_CAUSES] = {
		[QP_NO_CAUSE] = "none",
		[QP_SENT_INVALID] = "sent_invalid",
		[QP_SENT_ACCESS] = "sent_access",
		[QP_SENT_OPERATIONAL] = "sent_operational",
		[QP_RECEIVED_INVALID] = "received_invalid",
		[QP_RECEIVED_ACCESS] = "received_access",
		[QP_RECEIVED_OPERATIONAL] = "received_operational",
		[QP_RETRIES_EXCEEDED] = "retries_exceeded",
		[QP_RNR_EXCEEDED] = "rnr_exceeded",
		[QP_CLOSED] = "closed",
	};

	return (unsigned)cause < QP_N_CAUSES ? names[cause] : "unknown";
}
