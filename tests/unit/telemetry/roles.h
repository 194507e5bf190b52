// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An appliance without DPDK for the tests of the account: two rx roles, two builders, a synthetic
// and a pcap generator, a writer, and two ports, all of which are nothing but counters. roles.c
// has the functions of the roles' headers that read them.
#pragma once

#include "appliance/appliance.h"
#include "builder/assembly.h"
#include "node/readout_role.h"
#include "rdma/roce_source_role.h"
#include "record/results_role.h"
#include "record/results_sender_role.h"
#include "record/writer_role.h"
#include "rx/rx_role.h"
#include "store/port_store.h"
#include "tx/pcap_role.h"
#include "tx/source_role.h"

#define TEST_SOURCES 3
#define TEST_ROLES   7

enum test_role { RX_0, RX_1, BUILDER_0, BUILDER_1, SYNTHETIC, PCAP, WRITER };

struct test_counters {
	struct role role;
	struct rx_counters rx;
	struct rx_source_counters rx_sources[TEST_SOURCES];
	struct assembly_counters assembly;
	struct assembly_source_counters assembly_sources[TEST_SOURCES];
	struct assembly_latency latency;
	uint32_t open, free;
	struct source_counters source;
	bool is_roce; // a generator that sends by RoCE
	struct roce_sender_counters roce;
	struct readout_counters readout;
	struct pcap_counters pcap;
	struct sender_counters sender;
	struct writer_counters writer;
	struct decision_order_counters ordered;
	struct decision_stream_counters results;
	struct results_sender_counters results_sent;
};

struct test_appliance {
	struct appliance appliance;
	struct plan plan;
	struct config config;
	struct test_counters counters[TEST_ROLES];
};

// The store of boards, where appliance.stores has its address.
extern struct test_boards {
	struct block_store store;
	struct block_assembly_counters counters;
	struct block_assembly_source_counters sources[TEST_SOURCES];
} test_boards;

// What the ports tell, by DPDK's number.
extern uint64_t test_port_missed[2];

// All counters 0. To be freed with test_appliance_free().
struct test_appliance *test_appliance_make(void);
void test_appliance_free(struct test_appliance *test);
