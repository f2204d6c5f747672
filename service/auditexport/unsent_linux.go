package auditexport

import (
	"net"

	"golang.org/x/sys/unix"
)

// unsent returns the number of bytes that the other host has not acknowledged yet.
func unsent(conn net.Conn) (n int, err error) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 0, nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	if controlErr != nil {
		return 0, controlErr
	}
	return n, err
}
