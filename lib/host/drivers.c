// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// DPDK's drivers are shared objects, each of which holds a description of itself: its name, its
// device arguments, the kernel drivers that a PCI device must have for it (dpdk-pmdinfo prints it).
#include "host/stages.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <rte_config.h>

#define DIRECTORY   RTE_EAL_PMD_PATH
#define DESCRIPTION "PMD_INFO_STRING= "

// "" if there is no such text.
static const char *text_of(const cJSON *root, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, key));

	return text != NULL ? text : "";
}

// Returns whether the description is of this driver.
static bool read_description(struct drivers_port *port, const char *driver, const char *text)
{
	cJSON *root = cJSON_Parse(text);
	bool is_its = strcmp(text_of(root, "name"), driver) == 0;

	if (is_its) {
		snprintf(port->parameters, sizeof(port->parameters), "%s", text_of(root, "params"));
		snprintf(port->kernel_drivers, sizeof(port->kernel_drivers), "%s",
			 text_of(root, "kmod"));
	}
	cJSON_Delete(root);
	return is_its;
}

// A driver's file contains each argument that the driver knows as a string, which may be the end of
// another string, since linkers merge strings.
static bool knows(const struct drivers_port *port, const uint8_t *bytes, size_t size,
		  const char *name)
{
	char assigned[EVB_NAME_SIZE + 1];

	snprintf(assigned, sizeof(assigned), "%s=", name);
	return strstr(port->parameters, assigned) != NULL ||
	       memmem(bytes, size, name, strlen(name) + 1) != NULL;
}

void drivers_scan(struct drivers_port *port, const char *driver, const struct port_settings *config,
		  const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;
	const char *at = memmem(bytes, size, DESCRIPTION, strlen(DESCRIPTION));

	while (at != NULL) {
		const uint8_t *text = (const uint8_t *)at + strlen(DESCRIPTION);
		size_t left = (size_t)(end - text);

		// The description ends with a zero, unless the file is damaged.
		if (memchr(text, 0, left) == NULL ||
		    read_description(port, driver, (const char *)text))
			break;
		at = memmem(text, left, DESCRIPTION, strlen(DESCRIPTION));
	}
	for (unsigned i = 0; i < config->n_options; i++)
		port->knows[i] = knows(port, bytes, size, config->options[i].name);
}

static void read_library(struct drivers_port *port, const struct host_system *system,
			 const char *driver, const struct port_settings *config)
{
	char path[SYSFS_PATH_SIZE];
	struct stat status;
	void *bytes;
	int file;

	if (snprintf(path, sizeof(path), "%s%s", system->root, port->library) >= (int)sizeof(path))
		return;
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	port->installed = true;
	for (unsigned i = 0; i < PORT_MAX_OPTIONS; i++)
		port->knows[i] = true; // without a readable file, DPDK checks the option
	if (fstat(file, &status) == 0 && status.st_size > 0) {
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
		if (bytes != MAP_FAILED) {
			drivers_scan(port, driver, config, bytes, (size_t)status.st_size);
			munmap(bytes, (size_t)status.st_size);
		}
	}
	close(file);
}

// DPDK names the folder after the version of its libraries, "pmds-23.0".
static const char *library_version(void)
{
	const char *dash = strrchr(DIRECTORY, '-');

	return dash != NULL ? dash + 1 : "";
}

// Whether the file of a driver exists; name: of `length` characters, without "librte_" and ".so".
// The development package has a file without a version; where that package is not installed, as in
// a container, the version follows the name.
static bool set_library(struct drivers_port *port, const struct host_system *system,
			const char *prefix, const char *name, int length)
{
	snprintf(port->library, sizeof(port->library), DIRECTORY "/librte_%s%.*s.so.%s", prefix,
		 length, name, library_version());
	if (sysfs_exists(system->root, "%s", port->library))
		return true;
	snprintf(port->library, sizeof(port->library), DIRECTORY "/librte_%s%.*s.so", prefix,
		 length, name);
	return sysfs_exists(system->root, "%s", port->library);
}

static void read_port(struct drivers_port *port, const struct check *check, unsigned index)
{
	const char *driver = check->plan->ports[index].profile.driver;
	const char *last = strrchr(driver, '_');
	int all = (int)strlen(driver), length = last != NULL ? (int)(last - driver) : all;

	port->looked = sysfs_exists(check->system->root, DIRECTORY);
	if (!port->looked)
		return; // DPDK is linked into the program, or lies elsewhere
	// One file may contain several drivers: net_virtio_user is in the file of net_virtio, and
	// mlx5_eth in that of net_mlx5. The last name that was tried is reported as missing.
	if (!set_library(port, check->system, "", driver, length) &&
	    !set_library(port, check->system, "net_", driver, length) &&
	    strncmp(driver, "net_", 4) == 0)
		(void)set_library(port, check->system, "", driver, all);
	read_library(port, check->system, driver, &check->plan->config->ports[index]);
}

void drivers_read(struct check *check)
{
	for (unsigned i = 0; check->plan != NULL && i < check->plan->config->n_ports; i++)
		read_port(&check->drivers[i], check, i);
}

// The name of the Debian package with a driver's file: "librte-net-af-xdp23", "librte-net-mlx5-23".
static void package_name(const char *library, char *text, size_t size)
{
	const char *name = strrchr(library, '/') + 1;
	int length = (int)strcspn(name, ".");
	bool digit = length > 0 && isdigit((unsigned char)name[length - 1]);
	unsigned number = 0;

	(void)sscanf(library_version(), "%u", &number); // 0 if the name has another form
	snprintf(text, size, "%.*s%s%u", length, name, digit ? "-" : "", number);
	for (char *c = text; *c != '\0'; c++)
		if (*c == '_')
			*c = '-';
}

void drivers_judge(struct check *check, unsigned index)
{
	const struct port_settings *config = &check->plan->config->ports[index];
	const char *driver = check->plan->ports[index].profile.driver;
	const struct drivers_port *port = &check->drivers[index];
	bool lists = port->parameters[0] != '\0';
	char package[2 * EVB_NAME_SIZE];

	if (port->looked && !port->installed) {
		package_name(port->library, package, sizeof(package));
		report_add(check->report, HOST_FAIL,
			   "port %s: DPDK's driver %s is not installed, there is no %s" REMEDY
			   "as root: apt-get install %s",
			   config->name, driver, port->library, package);
	}
	for (unsigned i = 0; port->installed && i < config->n_options; i++)
		if (!port->knows[i])
			report_add(check->report, HOST_FAIL,
				   "ports[%u].options.%s: driver %s knows no such argument" REMEDY
				   "%s%.300s",
				   index, config->options[i].name, driver,
				   lists ? "it knows " : "DPDK's guide of the driver lists them",
				   port->parameters);
}
