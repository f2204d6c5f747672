package host

import (
	"slices"

	"github.com/Mellanox/rdmamap"

	"fairlane/ccconfig/nic/nicfiles"
)

// rdmaMap uses package rdmamap, which reads the host's own /sys alone. Its counters are not used: it reports unreadable ones as 0.
type rdmaMap struct{}

func (rdmaMap) devices(pci string) []string {
	return slices.Sorted(slices.Values(rdmamap.GetRdmaDevicesForPcidev(pci)))
}

func (rdmaMap) ports(device string) []string {
	return slices.Sorted(slices.Values(rdmamap.GetPorts(device)))
}

// fileMap does the same for files below another root.
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
