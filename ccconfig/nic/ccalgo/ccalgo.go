// Package ccalgo names the congestion-control algorithm of a RoCE NIC port, by its PCI vendor and driver and, for NVIDIA NICs, by
// the status of the firmware's algorithm slots. Parameters of DCQCN mean nothing under another algorithm, even where their
// files exist, their values are read back and notifications are counted.
//
// Sources: the in-tree drivers mlx5, bnxt_re, irdma and ionic of Linux, the vendors' out-of-tree drivers and their documents, as
// listed in docs/nics.md. Nothing here has been tested on hardware.
package ccalgo

import (
	"strings"

	"fairlane/internal/phrase"
)

// Name is the name of an algorithm.
type Name string

// Names. Only the first two are DCQCN with the parameters of ccconfig/dcqcn.
const (
	DCQCN        Name = "dcqcn"            // the firmware's status shows DCQCN as the only active algorithm
	Unverified   Name = "dcqcn-unverified" // an NVIDIA NIC whose status could not be read, or is inconclusive
	Programmable Name = "programmable"     // NVIDIA programmable congestion control: another algorithm is active
	Inactive     Name = "inactive"         // an NVIDIA NIC with neither an active algorithm nor the fixed-function DCQCN
	Thor         Name = "bnxt"             // Broadcom: rate tables and RTT epochs
	Window       Name = "irdma"            // Intel: congestion windows, off by default
	Profiles     Name = "ionic"            // AMD Pensando: profiles per queue pair
	Unknown      Name = "unknown"          // any other NIC
)

// IsDCQCN reports whether the parameters of DCQCN may be written. An empty name is that of an agent that does not report one.
func (n Name) IsDCQCN() bool { return n == "" || n == DCQCN || n == Unverified }

// State is the algorithm of one port.
type State struct {
	Name     Name   `json:"name"`
	Driver   string `json:"driver"`             // network driver, without its release
	Model    string `json:"model,omitempty"`    // of the card
	NetDev   string `json:"net_dev,omitempty"`  // network device of the port on its host
	Evidence string `json:"evidence,omitempty"` // what shows it, in English
}

// PCI vendor numbers.
const (
	vendorNVIDIA   = "0x15b3"
	vendorBroadcom = "0x14e4"
	vendorIntel    = "0x8086"
	vendorAMD      = "0x1dd8"
)

// Of returns the algorithm by PCI vendor and network driver, such as "0x14e4" and "bnxt_en 1.10". The two must match: drivers of
// other vendors use the same parameter names with other meanings. A release after the driver's name is ignored.
func Of(vendor, driver string) Name {
	switch name := Bare(driver); {
	case vendor == vendorNVIDIA && name == "mlx5_core":
		return Unverified
	case vendor == vendorBroadcom && name == "bnxt_en":
		return Thor
	case vendor == vendorIntel && (name == "ice" || name == "i40e" || name == "idpf"):
		return Window
	case vendor == vendorAMD && name == "ionic":
		return Profiles
	}
	return Unknown
}

// Bare returns the name of a driver without its release.
func Bare(driver string) string {
	name, _, _ := strings.Cut(driver, " ")
	return name
}

// Vendor returns the vendor of the NICs of an algorithm; empty for Unknown.
func (n Name) Vendor() string {
	switch n {
	case DCQCN, Unverified, Programmable, Inactive:
		return "NVIDIA"
	case Thor:
		return "Broadcom"
	case Window:
		return "Intel"
	case Profiles:
		return "AMD"
	case Unknown:
	}
	return ""
}

// Title describes the algorithm. An unknown name is that of a later agent.
func (n Name) Title() phrase.Text {
	switch n {
	case DCQCN:
		return phrase.Of("ccalgo.dcqcn")
	case Unverified:
		return phrase.Of("ccalgo.dcqcn-unverified")
	case Programmable:
		return phrase.Of("ccalgo.programmable")
	case Inactive:
		return phrase.Of("ccalgo.inactive")
	case Thor:
		return phrase.Of("ccalgo.bnxt")
	case Window:
		return phrase.Of("ccalgo.irdma")
	case Profiles:
		return phrase.Of("ccalgo.ionic")
	case Unknown:
	}
	return phrase.Of("ccalgo.unknown")
}

// Fix states what Fairlane would need to manage a port with the algorithm; the zero Text for DCQCN.
func (n Name) Fix() phrase.Text {
	switch n {
	case DCQCN, Unverified, "":
		return phrase.Text{}
	case Programmable:
		return phrase.Of("ccalgo.programmable.fix")
	case Inactive:
		return phrase.Of("ccalgo.inactive.fix")
	case Thor:
		return phrase.Of("ccalgo.bnxt.fix")
	case Window:
		return phrase.Of("ccalgo.irdma.fix")
	case Profiles:
		return phrase.Of("ccalgo.ionic.fix")
	case Unknown:
	}
	return phrase.Of("ccalgo.unknown.fix")
}
