// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/flow_control.h"

#include <stdarg.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "port/port.h"

#define FRAME_ROOM   64u  // bytes in the mbufs of frames
#define FRAMES_MORE  63u  // mbufs in addition to those that the tx queue may hold
#define QUEUE_UNTOLD 512u // assumed descriptors of a tx queue whose driver does not report them
#define BITS_PER_MEG 1000000ull

// Thresholds in the unit of the NIC's data sheet, which is usually KiB of its receive buffer.
#define HW_HIGH_WATER 128u
#define HW_LOW_WATER  64u

static const char *const mode_names[FLOW_CONTROL_N_MODES] = {
	[FLOW_CONTROL_AUTO] = "auto", [FLOW_CONTROL_OFF] = "off",
	[FLOW_CONTROL_HW] = "hw",     [FLOW_CONTROL_EXTERNAL] = "external",
	[FLOW_CONTROL_SOFT] = "soft",
};

// Drivers whose NICs do not send pause frames that software built. DPDK does not report this.
static const struct {
	const char *driver, *remark;
} remarks[] = {
	{ "net_af_xdp", "most NICs keep the pause frames that they receive" },
	{ "net_i40e", "the NIC drops pause frames that software sends" },
	{ "net_i40e_vf", "a virtual function may not send pause frames" },
	{ "net_iavf", "a virtual function may not send pause frames" },
	{ "net_ice", "the NIC drops pause frames that software sends" },
	{ "net_ixgbe_vf", "a virtual function may not send pause frames" },
	{ "net_mlx5", "the NIC keeps the pause frames that it receives" },
};

const char *flow_control_mode_name(enum flow_control_mode mode)
{
	return (unsigned)mode < FLOW_CONTROL_N_MODES ? mode_names[mode] : "unknown";
}

// A line of text, which is cut if it does not fit.
struct line {
	char *text;
	size_t used;
};

static void say(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct line *line, const char *format, ...)
{
	size_t room = FLOW_CONTROL_TEXT_SIZE - line->used;
	va_list list;
	int n;

	va_start(list, format);
	n = vsnprintf(line->text + line->used, room, format, list);
	va_end(list);
	if (n > 0)
		line->used += RTE_MIN((size_t)n, room - 1);
}

// Bits/s, 0 if the port does not report it.
static uint64_t ask_rate(const struct flow_control *fc)
{
	struct rte_eth_link link = { 0 };

	if (fc->parameters.pause.bits_per_second != 0)
		return fc->parameters.pause.bits_per_second;
	if (rte_eth_link_get_nowait(fc->parameters.port_id, &link) != 0 ||
	    link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		return 0;
	return link.link_speed * BITS_PER_MEG;
}

static void use_rate(struct flow_control *fc)
{
	uint64_t rate = ask_rate(fc);

	if (rate == atomic_load_explicit(&fc->bits_per_second, memory_order_relaxed))
		return;
	atomic_store_explicit(&fc->bits_per_second, rate, memory_order_relaxed);
	pause_state_set_rate(&fc->state, rate);
}

static const char *driver_name(const struct flow_control *fc)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(fc->parameters.port_id, &info) == 0 && info.driver_name != NULL
		   ? info.driver_name
		   : "?";
}

// If the NIC refuses, closing the port resets it.
static void hw_off(const struct flow_control_parameters *parameters)
{
	struct rte_eth_pfc_conf off = {
		.fc.mode = RTE_ETH_FC_NONE,
		.priority = parameters->pause.priority,
	};

	(void)rte_eth_dev_priority_flow_ctrl_set(parameters->port_id, &off);
}

// Returns 0 or a negative errno; -ENOTSUP or -ENOSYS if the driver does not support it.
static int hw_on(const struct flow_control_parameters *parameters)
{
	struct rte_eth_pfc_conf on = {
		.fc = {
			.high_water = HW_HIGH_WATER,
			.low_water = HW_LOW_WATER,
			.pause_time = parameters->pause.quanta,
			.send_xon = 1,
			.mode = RTE_ETH_FC_FULL,
		},
		.priority = parameters->pause.priority,
	};

	return rte_eth_dev_priority_flow_ctrl_set(parameters->port_id, &on);
}

// Makes the NIC pass received pause frames on to software and send none itself. False if its driver
// does not support this.
static bool hw_forward(uint16_t port_id)
{
	struct rte_eth_fc_conf forward;

	if (rte_eth_dev_flow_ctrl_get(port_id, &forward) != 0)
		return false;
	forward.mode = RTE_ETH_FC_NONE;
	forward.mac_ctrl_frame_fwd = 1;
	return rte_eth_dev_flow_ctrl_set(port_id, &forward) == 0;
}

