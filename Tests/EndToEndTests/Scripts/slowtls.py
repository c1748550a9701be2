"""`slowtls.py PORT COUNT CA HOST PATH`: asks for an https URL on as many connections through the proxy, over HTTP/1.1, reads
how each response begins and nothing more, says `ready`, and waits to be ended."""
import socket
import ssl
import sys
import time

port, count, authority, host, path = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
context = ssl.create_default_context(cafile=authority)
context.set_alpn_protocols(["http/1.1"])
held = []
for _ in range(count):
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    plain.settimeout(300)
    plain.connect(("127.0.0.1", port))
    plain.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += plain.recv(1)
    assert head.startswith(b"HTTP/1.1 200 "), head
    connection = context.wrap_socket(plain, server_hostname=host)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    held.append(connection)
print("ready", flush=True)
time.sleep(3600)
