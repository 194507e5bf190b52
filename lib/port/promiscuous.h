// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Promiscuous mode of a kernel interface for as long as a socket is open: the kernel ends it with
// the process, however that ends, and for other programs it stays as it was (packet(7),
// PACKET_MR_PROMISC).
#pragma once

// Returns the socket, to be closed by close(), or -1 (errno). The socket receives nothing. It needs
// CAP_NET_RAW.
int promiscuous_open(const char *interface);