// The number of mbufs of the pool of frames: a tx queue may hold as many as it has descriptors.
static uint32_t frames_needed(const struct flow_control_parameters *p)
{
	struct rte_eth_txq_info info;
	uint32_t queue = QUEUE_UNTOLD;

	if (rte_eth_tx_queue_info_get(p->port_id, (uint16_t)p->tx_queue, &info) == 0 &&
	    info.nb_desc != 0)
		queue = info.nb_desc;
	return queue + FRAMES_MORE;
}

static int use_soft(struct flow_control *fc, struct line *report, struct line *error)
{
	const struct flow_control_parameters *p = &fc->parameters;
	const char *driver = driver_name(fc);
	char name[RTE_MEMPOOL_NAMESIZE];

	fc->mode = FLOW_CONTROL_SOFT;
	say(report, "; evb builds and obeys PFC frames");
	if (hw_forward(p->port_id))
		say(report, ", which the NIC passes on");
	for (unsigned i = 0; i < RTE_DIM(remarks); i++)
		if (strcmp(driver, remarks[i].driver) == 0)
			say(report, "; %s", remarks[i].remark);
	if (p->tx_queue < 0) {
		say(report, "; it sends none: the lcore that receives has no tx queue");
		return 0;
	}
	snprintf(name, sizeof(name), "pfc%u", p->port_id);
	fc->pool = port_pool_create(name, frames_needed(p), 0, FRAME_ROOM, p->numa_node);
	if (fc->pool != NULL)
		return 0;
	say(error, "no memory for %u pause frames", frames_needed(p));
	return -1;
}

static bool use_hw(struct flow_control *fc, struct line *report)
{
	int result = hw_on(&fc->parameters);

	if (result != 0) {
		say(report, "PFC by the NIC cannot be had of driver %s (%s)", driver_name(fc),
		    rte_strerror(-result));
		return false;
	}
	fc->mode = FLOW_CONTROL_HW;
	say(report, "driver %s has the NIC do PFC", driver_name(fc));
	pause_device_open(&fc->device, fc->parameters.port_id);
	return true;
}

// Whether PFC is switched on in the kernel for the configured priority.
static bool is_external(const struct flow_control *fc)
{
	return fc->device.kernel_knows &&
	       (fc->device.kernel_priorities >> fc->parameters.pause.priority & 1) != 0;
}

static void say_kernel(const struct flow_control *fc, struct line *report)
{
	const struct pause_device *device = &fc->device;

	if (device->interface[0] == '\0')
		say(report, "the kernel has no interface of this port");
	else if (!device->kernel_knows)
		say(report, "the kernel knows nothing of PFC on %s", device->interface);
	else
		say(report, "the kernel has PFC on %s on for priorities 0x%02x of 0x%02x",
		    device->interface, device->kernel_priorities,
		    1u << fc->parameters.pause.priority);
}

static void use_external(struct flow_control *fc, struct line *report)
{
	static const char *const sources[] = {
		[PAUSE_DEVICE_NONE] = "nobody here counts its frames",
		[PAUSE_DEVICE_ETHTOOL] = "its frames are counted by the kernel's driver",
		[PAUSE_DEVICE_XSTATS] = "its frames are counted by DPDK's driver",
		[PAUSE_DEVICE_DCB] = "its frames are counted by the kernel",
	};

	fc->mode = FLOW_CONTROL_EXTERNAL;
	say(report, "; %s", sources[fc->device.source]);
}

static int use_auto(struct flow_control *fc, struct line *report, struct line *error)
{
	if (use_hw(fc, report))
		return 0;
	say(report, "; ");
	pause_device_open(&fc->device, fc->parameters.port_id);
	say_kernel(fc, report);
	if (!is_external(fc))
		return use_soft(fc, report, error);
	use_external(fc, report);
	return 0;
}

static int choose(struct flow_control *fc, struct line *report, struct line *error)
{
	switch (fc->parameters.mode) {
	case FLOW_CONTROL_AUTO:
		return use_auto(fc, report, error);
	case FLOW_CONTROL_HW:
		say(report, "asked for; ");
		if (use_hw(fc, report))
			return 0;
		// The report contains the reason.
		say(error, "%s", fc->report + strlen("asked for; "));
		return -1;
	case FLOW_CONTROL_EXTERNAL:
		pause_device_open(&fc->device, fc->parameters.port_id);
		say(report, "asked for; ");
		say_kernel(fc, report);
		use_external(fc, report);
		return 0;
	case FLOW_CONTROL_SOFT:
		say(report, "asked for");
		return use_soft(fc, report, error);
	default:
		fc->mode = FLOW_CONTROL_OFF;
		say(report, "asked for");
		return 0;
	}
}

static unsigned percent(uint32_t occupancy)
{
	return (occupancy * 100 + PAUSE_FULL / 2) / PAUSE_FULL;
}

