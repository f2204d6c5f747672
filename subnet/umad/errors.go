package umad

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// ErrRemoved is wrapped when the device was removed while its file was open: the adapter was unplugged, reset, or its
// driver unloaded. Opening the port again may succeed.
var ErrRemoved = errors.New("the channel adapter was removed or its driver reloaded")

// AbsentError means that a port has no umad file.
type AbsentError struct {
	Name  Name
	There []Port // the ports with one
}

// Error names the existing ports.
func (e *AbsentError) Error() string {
	var ports, cas []string
	for _, p := range e.There {
		ports = append(ports, p.Name.String())
		if p.Name.CA == e.Name.CA {
			cas = append(cas, p.Name.String())
		}
	}
	switch {
	case len(cas) > 0:
		return fmt.Sprintf("port %s: %s has no port %d: want %s", e.Name, e.Name.CA, e.Name.Port, strings.Join(cas, " or "))
	case len(ports) > 0:
		return fmt.Sprintf("port %s: no channel adapter %s here: want one of %s", e.Name, e.Name.CA, strings.Join(ports, ", "))
	}
	return fmt.Sprintf("port %s: no channel adapter has a umad file here: is its driver loaded, and does this container see it?", e.Name)
}

// openError adds to an error why a device file cannot be opened, and the remedy.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w%s: want a group with access, for example by the udev rule "+
			`KERNEL=="umad*", SUBSYSTEM=="infiniband_mad", GROUP="umad", MODE="0660"`+
			", and this user in it", err, owner(path))
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: want the network namespace of the adapter, which is a different one where `rdma system` says netns exclusive, "+
			"and a device controller that allows the file", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w, though the kernel has the device: want the file that udev creates; in a container, mount the host's file", err)
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.EIO):
		return fmt.Errorf("%w: %w", ErrRemoved, err)
	}
	return err
}

// owner describes the mode and owner of a file, and the current user; empty if the file cannot be read.
func owner(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	who := ""
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		who = fmt.Sprintf(" of user %d, group %d", s.Uid, s.Gid)
	}
	return fmt.Sprintf(" (it has mode %04o%s; this is user %d, group %d)", st.Mode().Perm(), who, os.Geteuid(), os.Getegid())
}

// ioError converts the error of a read or a write on a removed device.
func ioError(operation string, err error) error {
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("%s: %w: %w", operation, ErrRemoved, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}
