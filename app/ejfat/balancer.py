# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026, the evb authors
"""Calls of a load balancer's control plane, by gRPC (loadbalancer.proto)."""

import importlib
import os
import ssl
import subprocess
import sys
import tempfile
import time

# gRPC's own lines about what CallFailed reports.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

try:
    import grpc
except ImportError:
    grpc = None

from refusal import Refusal

PACKAGES = "python3-grpcio python3-protobuf protobuf-compiler"
SERVICE = "/loadbalancer.LoadBalancer/"
FOLDER = os.path.dirname(os.path.realpath(__file__))
CALL_S = 5.0

# What another attempt does not change.
_FINAL = ("UNAUTHENTICATED", "PERMISSION_DENIED", "INVALID_ARGUMENT", "NOT_FOUND",
          "FAILED_PRECONDITION", "UNIMPLEMENTED", "OUT_OF_RANGE")
_REMEDIES = {
    "UNAUTHENTICATED": "take the EJFAT_URI of a reservation that has not ended",
    "PERMISSION_DENIED": "the token of EJFAT_URI is wrong, or the reservation has ended: "
                         "`evb-ejfat reserve` makes one",
    "UNAVAILABLE": "check the address in EJFAT_URI, and whether it must begin with ejfats://",
    "DEADLINE_EXCEEDED": "check the address in EJFAT_URI, and firewalls on the path",
    "RESOURCE_EXHAUSTED": "free a reservation",
    "UNIMPLEMENTED": "the balancer's control plane must be that of udplbd 2",
}


class CallFailed(Exception):
    """A call without a reply. final: another attempt does not help."""

    def __init__(self, method, target, code, details):
        self.final = code in _FINAL
        self.code = code
        text = f"balancer {target}: {method}: {code}: {' '.join((details or '').split())}"
        super().__init__(text + (f"; {_REMEDIES[code]}" if code in _REMEDIES else ""))


def _generate():
    """The module of the protocol's messages, made by protoc for the installed protobuf."""
    with tempfile.TemporaryDirectory(prefix="evb-ejfat-") as folder:
        try:
            made = subprocess.run(["protoc", f"-I{FOLDER}", f"--python_out={folder}",
                                   "loadbalancer.proto"], capture_output=True, text=True,
                                  check=False)
        except FileNotFoundError:
            raise Refusal(f"protoc is not installed: apt-get install {PACKAGES}") from None
        if made.returncode != 0:
            raise Refusal("protoc does not accept loadbalancer.proto: "
                          f"{' '.join(made.stderr.split())}")
        sys.path.insert(0, folder)
        try:
            return importlib.import_module("loadbalancer_pb2")
        except ImportError:
            raise Refusal("protobuf for Python is not installed: apt-get install "
                          f"{PACKAGES}") from None
        finally:
            sys.path.remove(folder)


def _credentials(ca_file):
    path = ca_file or ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"
    try:
        with open(path, "rb") as file:
            return grpc.ssl_channel_credentials(file.read())
    except OSError as error:
        raise Refusal(f"--ca: {path}: {error.strerror}: name the file of the authority that signed "
                      "the balancer's certificate") from None


def _is_tls_failure(details):
    text = (details or "").lower()
    return "certificate" in text or "ssl handshake failed" in text


class Balancer:
    """A client of the balancer of an EjfatUri, for one thread. It connects when it is called; after
    a call that found no connection the next one starts again."""

    def __init__(self, uri, ca_file=None, server_name=None):
        if grpc is None:
            raise Refusal(f"gRPC for Python is not installed: apt-get install {PACKAGES}")
        self.uri = uri
        self.messages = _generate()
        self._credentials = _credentials(ca_file) if uri.tls else None
        self._options = [("grpc.use_local_subchannel_pool", 1)]
        if server_name:
            self._options.append(("grpc.ssl_target_name_override", server_name))
        self._channel = None

    def close(self):
        if self._channel:
            self._channel.close()
        self._channel = None

    def _connect(self):
        """gRPC's own attempts to connect again make no progress between calls, and calls fail at
        once until they succeed: a new channel has neither."""
        if self._credentials:
            return grpc.secure_channel(self.uri.target(), self._credentials, self._options)
        return grpc.insecure_channel(self.uri.target(), self._options)

    def call(self, method, token=None, timeout_s=CALL_S, **fields):
        """The reply to METHODRequest with these fields. CallFailed, or Refusal of a certificate."""
        self._channel = self._channel or self._connect()
        request = getattr(self.messages, f"{method}Request")(**fields)
        reply = getattr(self.messages, f"{method}Reply")
        call = self._channel.unary_unary(SERVICE + method,
                                         request_serializer=lambda message:
                                         message.SerializeToString(),
                                         response_deserializer=reply.FromString)
        bearer = f"Bearer {token or self.uri.token}"
        try:
            return call(request, timeout=timeout_s, metadata=(("authorization", bearer),))
        except grpc.RpcError as error:
            code, details = error.code().name, error.details()
        if code in ("UNAVAILABLE", "DEADLINE_EXCEEDED"):
            self.close()
        if self.uri.tls and code == "UNAVAILABLE" and _is_tls_failure(details):
            raise Refusal(f"balancer {self.uri.target()}: its certificate is not accepted: "
                          f"{' '.join(details.split())}; give the authority's with --ca, and the "
                          "certificate's name with --server-name")
        raise CallFailed(method, self.uri.target(), code, details)


def timestamp(messages, at=None):
    """Timestamp of a time in seconds, now without it."""
    seconds, nanos = divmod(time.time_ns() if at is None else int(at * 1e9), 10**9)
    return messages.Timestamp(seconds=seconds, nanos=nanos)


class Backoff:
    """Waits between attempts, in seconds: each twice as long as the one before."""

    FIRST_S, MOST_S = 0.5, 8.0

    def __init__(self):
        self._next = self.FIRST_S

    def next(self):
        wait, self._next = self._next, min(2 * self._next, self.MOST_S)
        return wait
