"""A network between a ledger and its server that can be cut, also in the middle of a COMMIT."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Listens on a port of its own and passes everything on, until it is told to cut.

    `cut` is None, "before" (the server never sees the next COMMIT) or "after" (it commits, and its answer is lost).
    """

    def __init__(self, port: int) -> None:
        self._server, self.cut, self._deaf = port, None, False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server))
            self._open += [client, server]
            for source, target, asks in ((client, server, True), (server, client, False)):
                threading.Thread(target=self._pass, args=(source, target, asks), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                last = asks and self.cut is not None and b"COMMIT\0" in data
                self._deaf = self._deaf or last
                if (last and self.cut == "before") or (self._deaf and not asks):
                    break
                target.sendall(data)
        _close(source, target)

    def drop(self) -> None:
        """Cut every connection."""
        _close(*self._open)
        self._open = []

    def close(self) -> None:
        """Accept nobody any more, and cut everything."""
        _close(self._listener)
        self.drop()


def _close(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
