// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/capture.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error_line.h"

#define NS_PER_S 1000000000u

struct capture {
	pcap_t *pcap;
	char problem[SOURCE_ERROR_SIZE];
};

int capture_open(struct capture **capture, const char *path, char *error)
{
	char reason[PCAP_ERRBUF_SIZE] = "";
	struct capture *opened = calloc(1, sizeof(*opened));
	int link_type;

	if (!opened)
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	opened->pcap =
	    pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, reason);
	if (!opened->pcap) {
		// some of libpcap's reasons begin with the path, some do not
		snprintf(error, SOURCE_ERROR_SIZE, "capture %s: %s", path, reason);
		free(opened);
		return -1;
	}
	link_type = pcap_datalink(opened->pcap);
	if (link_type != DLT_EN10MB) {
		const char *name = pcap_datalink_val_to_name(link_type);

		snprintf(error, SOURCE_ERROR_SIZE,
			 "capture %s: its link type is %s, only Ethernet (EN10MB) can be read",
			 path, name ? name : "unknown");
		capture_close(opened);
		return -1;
	}
	*capture = opened;
	return 0;
}

bool capture_next(struct capture *capture, struct capture_packet *packet)
{
	struct pcap_pkthdr *header;
	const uint8_t *bytes;
	int result = pcap_next_ex(capture->pcap, &header, &bytes);

	if (result == 1) {
		*packet = (struct capture_packet){
			.bytes = bytes,
			.captured = header->caplen,
			.length = header->len > header->caplen ? header->len : header->caplen,
			// in nanoseconds by the precision asked for
			.time_ns =
			    (uint64_t)header->ts.tv_sec * NS_PER_S + (uint64_t)header->ts.tv_usec,
		};
		return true;
	}
	if (result != PCAP_ERROR_BREAK)
		snprintf(capture->problem, sizeof(capture->problem), "%s",
			 pcap_geterr(capture->pcap));
	return false;
}

const char *capture_problem(const struct capture *capture)
{
	return capture->problem[0] ? capture->problem : NULL;
}

void capture_close(struct capture *capture)
{
	if (!capture)
		return;
	pcap_close(capture->pcap);
	free(capture);
}
