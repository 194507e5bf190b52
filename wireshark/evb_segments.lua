-- SPDX-License-Identifier: BSD-3-Clause
-- Copyright (c) 2026, the evb authors
--
-- Wireshark dissector of EJFAT segments: load balancer header (lib/wire/ejfat.h), RE headers, and the
-- multi-fragment packet that begins in a segment (lib/wire/mfp.h), with its fragments as far as they
-- are in this packet.
--
-- Segments over UDP are recognized at the ports of the preference "UDP ports" (transport.udp_port of
-- evb's configuration), at all ports where they have a load balancer header, and by "Decode As".
-- Those without UDP have the EtherType 0x88B5.

local LB_SIZE, RE_SIZE, MFP_SIZE = 16, 20, 20
local MORE = 2 -- flag: another RE header with a whole block follows the block
local ETHER_TYPE = 0x88B5

local segments = Proto("evb", "EJFAT segments of an event builder")
local mfp = Proto("evb_mfp", "Multi-fragment packet")

local lb = {
    version = ProtoField.uint8("evb.lb.version", "Version"),
    slot_select = ProtoField.uint16("evb.lb.slot_select", "Slot select"),
    entropy = ProtoField.uint16("evb.lb.entropy", "Entropy or port select"),
    tick = ProtoField.uint64("evb.lb.tick", "Tick"),
}
local re = {
    flags = ProtoField.uint8("evb.re.flags", "Flags", base.HEX),
    repeated = ProtoField.bool("evb.re.repeated", "May have been sent before", 8, nil, 1),
    more = ProtoField.bool("evb.re.more", "Another block follows", 8, nil, MORE),
    data_id = ProtoField.uint16("evb.re.data_id", "Data id (source)", base.HEX_DEC),
    offset = ProtoField.uint32("evb.re.offset", "Offset in the block"),
    length = ProtoField.uint32("evb.re.length", "Length of the block"),
    event_number = ProtoField.uint64("evb.re.event_number", "Event"),
    payload_size = ProtoField.uint32("evb.re.payload_size", "Bytes of the block in this packet"),
    payload = ProtoField.bytes("evb.re.payload", "Payload"),
}
local header = {
    magic = ProtoField.uint16("evb_mfp.magic", "Magic number", base.HEX),
    n_fragments = ProtoField.uint16("evb_mfp.n_fragments", "Fragments"),
    packet_size = ProtoField.uint32("evb_mfp.packet_size", "Packet size"),
    event_id = ProtoField.uint64("evb_mfp.event_id", "Event id of the first fragment"),
    source_id = ProtoField.uint16("evb_mfp.source_id", "Source", base.HEX_DEC),
    align_log2 = ProtoField.uint8("evb_mfp.align_log2", "Alignment, log2"),
    version = ProtoField.uint8("evb_mfp.version", "Version of the fragments"),
}
local fragment = {
    event_id = ProtoField.uint64("evb_mfp.fragment.event_id", "Event id"),
    type = ProtoField.uint8("evb_mfp.fragment.type", "Type"),
    size = ProtoField.uint16("evb_mfp.fragment.size", "Size"),
    payload = ProtoField.bytes("evb_mfp.fragment.payload", "Payload"),
}
local truncated = ProtoExpert.new("evb.damaged", "The block is not whole", expert.group.MALFORMED,
                                  expert.severity.ERROR)

local function all(...)
    local list = {}
    for _, fields in ipairs({...}) do
        for _, field in pairs(fields) do
            list[#list + 1] = field
        end
    end
    return list
end

segments.fields = all(lb, re)
segments.experts = {truncated}
mfp.fields = all(header, fragment)

local function round_up(number, multiple)
    return math.ceil(number / multiple) * multiple
end

-- The fragments of which type and size are in the bytes.
local function add_fragments(bytes, tree, n, align)
    local first_id = bytes(8, 8):le_uint64()
    local sizes = MFP_SIZE + round_up(n, 4)
    local at = sizes + round_up(2 * n, 4)
    for i = 0, n - 1 do
        if sizes + 2 * i + 2 > bytes:len() then
            return
        end
        local size = bytes(sizes + 2 * i, 2):le_uint()
        local present = math.max(0, math.min(size, bytes:len() - at))
        local range = present > 0 and bytes(at, present) or bytes(sizes + 2 * i, 2)
        local node = tree:add(mfp, range, "Fragment " .. i)
        node:add(fragment.event_id, bytes(8, 8), first_id + i):set_generated()
        node:add(fragment.type, bytes(MFP_SIZE + i, 1))
        node:add_le(fragment.size, bytes(sizes + 2 * i, 2))
        if present > 0 then
            node:add(fragment.payload, bytes(at, present))
        end
        at = at + round_up(size, 2 ^ align)
    end
end

-- A multi-fragment packet, or its beginning. False: it is none.
local function dissect_mfp(bytes, tree)
    if bytes:len() < MFP_SIZE or bytes(0, 2):le_uint() ~= 0x40CE then
        return false
    end
    local n, align = bytes(2, 2):le_uint(), bytes(18, 1):uint()
    if align > 16 then
        return false
    end
    local node = tree:add(mfp, bytes())
    node:add_le(header.magic, bytes(0, 2))
    node:add_le(header.n_fragments, bytes(2, 2))
    node:add_le(header.packet_size, bytes(4, 4))
    node:add_le(header.event_id, bytes(8, 8))
    node:add_le(header.source_id, bytes(16, 2))
    node:add(header.align_log2, bytes(18, 1))
    node:add(header.version, bytes(19, 1))
    add_fragments(bytes, node, n, align)
    return true
end

local function add_re(bytes, tree, size)
    tree:add(re.flags, bytes(1, 1))
    tree:add(re.repeated, bytes(1, 1))
    tree:add(re.more, bytes(1, 1))
    tree:add(re.data_id, bytes(2, 2))
    tree:add(re.offset, bytes(4, 4))
    tree:add(re.length, bytes(8, 4))
    tree:add(re.event_number, bytes(12, 8))
    tree:add(re.payload_size, bytes(RE_SIZE, size), size):set_generated()
end

-- The segment at the beginning of the bytes, and what it tells. Returns its size, nil if it is none.
local function dissect_segment(bytes, tree)
    if bytes:len() <= RE_SIZE or bit.rshift(bytes(0, 1):uint(), 4) ~= 1 then
        return nil
    end
    local offset, length = bytes(4, 4):uint(), bytes(8, 4):uint()
    local more = bit.band(bytes(1, 1):uint(), MORE) ~= 0
    local size = bytes:len() - RE_SIZE
    if offset + size > length then
        if not more or offset ~= 0 or length == 0 or length >= size - RE_SIZE then
            return nil
        end
        size = length
    end
    local source, event = bytes(2, 2):uint(), bytes(12, 8):uint64()
    local text = string.format("source 0x%04x, event %s, %u bytes at %u of %u", source, tostring(event),
                               size, offset, length)
    local node = tree:add(segments, bytes(0, RE_SIZE + size), "Segment: " .. text)
    add_re(bytes, node, size)
    local payload = bytes(RE_SIZE, size):tvb()
    if offset > 0 or not dissect_mfp(payload, node) then
        node:add(re.payload, bytes(RE_SIZE, size))
    end
    return RE_SIZE + size, text
end

local function has_lb(bytes)
    return bytes:len() > LB_SIZE and bytes(0, 2):string() == "LB" and bytes(3, 1):uint() == 1 and
           (bytes(2, 1):uint() == 2 or bytes(2, 1):uint() == 3)
end

local function add_lb(bytes, tree)
    local node = tree:add(segments, bytes(0, LB_SIZE), "Load balancer header")
    local version = bytes(2, 1):uint()
    node:add(lb.version, bytes(2, 1))
    if version == 3 then
        node:add(lb.slot_select, bytes(4, 2))
    end
    node:add(lb.entropy, bytes(6, 2))
    node:add(lb.tick, bytes(8, 8))
end

-- Returns the bytes that it has dissected; 0: this is no packet of segments.
local function dissect(bytes, packet, root)
    local at = has_lb(bytes) and LB_SIZE or 0
    if bytes:len() <= at + RE_SIZE then
        return 0
    end
    local tree = root:add(segments, bytes())
    local size, text = dissect_segment(bytes(at):tvb(), tree)
    if not size then
        return 0
    end
    packet.cols.protocol = "EVB"
    packet.cols.info = text
    if at > 0 then
        add_lb(bytes, tree)
    end
    local n = 1
    at = at + size
    while at < bytes:len() do
        size = dissect_segment(bytes(at):tvb(), tree)
        if not size then
            tree:add_proto_expert_info(truncated)
            return bytes:len()
        end
        n = n + 1
        at = at + size
    end
    if n > 1 then
        packet.cols.info:append(", and " .. n - 1 .. " more blocks")
    end
    return bytes:len()
end

function segments.dissector(bytes, packet, root)
    return dissect(bytes, packet, root)
end

local ports = DissectorTable.get("udp.port")
local default_ports = "19522"

segments.prefs.ports = Pref.range("UDP ports", default_ports, "transport.udp_port of the configuration",
                                  65535)

local registered = default_ports
ports:add(registered, segments)

function segments.prefs_changed()
    ports:remove(registered, segments)
    registered = segments.prefs.ports
    ports:add(registered, segments)
end

DissectorTable.get("ethertype"):add(ETHER_TYPE, segments)
segments:register_heuristic("udp", function(bytes, packet, root)
    return has_lb(bytes) and dissect(bytes, packet, root) > 0
end)
