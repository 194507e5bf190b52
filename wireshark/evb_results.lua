-- SPDX-License-Identifier: BSD-3-Clause
-- Copyright (c) 2026, the evb authors
--
-- Wireshark dissector of a filter's results (lib/evring/evb_results.h): the decisions about built events
-- in their order. Datagrams are recognized at any UDP port by their magic text, version and size of a
-- record. All numbers are little endian.

local SIZE, VERSION = 32, 1 -- bytes of the header, and of a record

local results = Proto("evb_results", "Decisions of a filter")

local header = {
    run_number = ProtoField.uint32("evb_results.run_number", "Run"),
    packing = ProtoField.uint32("evb_results.packing", "Difference of consecutive event ids"),
    first = ProtoField.uint64("evb_results.first", "Number of the first record"),
}
local record = {
    event_id = ProtoField.uint64("evb_results.record.event_id", "Event"),
    lines = ProtoField.uint64("evb_results.record.lines", "Lines that selected the event", base.HEX),
    tag = ProtoField.uint32("evb_results.record.tag", "Tag", base.HEX_DEC),
    decide_us = ProtoField.uint32("evb_results.record.decide_us", "Microseconds to the decision"),
    builder = ProtoField.uint16("evb_results.record.builder", "Builder"),
    member = ProtoField.uint8("evb_results.record.member", "Member of the group"),
    flags = ProtoField.uint8("evb_results.record.flags", "Flags", base.HEX),
    accepted = ProtoField.bool("evb_results.record.accepted", "Accepted", 8, nil, 1),
    undecided = ProtoField.bool("evb_results.record.undecided", "Released without a decision", 8, nil, 2),
    timed_out = ProtoField.bool("evb_results.record.timed_out", "Nobody decided in time", 8, nil, 4),
}
local fields = {}
for _, group in ipairs({header, record}) do
    for _, field in pairs(group) do
        fields[#fields + 1] = field
    end
end
results.fields = fields

local damaged = ProtoExpert.new("evb_results.damaged", "A record is not whole", expert.group.MALFORMED,
                                expert.severity.ERROR)
results.experts = {damaged}

local function is_block(bytes)
    return bytes:len() >= SIZE and bytes(0, 8):string() == "EVBDECID" and
           bytes(8, 4):le_uint() == VERSION and bytes(12, 4):le_uint() == SIZE
end

local function add_record(bytes, tree, at)
    local accepted = bit.band(bytes(at + 27, 1):uint(), 1) ~= 0
    local node = tree:add(results, bytes(at, SIZE), string.format("Event %s: %s",
        tostring(bytes(at, 8):le_uint64()), accepted and "accepted" or "not accepted"))
    node:add_le(record.event_id, bytes(at, 8))
    node:add_le(record.lines, bytes(at + 8, 8))
    node:add_le(record.tag, bytes(at + 16, 4))
    node:add_le(record.decide_us, bytes(at + 20, 4))
    node:add_le(record.builder, bytes(at + 24, 2))
    node:add(record.member, bytes(at + 26, 1))
    for _, name in ipairs({"flags", "accepted", "undecided", "timed_out"}) do
        node:add(record[name], bytes(at + 27, 1))
    end
    return accepted
end

local function dissect(bytes, packet, root)
    local tree = root:add(results, bytes())
    local n, n_accepted, at = 0, 0, SIZE
    tree:add_le(header.run_number, bytes(16, 4))
    tree:add_le(header.packing, bytes(20, 4))
    tree:add_le(header.first, bytes(24, 8))
    while at + SIZE <= bytes:len() do
        n = n + 1
        n_accepted = n_accepted + (add_record(bytes, tree, at) and 1 or 0)
        at = at + SIZE
    end
    if at < bytes:len() then
        tree:add_proto_expert_info(damaged)
    end
    packet.cols.protocol = "EVB results"
    packet.cols.info = string.format("run %u: %u decisions from number %s on, %u accepted",
                                     bytes(16, 4):le_uint(), n, tostring(bytes(24, 8):le_uint64()),
                                     n_accepted)
    return true
end

function results.dissector(bytes, packet, root)
    return is_block(bytes) and dissect(bytes, packet, root) and bytes:len() or 0
end

results:register_heuristic("udp", function(bytes, packet, root)
    return is_block(bytes) and dissect(bytes, packet, root)
end)
