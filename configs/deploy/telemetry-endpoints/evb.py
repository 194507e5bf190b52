# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Endpoint for DPDK's dpdk-telemetry-exporter.py (usertools of DPDK 23.11 and later): everything
that a running evb tells, as docs/metrics.md lists it, with `dpdk_` before each name.

    dpdk-telemetry-exporter.py -s /run/dpdk/evb-NAME/dpdk_telemetry.v2 -e evb

The exporter looks for endpoints in /usr/share/dpdk/telemetry-endpoints and
/usr/local/share/dpdk/telemetry-endpoints, or where -p says. It calls info() for what there is and
metrics() for the values.
"""

# The tables are made from those of evb: tests/unit/telemetry/test_endpoint.py --write.
# GROUPS: by place, the key that names a thing, keys that are labels, and keys of its info.
# METRICS: place, key, name, type, scale, labels or words, description.
# --- tables
GROUPS = {
    'info': ('name', [], ['configuration', 'run_number']),
    'summary': ('uptime_seconds', [], []),
    'role': ('name', [], ['kind', 'lcore', 'cpu']),
    'link': ('id', ['producer', 'consumer'], []),
    'builder': ('name', [], ['ring']),
    'builder/group': ('name', [], []),
    'source': ('id', [], []),
    'port': ('name', [], ['profile', 'driver', 'device', 'mac', 'id', 'numa_node']),
    'lcore': ('lcore', [], ['cpu', 'roles']),
    'generator': ('name', [], ['kind', 'port']),
    'writer': ('name', [], ['group', 'directory', 'format']),
}
METRICS = [
    ('info', 'state', 'state', 'state', 1, ['starting', 'running', 'draining', 'stopped'],
     'what the appliance does: starting, running, draining or stopped'),
    ('info', 'uptime_seconds', 'uptime_seconds', 'gauge', 1, {},
     'time since the lcores were launched'),
    ('info', 'hugepages', 'hugepages', 'gauge', 1, {}, '1 if packets lie on hugepages, else 0'),
    ('info', 'lcores', 'lcores', 'gauge', 1, {}, 'lcores that run roles'),
    ('info', 'roles', 'roles', 'gauge', 1, {}, 'roles of the appliance'),
    ('info', 'sources', 'sources', 'gauge', 1, {}, 'sources that are expected'),
    ('summary', 'loss_total', 'loss_total', 'counter', 1, {},
     'packets and segments dropped, of all causes'),
    ('summary', 'packets_received', 'packets_received_total', 'counter', 1, {},
     'packets taken from the ports'),
    ('summary', 'packets_received_bytes', 'packets_received_bytes_total', 'counter', 1, {},
     'bytes of packets taken from the ports, without FCS'),
    ('summary', 'packets_arp', 'packets_arp_total', 'counter', 1, {}, 'ARP packets'),
    ('summary', 'packets_icmp_echo', 'packets_icmp_echo_total', 'counter', 1, {},
     'ICMP echo requests that were answered'),
    ('summary', 'packets_other', 'packets_other_total', 'counter', 1, {},
     'frames that evb does not speak'),
    ('summary', 'packets_missed', 'packets_missed_total', 'counter', 1, {},
     'packets lost by the ports, before evb saw them'),
    ('summary', 'packet_drop_malformed_frame', 'packet_drop_total', 'counter', 1, {'cause': 'malformed_frame'},
     'packets dropped, by cause'),
    ('summary', 'packet_drop_ip_checksum', 'packet_drop_total', 'counter', 1, {'cause': 'ip_checksum'},
     'packets dropped, by cause'),
    ('summary', 'packet_drop_udp_checksum', 'packet_drop_total', 'counter', 1, {'cause': 'udp_checksum'},
     'packets dropped, by cause'),
    ('summary', 'packet_drop_ip_fragment', 'packet_drop_total', 'counter', 1, {'cause': 'ip_fragment'},
     'packets dropped, by cause'),
    ('summary', 'packet_drop_unknown_port', 'packet_drop_total', 'counter', 1, {'cause': 'unknown_port'},
     'packets dropped, by cause'),
    ('summary', 'segments_received', 'segments_received_total', 'counter', 1, {},
     'segments recognised among the packets'),
    ('summary', 'segments_placed', 'segments_placed_total', 'counter', 1, {},
     'segments copied to their slot'),
    ('summary', 'segments_placed_bytes', 'segments_placed_bytes_total', 'counter', 1, {},
     'payload of the segments copied to their slot'),
    ('summary', 'segment_drop_malformed_segment', 'segment_drop_total', 'counter', 1, {'cause': 'malformed_segment'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_unknown_source', 'segment_drop_total', 'counter', 1, {'cause': 'unknown_source'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_unexpected_source', 'segment_drop_total', 'counter', 1, {'cause': 'unexpected_source'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_link_full', 'segment_drop_total', 'counter', 1, {'cause': 'link_full'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_no_slot', 'segment_drop_total', 'counter', 1, {'cause': 'no_slot'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_late', 'segment_drop_total', 'counter', 1, {'cause': 'late'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_duplicate', 'segment_drop_total', 'counter', 1, {'cause': 'duplicate'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_overlapping', 'segment_drop_total', 'counter', 1, {'cause': 'overlapping'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_oversized', 'segment_drop_total', 'counter', 1, {'cause': 'oversized'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_length_mismatch', 'segment_drop_total', 'counter', 1, {'cause': 'length_mismatch'},
     'segments dropped, by cause'),
    ('summary', 'segment_drop_reorder_limit', 'segment_drop_total', 'counter', 1, {'cause': 'reorder_limit'},
     'segments dropped, by cause'),
    ('summary', 'events_opened', 'events_opened_total', 'counter', 1, {},
     'events that got a slot, ends of run included'),
    ('summary', 'events_complete', 'events_complete_total', 'counter', 1, {},
     'events published with the blocks of all sources'),
    ('summary', 'events_incomplete', 'events_incomplete_total', 'counter', 1, {},
     'events published with flags: something is missing or malformed'),
    ('summary', 'events_discarded', 'events_discarded_total', 'counter', 1, {},
     'incomplete events that were not published'),
    ('summary', 'events_flushed', 'events_flushed_total', 'counter', 1, {},
     'incomplete and discarded events that the end of the run closed'),
    ('summary', 'events_overtaken', 'events_overtaken_total', 'counter', 1, {},
     'incomplete and discarded events closed early, for their slot was needed'),
    ('summary', 'events_ends_of_run', 'events_ends_of_run_total', 'counter', 1, {},
     'end-of-run events'),
    ('summary', 'events_open', 'events_open', 'gauge', 1, {}, 'events that are being built now'),
    ('summary', 'blocks_whole', 'blocks_whole_total', 'counter', 1, {},
     'blocks (MFPs) that arrived whole'),
    ('summary', 'blocks_malformed', 'blocks_malformed_total', 'counter', 1, {},
     'blocks that arrived whole and are no valid MFP'),
    ('summary', 'blocks_missing', 'blocks_missing_total', 'counter', 1, {},
     'blocks that were not whole when their event was closed'),
    ('summary', 'bytes_built', 'built_bytes_total', 'counter', 1, {},
     'bytes of published events (MEPs)'),
    ('summary', 'slots_free', 'slots_free', 'gauge', 1, {}, 'free slots of all builders'),
    ('summary', 'sent_events', 'sent_events_total', 'counter', 1, {},
     'events sent by the generators'),
    ('summary', 'sent_packets', 'sent_packets_total', 'counter', 1, {},
     'packets that the generators handed to the ports'),
    ('summary', 'sent_bytes', 'sent_bytes_total', 'counter', 1, {},
     'bytes of packets that the generators handed to the ports, without FCS'),
    ('summary', 'sent_lost', 'sent_lost_total', 'counter', 1, {},
     'packets that generators did not send, as a fault on demand'),
    ('summary', 'sent_duplicated', 'sent_duplicated_total', 'counter', 1, {},
     'packets that generators sent twice, as a fault on demand'),
    ('summary', 'sent_corrupted', 'sent_corrupted_total', 'counter', 1, {},
     'packets that generators sent with a changed byte, as a fault on demand'),
    ('summary', 'sent_reordered', 'sent_reordered_total', 'counter', 1, {},
     'packets that generators sent after a later one, as a fault on demand'),
    ('summary', 'written_events', 'written_events_total', 'counter', 1, {},
     "events in the writers' files"),
    ('summary', 'written_bytes', 'written_bytes_total', 'counter', 1, {},
     "bytes in the writers' files"),
    ('summary', 'written_files', 'written_files_total', 'counter', 1, {},
     'files that were finished'),
    ('summary', 'written_refused', 'written_refused_total', 'counter', 1, {},
     'events that have no form in the format of the files'),
    ('summary', 'written_failures', 'written_failures_total', 'counter', 1, {},
     'files that could not be finished'),
    ('role', 'drained', 'role_drained', 'gauge', 1, {},
     '1 once the role has nothing left to do, else 0'),
    ('role', 'polls', 'role_polls_total', 'counter', 1, {}, 'calls of the role by its lcore'),
    ('role', 'empty_polls', 'role_empty_polls_total', 'counter', 1, {},
     'polls that found nothing to do'),
    ('role', 'items', 'role_items_total', 'counter', 1, {},
     'packets, segments or events that the role dealt with'),
    ('role', 'busy_cycles', 'role_busy_cycles_total', 'counter', 1, {},
     'cycles of polls that did something'),
    ('role', 'idle_cycles', 'role_idle_cycles_total', 'counter', 1, {},
     'cycles of polls that found nothing to do'),
    ('role', 'backpressured_cycles', 'role_backpressured_cycles_total', 'counter', 1, {},
     'cycles of polls that could not go on, for what is behind the role is full'),
    ('role', 'packets_received', 'role_packets_received_total', 'counter', 1, {},
     'rx only: packets taken from its queue'),
    ('role', 'packets_received_bytes', 'role_packets_received_bytes_total', 'counter', 1, {},
     'rx only: bytes of packets taken from its queue, without FCS'),
    ('role', 'packets_arp', 'role_packets_arp_total', 'counter', 1, {}, 'rx only: ARP packets'),
    ('role', 'packets_icmp_echo', 'role_packets_icmp_echo_total', 'counter', 1, {},
     'rx only: ICMP echo requests that were answered'),
    ('role', 'packets_other', 'role_packets_other_total', 'counter', 1, {},
     'rx only: frames that evb does not speak'),
    ('role', 'packet_drop_malformed_frame', 'role_packet_drop_total', 'counter', 1, {'cause': 'malformed_frame'},
     'rx only: packets dropped, by cause'),
    ('role', 'packet_drop_ip_checksum', 'role_packet_drop_total', 'counter', 1, {'cause': 'ip_checksum'},
     'rx only: packets dropped, by cause'),
    ('role', 'packet_drop_udp_checksum', 'role_packet_drop_total', 'counter', 1, {'cause': 'udp_checksum'},
     'rx only: packets dropped, by cause'),
    ('role', 'packet_drop_ip_fragment', 'role_packet_drop_total', 'counter', 1, {'cause': 'ip_fragment'},
     'rx only: packets dropped, by cause'),
    ('role', 'packet_drop_unknown_port', 'role_packet_drop_total', 'counter', 1, {'cause': 'unknown_port'},
     'rx only: packets dropped, by cause'),
    ('role', 'segments_received', 'role_segments_received_total', 'counter', 1, {},
     'rx only: segments recognised among the packets'),
    ('role', 'segment_drop_malformed_segment', 'role_segment_drop_total', 'counter', 1, {'cause': 'malformed_segment'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_unknown_source', 'role_segment_drop_total', 'counter', 1, {'cause': 'unknown_source'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_unexpected_source', 'role_segment_drop_total', 'counter', 1, {'cause': 'unexpected_source'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_link_full', 'role_segment_drop_total', 'counter', 1, {'cause': 'link_full'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_no_slot', 'role_segment_drop_total', 'counter', 1, {'cause': 'no_slot'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_late', 'role_segment_drop_total', 'counter', 1, {'cause': 'late'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_duplicate', 'role_segment_drop_total', 'counter', 1, {'cause': 'duplicate'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_overlapping', 'role_segment_drop_total', 'counter', 1, {'cause': 'overlapping'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_oversized', 'role_segment_drop_total', 'counter', 1, {'cause': 'oversized'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_length_mismatch', 'role_segment_drop_total', 'counter', 1, {'cause': 'length_mismatch'},
     'rx only: segments dropped, by cause'),
    ('role', 'segment_drop_reorder_limit', 'role_segment_drop_total', 'counter', 1, {'cause': 'reorder_limit'},
     'rx only: segments dropped, by cause'),
    ('link', 'lossless', 'link_lossless', 'gauge', 1, {},
     '1 if the link holds its producer back when it is full, 0 if it drops'),
    ('link', 'depth', 'link_depth', 'gauge', 1, {}, 'entries that the link has room for'),
    ('link', 'used', 'link_used', 'gauge', 1, {}, 'entries in the link now'),
    ('link', 'highest', 'link_highest', 'gauge', 1, {}, 'most entries seen in the link'),
    ('link', 'enqueued', 'link_enqueued_total', 'counter', 1, {}, 'segments put into the link'),
    ('link', 'full', 'link_full_total', 'counter', 1, {},
     'polls in which the producer found no room in the link'),
    ('link', 'dropped', 'link_dropped_total', 'counter', 1, {},
     'segments that did not fit into the link; also segment_drop_link_full'),
    ('builder', 'hugepages', 'builder_hugepages', 'gauge', 1, {},
     '1 if the event ring lies on hugepages, else 0'),
    ('builder', 'slots', 'builder_slots', 'gauge', 1, {}, 'slots of the event ring'),
    ('builder', 'slot_bytes', 'builder_slot_bytes', 'gauge', 1, {}, 'size of a slot'),
    ('builder', 'slots_free', 'builder_slots_free', 'gauge', 1, {},
     'slots that neither the builder nor consumers use'),
    ('builder', 'events_open', 'builder_events_open', 'gauge', 1, {},
     'events that are being built now'),
    ('builder', 'events_held', 'builder_events_held', 'gauge', 1, {},
     'events published and not yet released by all groups of consumers'),
    ('builder', 'segments_received', 'builder_segments_received_total', 'counter', 1, {},
     "segments taken from the builder's links"),
    ('builder', 'segments_placed', 'builder_segments_placed_total', 'counter', 1, {},
     'segments copied to their slot'),
    ('builder', 'segments_placed_bytes', 'builder_segments_placed_bytes_total', 'counter', 1, {},
     'payload of the segments copied to their slot'),
    ('builder', 'segment_drop_malformed_segment', 'builder_segment_drop_total', 'counter', 1, {'cause': 'malformed_segment'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_unknown_source', 'builder_segment_drop_total', 'counter', 1, {'cause': 'unknown_source'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_unexpected_source', 'builder_segment_drop_total', 'counter', 1, {'cause': 'unexpected_source'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_link_full', 'builder_segment_drop_total', 'counter', 1, {'cause': 'link_full'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_no_slot', 'builder_segment_drop_total', 'counter', 1, {'cause': 'no_slot'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_late', 'builder_segment_drop_total', 'counter', 1, {'cause': 'late'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_duplicate', 'builder_segment_drop_total', 'counter', 1, {'cause': 'duplicate'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_overlapping', 'builder_segment_drop_total', 'counter', 1, {'cause': 'overlapping'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_oversized', 'builder_segment_drop_total', 'counter', 1, {'cause': 'oversized'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_length_mismatch', 'builder_segment_drop_total', 'counter', 1, {'cause': 'length_mismatch'},
     'segments dropped, by cause'),
    ('builder', 'segment_drop_reorder_limit', 'builder_segment_drop_total', 'counter', 1, {'cause': 'reorder_limit'},
     'segments dropped, by cause'),
    ('builder', 'events_opened', 'builder_events_opened_total', 'counter', 1, {},
     'events that got a slot, ends of run included'),
    ('builder', 'events_complete', 'builder_events_complete_total', 'counter', 1, {},
     'events published with the blocks of all sources'),
    ('builder', 'events_incomplete', 'builder_events_incomplete_total', 'counter', 1, {},
     'events published with flags: something is missing or malformed'),
    ('builder', 'events_discarded', 'builder_events_discarded_total', 'counter', 1, {},
     'incomplete events that were not published'),
    ('builder', 'events_flushed', 'builder_events_flushed_total', 'counter', 1, {},
     'incomplete and discarded events that the end of the run closed'),
    ('builder', 'events_overtaken', 'builder_events_overtaken_total', 'counter', 1, {},
     'incomplete and discarded events closed early, for their slot was needed'),
    ('builder', 'events_ends_of_run', 'builder_events_ends_of_run_total', 'counter', 1, {},
     'end-of-run events'),
    ('builder', 'blocks_whole', 'builder_blocks_whole_total', 'counter', 1, {},
     'blocks (MFPs) that arrived whole'),
    ('builder', 'blocks_malformed', 'builder_blocks_malformed_total', 'counter', 1, {},
     'blocks that arrived whole and are no valid MFP'),
    ('builder', 'blocks_missing', 'builder_blocks_missing_total', 'counter', 1, {},
     'blocks that were not whole when their event was closed'),
    ('builder', 'bytes_built', 'builder_built_bytes_total', 'counter', 1, {},
     'bytes of published events (MEPs)'),
    ('builder', 'latency_complete_ns', 'builder_latency_complete_seconds', 'histogram', 1e-09, {},
     'time from the first segment of an event to its completion, of complete events'),
    ('builder', 'latency_complete_ns', 'builder_latency_complete_max_seconds', 'maximum', 1e-09, {},
     'time from the first segment of an event to its completion, of complete events'),
    ('builder', 'latency_released_ns', 'builder_latency_released_seconds', 'histogram', 1e-09, {},
     'time from the first segment of an event to its release by all consumers'),
    ('builder', 'latency_released_ns', 'builder_latency_released_max_seconds', 'maximum', 1e-09, {},
     'time from the first segment of an event to its release by all consumers'),
    ('builder/group', 'configured', 'builder_group_configured', 'gauge', 1, {},
     '1 if the configuration names the group, 0 if a consumer made it'),
    ('builder/group', 'members', 'builder_group_members', 'gauge', 1, {},
     'consumers in the group now'),
    ('builder/group', 'lag', 'builder_group_lag', 'gauge', 1, {},
     'events published and not yet taken by a member of the group'),
    ('builder/group', 'delivered', 'builder_group_delivered_total', 'counter', 1, {},
     'events taken by members of the group'),
    ('builder/group', 'released', 'builder_group_released_total', 'counter', 1, {},
     'events released by members of the group'),
    ('builder/group', 'regained', 'builder_group_regained_total', 'counter', 1, {},
     'events taken back from members of the group that died'),
    ('source', 'segments_received', 'source_segments_received_total', 'counter', 1, {},
     'segments of the source that rx recognised'),
    ('source', 'segments_placed', 'source_segments_placed_total', 'counter', 1, {},
     'segments of the source copied to their slot'),
    ('source', 'segments_placed_bytes', 'source_segments_placed_bytes_total', 'counter', 1, {},
     "payload of the source's segments copied to their slot"),
    ('source', 'segment_drop_malformed_segment', 'source_segment_drop_total', 'counter', 1, {'cause': 'malformed_segment'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_unknown_source', 'source_segment_drop_total', 'counter', 1, {'cause': 'unknown_source'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_unexpected_source', 'source_segment_drop_total', 'counter', 1, {'cause': 'unexpected_source'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_link_full', 'source_segment_drop_total', 'counter', 1, {'cause': 'link_full'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_no_slot', 'source_segment_drop_total', 'counter', 1, {'cause': 'no_slot'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_late', 'source_segment_drop_total', 'counter', 1, {'cause': 'late'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_duplicate', 'source_segment_drop_total', 'counter', 1, {'cause': 'duplicate'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_overlapping', 'source_segment_drop_total', 'counter', 1, {'cause': 'overlapping'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_oversized', 'source_segment_drop_total', 'counter', 1, {'cause': 'oversized'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_length_mismatch', 'source_segment_drop_total', 'counter', 1, {'cause': 'length_mismatch'},
     'segments of the source dropped, by cause'),
    ('source', 'segment_drop_reorder_limit', 'source_segment_drop_total', 'counter', 1, {'cause': 'reorder_limit'},
     'segments of the source dropped, by cause'),
    ('source', 'blocks_whole', 'source_blocks_whole_total', 'counter', 1, {},
     'blocks (MFPs) of the source that arrived whole'),
    ('source', 'blocks_malformed', 'source_blocks_malformed_total', 'counter', 1, {},
     'blocks of the source that arrived whole and are no valid MFP'),
    ('source', 'blocks_missing', 'source_blocks_missing_total', 'counter', 1, {},
     "events closed without the source's block"),
    ('port', 'mtu_bytes', 'port_mtu_bytes', 'gauge', 1, {},
     'most payload behind the Ethernet header'),
    ('port', 'rx_queues', 'port_rx_queues', 'gauge', 1, {}, 'receive queues of the port'),
    ('port', 'tx_queues', 'port_tx_queues', 'gauge', 1, {}, 'transmit queues of the port'),
    ('port', 'link_up', 'port_link_up', 'gauge', 1, {}, "1 if the port's link is up, else 0"),
    ('port', 'link_megabits', 'port_link_bytes_per_second', 'gauge', 125000, {},
     "speed of the port's link, 0 if unknown"),
    ('port', 'pool_mbufs', 'port_pool_mbufs', 'gauge', 1, {}, 'receive buffers of the port'),
    ('port', 'pool_free', 'port_pool_free', 'gauge', 1, {},
     'receive buffers that are free, those in caches of lcores among them'),
    ('port', 'rx_packets', 'port_rx_packets_total', 'counter', 1, {},
     'packets received, as the driver counts'),
    ('port', 'rx_bytes', 'port_rx_bytes_total', 'counter', 1, {},
     'bytes received, as the driver counts'),
    ('port', 'rx_missed', 'port_rx_missed_total', 'counter', 1, {},
     'packets lost because no descriptor was free'),
    ('port', 'rx_no_buffer', 'port_rx_no_buffer_total', 'counter', 1, {},
     'receive buffers that the pool did not have'),
    ('port', 'rx_errors', 'port_rx_errors_total', 'counter', 1, {},
     'packets received with errors'),
    ('port', 'tx_packets', 'port_tx_packets_total', 'counter', 1, {},
     'packets sent, as the driver counts'),
    ('port', 'tx_bytes', 'port_tx_bytes_total', 'counter', 1, {},
     'bytes sent, as the driver counts'),
    ('port', 'tx_errors', 'port_tx_errors_total', 'counter', 1, {},
     'packets that could not be sent'),
    ('lcore', 'adaptive', 'lcore_adaptive', 'gauge', 1, {},
     '1 if the lcore yields and sleeps when idle, 0 if it polls without end'),
    ('lcore', 'running', 'lcore_running', 'gauge', 1, {}, '1 if the lcore runs, else 0'),
    ('lcore', 'loops', 'lcore_loops_total', 'counter', 1, {}, 'loops over all roles of the lcore'),
    ('lcore', 'sleeps', 'lcore_sleeps_total', 'counter', 1, {}, 'sleeps of an idle lcore'),
    ('lcore', 'busy_cycles', 'lcore_busy_cycles_total', 'counter', 1, {},
     'cycles of loops that did something'),
    ('lcore', 'idle_cycles', 'lcore_idle_cycles_total', 'counter', 1, {},
     'cycles of loops that did nothing, sleeps included'),
    ('lcore', 'backpressured_cycles', 'lcore_backpressured_cycles_total', 'counter', 1, {},
     'cycles of loops that could not go on, for what is behind a role is full'),
    ('generator', 'finished', 'generator_finished', 'gauge', 1, {}, '1 once all is sent, else 0'),
    ('generator', 'packets', 'generator_packets_total', 'counter', 1, {},
     'packets handed to the port'),
    ('generator', 'bytes', 'generator_bytes_total', 'counter', 1, {},
     'bytes of packets handed to the port, without FCS'),
    ('generator', 'lost', 'generator_lost_total', 'counter', 1, {},
     'packets not sent, as a fault on demand'),
    ('generator', 'duplicated', 'generator_duplicated_total', 'counter', 1, {},
     'packets sent twice, as a fault on demand'),
    ('generator', 'corrupted', 'generator_corrupted_total', 'counter', 1, {},
     'packets sent with a changed byte, as a fault on demand'),
    ('generator', 'reordered', 'generator_reordered_total', 'counter', 1, {},
     'packets sent after a later one, as a fault on demand'),
    ('generator', 'events', 'generator_events_total', 'counter', 1, {},
     'all but pcap: events sent by all sources of the generator'),
    ('generator', 'blocks', 'generator_blocks_total', 'counter', 1, {},
     'all but pcap: blocks (MFPs) sent'),
    ('generator', 'segments', 'generator_segments_total', 'counter', 1, {},
     'all but pcap: segments made'),
    ('generator', 'payload_bytes', 'generator_payload_bytes_total', 'counter', 1, {},
     'all but pcap: payload of the segments made'),
    ('generator', 'no_buffer', 'generator_no_buffer_total', 'counter', 1, {},
     'all but pcap: polls that found no mbuf, for all were under way'),
    ('generator', 'packets_read', 'generator_packets_read_total', 'counter', 1, {},
     'pcap only: packets read from the capture'),
    ('generator', 'oversized', 'generator_oversized_total', 'counter', 1, {},
     "pcap only: packets not sent, for they exceed the port's MTU"),
    ('generator', 'truncated', 'generator_truncated_total', 'counter', 1, {},
     'pcap only: packets not sent, for the capture holds only their beginning'),
    ('writer', 'events', 'writer_events_total', 'counter', 1, {}, "events in the writer's files"),
    ('writer', 'bytes', 'writer_bytes_total', 'counter', 1, {}, "bytes in the writer's files"),
    ('writer', 'files', 'writer_files_total', 'counter', 1, {}, 'files that were finished'),
    ('writer', 'refused', 'writer_refused_total', 'counter', 1, {},
     'events that have no form in the format of the files'),
    ('writer', 'pauses', 'writer_pauses_total', 'counter', 1, {},
     'times that the writer had to wait for room on the disk'),
    ('writer', 'failures', 'writer_failures_total', 'counter', 1, {},
     'files that could not be finished'),
]
# --- end of tables

FIRST_BOUND_LOG2, LAST_BOUND_LOG2 = 10, 36  # of histograms: 1 us to 69 s
INFO_HELP = "texts and numbers that tell which one it is"


def info():
    """{name: (description, type)}. Parts of histograms are untyped: the exporter has no type for
    them that fits."""
    table = {}
    for place, (_, _, keys) in GROUPS.items():
        if keys:
            table[_info_name(place)] = (INFO_HELP, "gauge")
    for _, _, name, kind, _, _, description in METRICS:
        if kind == "histogram":
            for part in ("bucket", "count", "sum"):
                table[f"{name}_{part}"] = (description, "untyped")
        else:
            table[name] = (description, "counter" if kind == "counter" else "gauge")
    return table


def metrics(sock):
    """[(name, value, labels)] of all things, metric by metric."""
    things = {place: _things(sock, place) for place in GROUPS if "/" not in place}
    for place in GROUPS:
        if "/" in place:
            group, nested = place.split("/")
            things[place] = list(_nested_things(things[group], place, nested))
    values = []
    for place, (_, _, keys) in GROUPS.items():
        if keys:
            values += [(_info_name(place), 1, labels | _labels(thing, keys))
                       for labels, thing in things[place]]
    for place, key, name, kind, scale, more, _ in METRICS:
        for labels, thing in things[place]:
            if key in thing:
                values += _values(name, kind, scale, labels, more, thing[key])
    return values


def _info_name(place):
    return "info" if place in ("info", "summary") else f"{place.replace('/', '_')}_info"


def _text(value):
    """As a label. The exporter spoils quotes."""
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return str(value).replace('"', "'")


def _labels(thing, keys):
    return {key: _text(thing[key]) for key in keys if key in thing}


def _things(sock, place):
    """[(labels, keys)] of a group, or of the appliance itself."""
    if place in ("info", "summary"):
        answer = sock.cmd(f"/evb/{place}")
        return [({}, answer)] if answer else []
    name, labels, _ = GROUPS[place]
    things, offset, count = [], 0, 1
    while offset < count:
        answer = sock.cmd(f"/evb/{place}/all", offset) or {}
        count = answer.get("count", 0)
        page = [thing for thing in answer.values() if isinstance(thing, dict)]
        things += [({place: _text(thing[name])} | _labels(thing, labels), thing) for thing in page]
        offset += max(1, len(page))
    return things


def _nested_things(outer, place, nested):
    name, labels, _ = GROUPS[place]
    for outer_labels, thing in outer:
        for key, inner in thing.items():
            if isinstance(inner, dict) and key.rpartition("_")[0] == nested:
                yield outer_labels | {nested: _text(inner[name])} | _labels(inner, labels), inner


def _values(name, kind, scale, labels, more, value):
    if kind == "state":
        return [(name, int(value == word), labels | {f"evb_{name}": word}) for word in more]
    if kind == "maximum":
        return [(name, value["max"] * scale, labels)]
    if kind != "histogram":
        return [(name, value * scale, labels | more)]
    bounds = [(2 ** i, value[f"le_{2 ** i}"])
              for i in range(FIRST_BOUND_LOG2, LAST_BOUND_LOG2 + 1) if f"le_{2 ** i}" in value]
    return [*((f"{name}_bucket", count, labels | {"le": f"{bound * scale:.15g}"})
              for bound, count in bounds),
            (f"{name}_bucket", value["inf"], labels | {"le": "+Inf"}),
            (f"{name}_count", value["count"], labels),
            (f"{name}_sum", value["sum"] * scale, labels)]