static void say_marks(const struct flow_control *fc, struct line *report)
{
	const struct pause_parameters *p = &fc->parameters.pause;

	if (fc->mode != FLOW_CONTROL_SOFT)
		return;
	say(report, "; XOFF above %u %%, XON below %u %%", percent(p->high_water),
	    percent(p->low_water));
	if (fc->bits_per_second == 0)
		say(report, "; the link does not tell its rate, 10 Gb/s are assumed");
}

int flow_control_open(struct flow_control *fc, const struct flow_control_parameters *parameters,
		      char *error)
{
	struct line report = { .text = fc->report }, line = { .text = error };
	const char *problem = pause_parameters_problem(&parameters->pause);

	memset(fc, 0, sizeof(*fc));
	fc->parameters = *parameters;
	say(&line, "port %s: flow control: ", parameters->port_name);
	if (parameters->mode != FLOW_CONTROL_OFF && problem != NULL) {
		say(&line, "%s", problem);
		return -1;
	}
	pause_state_init(&fc->state, &parameters->pause);
	use_rate(fc);
	if (choose(fc, &report, &line) != 0) {
		flow_control_close(fc);
		return -1;
	}
	say_marks(fc, &report);
	return 0;
}

void flow_control_stop(struct flow_control *fc)
{
	if (fc->mode == FLOW_CONTROL_HW)
		hw_off(&fc->parameters);
}

void flow_control_close(struct flow_control *fc)
{
	pause_device_close(&fc->device);
	rte_mempool_free(fc->pool);
	fc->pool = NULL;
	fc->mode = FLOW_CONTROL_OFF;
}

void flow_control_watch(struct flow_control *fc)
{
	if (fc->mode == FLOW_CONTROL_SOFT)
		use_rate(fc);
	else
		pause_device_read(&fc->device);
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void flow_control_received(struct flow_control *fc, const uint8_t *frame, size_t size, uint64_t now)
{
	struct net_mac own;
	struct pfc_frame content;
	enum wire_error error;

	memcpy(own.bytes, fc->parameters.mac, sizeof(own.bytes));
	error = pfc_decode(frame, size, &own, &content);
	if (error != WIRE_OK && error != WIRE_UNSUPPORTED)
		count(&fc->malformed);
	else if (error == WIRE_UNSUPPORTED || fc->mode != FLOW_CONTROL_SOFT)
		count(&fc->state.ignored);
	else
		pause_state_received(&fc->state, now, &content);
}

static bool send_frame(struct flow_control *fc, const struct pfc_frame *content)
{
	struct rte_mbuf *mbuf;

	if (fc->pool == NULL)
		return false;
	mbuf = rte_pktmbuf_alloc(fc->pool);
	if (mbuf == NULL)
		return false;
	pfc_encode((uint8_t *)rte_pktmbuf_append(mbuf, PFC_FRAME_SIZE), content);
	if (rte_eth_tx_burst(fc->parameters.port_id, (uint16_t)fc->parameters.tx_queue, &mbuf, 1) ==
	    1)
		return true;
	rte_pktmbuf_free(mbuf);
	return false;
}

static bool send_content(struct flow_control *fc, struct pfc_frame *content, uint64_t now)
{
	memcpy(content->source.bytes, fc->parameters.mac, sizeof(content->source.bytes));
	if (!send_frame(fc, content)) {
		count(&fc->send_failed);
		return false;
	}
	pause_state_sent(&fc->state, now, content);
	return true;
}

unsigned flow_control_poll(struct flow_control *fc, uint64_t now)
{
	struct pfc_frame content;

	if (fc->mode != FLOW_CONTROL_SOFT)
		return 0;
	pause_state_account(&fc->state, now);
	if (fc->pool == NULL || likely(!pause_state_due(&fc->state, now, &content)))
		return 0;
	return send_content(fc, &content, now);
}

bool flow_control_release(struct flow_control *fc, uint64_t now)
{
	struct pfc_frame content;

	if (fc->mode != FLOW_CONTROL_SOFT || !pause_state_release(&fc->state, &content))
		return true;
	return send_content(fc, &content, now);
}

void flow_control_priority_counters(const struct flow_control *fc, unsigned priority,
				    struct pause_counters *counters)
{
	if (fc->mode == FLOW_CONTROL_SOFT)
		pause_state_counters(&fc->state, priority, counters);
	else
		pause_device_counters(&fc->device, priority, counters);
}

void flow_control_counters(const struct flow_control *fc, struct flow_control_counters *counters)
{
	*counters = (struct flow_control_counters){
		.malformed = atomic_load_explicit(&fc->malformed, memory_order_relaxed),
		.ignored = atomic_load_explicit(&fc->state.ignored, memory_order_relaxed),
		.send_failed = atomic_load_explicit(&fc->send_failed, memory_order_relaxed),
	};
}
