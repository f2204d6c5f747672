package host

import (
	"slices"

	"github.com/Mellanox/rdmamap"
	"github.com/k8snetworkplumbingwg/rdma-cni/pkg/rdma"

	"fairlane/ccconfig/nic/nicfiles"
)

// rdmaMap uses packages rdma and rdmamap, which read the host's own /sys. Counters of rdmamap are not used: it reports
// unreadable ones as 0. Names must be checked first: the packages put them into paths.
type rdmaMap struct{ manager rdma.Manager }

func newRDMAMap() rdmaMap { return rdmaMap{rdma.NewRdmaManager()} }

func (m rdmaMap) devices(pci string) []string {
	return slices.Sorted(slices.Values(m.manager.GetRdmaDevsForPciDev(pci)))
}

func (m rdmaMap) auxiliary(name string) []string {
	return slices.Sorted(slices.Values(m.manager.GetRdmaDevsForAuxDev(name)))
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
	return m.list(pciDevices + pci + "/infiniband")
}

func (m fileMap) auxiliary(name string) []string {
	return m.list(auxDevices + name + "/infiniband")
}

func (m fileMap) ports(device string) []string { return m.list(rdmaClass + device + "/ports") }
