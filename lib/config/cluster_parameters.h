// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Derives the parameters of lib/cluster from the configuration.
#pragma once

#include "cluster/manager.h"
#include "config/config.h"

// The results point into the configuration, which must outlive them.
struct cluster_parameters config_cluster_parameters(const struct config *config);
struct on_wire_parameters config_on_wire_parameters(const struct config *config);

// Leaves the transport and the time zero; the caller sets them.
struct cluster_manager_parameters config_manager_parameters(const struct config *config);
