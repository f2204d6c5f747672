package app

import (
	"fairlane/command/demo"
	"fairlane/sim/live"
)

// rig is a demo whose live fabric and manager tests can reach.
type rig struct {
	*demo.Demo
	fabric  demo.Fabric
	live    *live.InfiniBand // nil on Ethernet
	ether   *live.Ethernet   // nil on InfiniBand
	manager *manager
}

func newRig(f demo.Fabric, m *manager, timeScale float64) *rig {
	return &rig{Demo: demo.New(f, m, timeScale, func(string, ...any) {}), fabric: f, manager: m}
}

// source is where the manager finds the fabric.
func (d *rig) source() string { return d.fabric.Source() }
