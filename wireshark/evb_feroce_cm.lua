-- SPDX-License-Identifier: BSD-3-Clause
-- Copyright (c) 2026, the evb authors
--
-- Wireshark dissector of the connection messages of FERoCE readout boards (lib/wire/feroce_cm.h):
-- datagrams of 64 bytes at UDP port 0x4321, or at another one by "Decode As".

local SIZE, PORT = 64, 0x4321

local messages = Proto("feroce_cm", "FERoCE connection message")

local requests = {[0] = "none", "open queue pair", "send queue pair's parameters", "ready to send",
                  "close queue pair", [7] = "error"}
local responses = {[0] = "none", "acknowledged", "no queue pair is free", "refused", [7] = "error"}

local function qp_fields(name, text)
    local prefix = "feroce_cm." .. name .. "."
    return {
        qpn = ProtoField.uint24(prefix .. "qpn", text .. ": queue pair", base.HEX_DEC),
        psn = ProtoField.uint24(prefix .. "psn", text .. ": packet number"),
        rkey = ProtoField.uint32(prefix .. "rkey", text .. ": remote key", base.HEX),
        base_address = ProtoField.uint64(prefix .. "base_address", text .. ": address", base.HEX),
        ip = ProtoField.ipv4(prefix .. "ip", text .. ": IPv4 address"),
    }
end

local flags = {
    info_valid = ProtoField.bool("feroce_cm.info_valid", "Request is valid", 8, nil, 0x01),
    request = ProtoField.uint8("feroce_cm.request", "Request", base.DEC, requests, 0x0E),
    ack_valid = ProtoField.bool("feroce_cm.ack_valid", "Response is valid", 8, nil, 0x10),
    ack = ProtoField.uint8("feroce_cm.ack", "Response", base.DEC, responses, 0xE0),
}
local transfer = {
    transfer_valid = ProtoField.bool("feroce_cm.transfer_valid", "Transfer is valid", 8, nil, 0x01),
    start = ProtoField.bool("feroce_cm.start", "Start", 8, nil, 0x02),
    with_immediate = ProtoField.bool("feroce_cm.with_immediate", "With immediate data", 8, nil, 0x04),
    is_write = ProtoField.bool("feroce_cm.is_write", "RDMA WRITE", 8, nil, 0x08),
}
local numbers = {
    {at = 49, size = 2, field = ProtoField.uint16("feroce_cm.port", "UDP port of the sender")},
    {at = 52, size = 4, field = ProtoField.uint32("feroce_cm.transfer_length", "Transfer length")},
    {at = 56, size = 4, field = ProtoField.uint32("feroce_cm.n_transfers", "Transfers")},
    {at = 60, size = 4, field = ProtoField.uint32("feroce_cm.frequency", "Frequency")},
}
local sender, receiver = qp_fields("local", "Sender"), qp_fields("remote", "Receiver")

local list = {}
for _, fields in ipairs({flags, transfer, sender, receiver}) do
    for _, field in pairs(fields) do
        list[#list + 1] = field
    end
end
for _, number in ipairs(numbers) do
    list[#list + 1] = number.field
end
messages.fields = list

local function add_qp(bytes, tree, at, fields)
    tree:add(fields.qpn, bytes(at + 1, 3))
    tree:add(fields.psn, bytes(at + 5, 3))
    tree:add(fields.rkey, bytes(at + 8, 4))
    tree:add(fields.base_address, bytes(at + 12, 8))
    tree:add(fields.ip, bytes(at + 20, 4))
end

function messages.dissector(bytes, packet, root)
    if bytes:len() < SIZE then
        return 0
    end
    local tree = root:add(messages, bytes(0, SIZE))
    for _, field in pairs(flags) do
        tree:add(field, bytes(0, 1))
    end
    add_qp(bytes, tree, 1, sender)
    add_qp(bytes, tree, 25, receiver)
    for _, field in pairs(transfer) do
        tree:add(field, bytes(51, 1))
    end
    for _, number in ipairs(numbers) do
        tree:add(number.field, bytes(number.at, number.size))
    end
    packet.cols.protocol = "FERoCE CM"
    packet.cols.info = string.format("request: %s, response: %s",
                                     requests[bit.band(bit.rshift(bytes(0, 1):uint(), 1), 7)] or "unknown",
                                     responses[bit.rshift(bytes(0, 1):uint(), 5)] or "unknown")
    return SIZE
end

DissectorTable.get("udp.port"):add(PORT, messages)
