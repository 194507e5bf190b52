# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""EJFAT_URI, which holds the address of a load balancer and the right to use it:

    ejfat[s]://[TOKEN@]HOST:PORT/[lb/ID][?sync=ADDRESS:PORT&data=ADDRESS[:PORT[-PORT]]&sessionid=ID]

Forms: E2SAR 0.3.2 (src/e2sarUtil.cpp) and udplbd 2.3.1 (src/api/client.rs). `ejfats` is TLS.
IPv6 addresses stand in brackets; `sync` and `data` may be given once per IP version.
"""

import dataclasses
import ipaddress
import urllib.parse

from refusal import Refusal

DATA_PORT = 19522  # where a URI names none


def _port(text, what, lowest=1):
    if not text.isascii() or not text.isdigit() or not lowest <= int(text) <= 65535:
        raise Refusal(f"EJFAT_URI: {what}: \"{text}\" is no port from {lowest} to 65535")
    return int(text)


def _endpoint(text, what):
    """(address, text behind the colon or None)"""
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, None
    try:
        return ipaddress.ip_address(host.strip("[]")), port
    except ValueError:
        raise Refusal(f"EJFAT_URI: {what}: \"{host}\" is no IP address; IPv6 addresses stand in "
                      "brackets") from None


def host_and_port(address, port):
    """As in a URI."""
    text = str(address)
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"


@dataclasses.dataclass
class EjfatUri:
    """Addresses are ipaddress objects or None. sync: [(address, port)], data: [address]; the first
    ones are IPv4 if there are any."""

    tls: bool
    host: str
    port: int
    token: str = dataclasses.field(default="", repr=False)
    lb_id: str = ""
    session_id: str = ""
    sync: list = dataclasses.field(default_factory=list)
    data: list = dataclasses.field(default_factory=list)

    def target(self):
        return host_and_port(self.host, self.port)

    def __str__(self):
        """The URI with its token, without UDP ports of data."""
        query = [f"sync={host_and_port(*self.sync[0])}"] if self.sync else []
        query += [f"data=[{a}]" if a.version == 6 else f"data={a}" for a in self.data]
        if self.session_id:
            query.append(f"sessionid={urllib.parse.quote(self.session_id, safe='')}")
        return (f"ejfat{'s' if self.tls else ''}://"
                + (f"{urllib.parse.quote(self.token, safe='')}@" if self.token else "")
                + f"{self.target()}/"
                + (f"lb/{urllib.parse.quote(self.lb_id, safe='')}" if self.lb_id else "")
                + ("?" + "&".join(query) if query else ""))


def _path(text):
    """ID of /lb/ID; "" of an empty path."""
    parts = [urllib.parse.unquote(part) for part in text.split("/") if part]
    if not parts:
        return ""
    if len(parts) != 2 or parts[0] != "lb":
        raise Refusal(f"EJFAT_URI: \"{text}\" is not /lb/ID of a reservation")
    return parts[1]


def _query(uri, text):
    for pair in filter(None, text.split("&")):
        key, _, value = pair.partition("=")
        value = urllib.parse.unquote(value)
        if key == "sessionid":
            uri.session_id = value
        elif key == "sync":
            address, port = _endpoint(value, key)
            if port is None:
                raise Refusal(f"EJFAT_URI: sync: \"{value}\" lacks the port, as in ADDRESS:PORT")
            uri.sync.append((address, _port(port, key)))
        elif key == "data":
            address, port = _endpoint(value, key)
            for end in port.split("-", 1) if port is not None else ():
                _port(end, key)
            uri.data.append(address)
        else:
            raise Refusal(f"EJFAT_URI: \"{key}\" is none of sync, data, sessionid")
    uri.sync.sort(key=lambda entry: entry[0].version)
    uri.data.sort(key=lambda address: address.version)


def parse(text):
    """EjfatUri of a URI. Refusals do not contain the token."""
    text = text.strip()
    text = text.removeprefix("export ").removeprefix("EJFAT_URI=").strip("'\"")
    scheme, separator, rest = text.partition("://")
    if scheme not in ("ejfat", "ejfats") or not separator:
        raise Refusal("EJFAT_URI: does not begin with ejfat:// or ejfats://")
    rest, _, query = rest.partition("?")
    authority, _, path = rest.partition("/")
    token, _, authority = authority.rpartition("@")
    host, colon, port = authority.rpartition(":")
    if not colon or not host.strip("[]") or port.endswith("]"):
        raise Refusal(f"EJFAT_URI: \"{authority}\" is not HOST:PORT of the balancer")
    uri = EjfatUri(tls=scheme == "ejfats", host=host.strip("[]"), port=_port(port, "the balancer"),
                   token=urllib.parse.unquote(token), lb_id=_path(path))
    _query(uri, query)
    return uri
