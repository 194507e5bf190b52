#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# debian.sh FOLDER LIST: builds unsigned Debian packages, in a new folder, of the files of this tree that
# are listed in a file. Their version is that of meson.build with the time and the name of the commit,
# so that packages of later commits replace those of earlier ones. Their maintainer is who builds them,
# if DEBEMAIL and DEBFULLNAME say so (dch(1)), or else one of no known address.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

git() { command git -c safe.directory='*' "$@"; }

folder=$1 list=$2
version=$(sed -n "s/^ *version: '\(.*\)',$/\1/p" meson.build | head -n 1)+git$(
    TZ=UTC git log -1 --format=%cd.%h --date=format-local:%Y%m%d%H%M%S)

rm -rf "$folder"
mkdir -p "$folder/source"
tar --create --files-from="$list" | tar --extract --directory "$folder/source"
[ -z "${DEBEMAIL:-}" ] ||
    sed -i "s/^Maintainer: .*/Maintainer: ${DEBFULLNAME:-evb developers} <$DEBEMAIL>/" "$folder/source/debian/control"
cat >"$folder/source/debian/changelog" <<END
evb ($version) unstable; urgency=medium

  * CHANGELOG.md lists the changes.

 -- $(sed -n 's/^Maintainer: //p' "$folder/source/debian/control")  $(git log -1 --format=%cD)
END
(cd "$folder/source" && dpkg-buildpackage --build=binary --no-sign)
rm -rf "$folder/source"
