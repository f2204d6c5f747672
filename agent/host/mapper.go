package host

import (
	"slices"

	"github.com/Mellanox/rdmamap"

	"fairlane/ccconfig/nic/nicfiles"
)

// rdmaMap is rdmamap, for the root of the host, whose directories are constants there. Only its mapping is used, not its
// counters: unreadable ones are 0 there.
type rdmaMap struct{}

func (rdmaMap) devices(pci string) []string {
	return slices.Sorted(slices.Values(rdmamap.GetRdmaDevicesForPcidev(pci)))
}

func (rdmaMap) ports(device string) []string {
	return slices.Sorted(slices.Values(rdmamap.GetPorts(device)))
}

// fileMap does the same with files below any root.
type fileMap struct{ files nicfiles.Files }

func (m fileMap) list(dir string) []string {
	names, err := m.files.List(dir)
	if err != nil {
		return nil
	}
	return names
}

func (m fileMap) devices(pci string) []string {
	return m.list("sys/bus/pci/devices/" + pci + "/infiniband")
}

func (m fileMap) ports(device string) []string { return m.list(rdmaClass + device + "/ports") }
