# SPDX-License-Identifier: BSD-3-Clause
# evb as a container: build, test, and the image that runs, which holds nothing else.
# docs/container.md has the run lines.
ARG BASE=docker.io/library/debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY dev .
RUN ./dev install build
COPY . .
# The program is optimized when it is linked; for the tests, which are many, that would take too long.
RUN meson setup build-program -Dtests=false -Db_lto=true
RUN ninja -C build-program
RUN meson install -C build-program --no-rebuild --destdir /install --strip

FROM build AS test
# "no" where they have run already: tests/functional/image_try.sh in CI.
ARG UNIT_TESTS=yes
RUN [ "$UNIT_TESTS" != yes ] || { meson setup build && ninja -C build; }
RUN [ "$UNIT_TESTS" != yes ] || meson test -C build --no-rebuild --no-suite functional --print-errorlogs --timeout-multiplier 4

FROM ${BASE} AS runtime
# The drivers are plugins: no program names them, so the packages are listed. Keep sorted.
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        hdf5-filter-plugin-blosc-serial \
        libbpf1 \
        libcjson1 \
        libhdf5-103-1 \
        libisal2 \
        libmicrohttpd12 \
        libncursesw6 \
        libmnl0 \
        libnuma1 \
        libpcap0.8 \
        librte-bus-pci23 \
        librte-bus-vdev23 \
        librte-eal23 \
        librte-ethdev23 \
        librte-mbuf23 \
        librte-mempool-ring23 \
        librte-mempool23 \
        librte-net-af-packet23 \
        librte-net-af-xdp23 \
        librte-net-bnxt23 \
        librte-net-enic23 \
        librte-net-i40e23 \
        librte-net-ice23 \
        librte-net-ixgbe23 \
        librte-net-memif23 \
        librte-net-mlx5-23 \
        librte-net-null23 \
        librte-net-pcap23 \
        librte-net-ring23 \
        librte-net-tap23 \
        librte-net-virtio23 \
        librte-pcapng23 \
        librte-ring23 \
        librte-telemetry23 \
        libsodium23 \
        libsystemd0 \
        libtinfo6 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
        /usr/share/doc/* /usr/share/info/* /usr/share/locale/* /usr/share/man/* \
        /usr/lib/udev/hwdb.bin /usr/lib/udev/hwdb.d /var/log/*.log /var/log/apt
# From the test stage: an image whose unit tests fail is not built.
COPY --from=test /install/usr/local/bin/evb /usr/local/bin/evb
COPY configs /etc/evb
COPY pmd-config /etc/evb/pmd-config
# Every library that the program needs is there, and it starts.
RUN evb --help >/dev/null

LABEL org.opencontainers.image.title="evb" \
      org.opencontainers.image.description="Event builder on DPDK" \
      org.opencontainers.image.licenses="BSD-3-Clause"
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["evb", "stat", "/evb/summary"]
ENTRYPOINT ["evb"]
CMD ["run", "/etc/evb/demo.json"]
