#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# after_install.sh LIBRARIES DISSECTORS: says what is left to do after `meson install`. Packages are
# installed by DESTDIR, and do these steps by themselves.
[ -z "${DESTDIR:-}" ] || exit 0
libraries=$1 dissectors=$2
echo "Run ldconfig as root, so that programs find libevb-*.so in $libraries."
case $dissectors in
/usr/local/*)
    echo "Wireshark looks for dissectors in /usr/lib: to use those of evb, run"
    echo "    mkdir -p ~/.local/lib/wireshark/plugins"
    echo "    ln -s $dissectors/*.lua ~/.local/lib/wireshark/plugins/"
    ;;
esac
echo "'ninja uninstall' in the build folder removes what was installed."
