// Package rdma, for tests: this file replaces rdma_ops.go of rdma-cni in the build of its program, and nothing else of it. It stands for
// the kernel, whose RDMA netlink needs a device. The tree below FAIRLANE_TEST_RDMA has the devices of the host as sysfs shows them, and
// a folder "moved" with the devices that are in other network namespaces. The file "netns" of such a device has the inode of its
// namespace; the file "host-netns" has that of the host. Like the kernel, it refuses to move a device that the caller's network
// namespace does not have.
package rdma

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

type BasicOps interface {
	RdmaLinkByName(name string) (*netlink.RdmaLink, error)
	RdmaLinkSetNsFd(link *netlink.RdmaLink, fd uint32) error
	RdmaSystemGetNetnsMode() (string, error)
	RdmaSystemSetNetnsMode(newMode string) error
	GetRdmaDevicesForPcidev(pcidevName string) []string
	GetRdmaDevicesForAuxdev(auxDev string) []string
}

func newRdmaBasicOps() BasicOps { return ops{os.Getenv("FAIRLANE_TEST_RDMA")} }

type ops struct{ root string }

func (o ops) moved(name string) string { return filepath.Join(o.root, "moved", name) }

func inode(path string) (uint64, error) {
	var s unix.Stat_t
	err := unix.Stat(path, &s)
	return s.Ino, err
}

// host returns the network namespace of the host.
func (o ops) host() (uint64, error) {
	text, err := os.ReadFile(o.root + "/host-netns")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// here returns the network namespace of the calling thread, and whether it is that of the host.
func (o ops) here() (ino uint64, host bool, err error) {
	if ino, err = inode(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())); err != nil {
		return 0, false, err
	}
	of, err := o.host()
	return ino, ino == of, err
}

func (o ops) RdmaLinkByName(name string) (*netlink.RdmaLink, error) {
	ino, host, err := o.here()
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(o.moved(name) + "/netns")
	at := strings.TrimSpace(string(text))
	if host != os.IsNotExist(err) || !host && at != fmt.Sprint(ino) {
		return nil, fmt.Errorf("%s is not in this network namespace: %w", name, unix.ENODEV)
	}
	out := &netlink.RdmaLink{}
	out.Attrs.Name = name
	return out, nil
}

func (o ops) RdmaLinkSetNsFd(link *netlink.RdmaLink, fd uint32) error {
	name := link.Attrs.Name
	to, err := inode(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return err
	}
	host, err := o.host()
	if err != nil {
		return err
	}
	class := o.root + "/sys/class/infiniband/" + name
	if to != host {
		if err := os.MkdirAll(o.moved(name), 0o755); err != nil {
			return err
		}
		target, err := os.Readlink(class)
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.moved(name)+"/class", []byte(target), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(o.moved(name)+"/netns", []byte(fmt.Sprint(to)), 0o600); err != nil {
			return err
		}
		from := filepath.Join(filepath.Dir(class), target)
		if err := os.Rename(from, o.moved(name)+"/device"); err != nil {
			return err
		}
		return os.Remove(class)
	}
	target, err := os.ReadFile(o.moved(name) + "/class")
	if err != nil {
		return err
	}
	if err := os.Rename(o.moved(name)+"/device", filepath.Join(filepath.Dir(class), string(target))); err != nil {
		return err
	}
	if err := os.Symlink(string(target), class); err != nil {
		return err
	}
	return os.RemoveAll(o.moved(name))
}

func (o ops) RdmaSystemGetNetnsMode() (string, error) {
	text, err := os.ReadFile(o.root + "/netns-mode")
	return strings.TrimSpace(string(text)), err
}

func (o ops) RdmaSystemSetNetnsMode(string) error { return unix.EPERM }

func names(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func (o ops) GetRdmaDevicesForPcidev(id string) []string {
	return names(o.root + "/sys/bus/pci/devices/" + id + "/infiniband")
}

func (o ops) GetRdmaDevicesForAuxdev(id string) []string {
	return names(o.root + "/sys/bus/auxiliary/devices/" + id + "/infiniband")
}
