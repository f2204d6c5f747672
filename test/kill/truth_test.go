package kill

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"fairlane/ccconfig/ibcc"
	"fairlane/sim/fabric"
	"fairlane/sim/simdev"
	"fairlane/subnet"
	"fairlane/subnet/ident"
)

// digest identifies all congestion-control settings of one device.
type digest [sha256.Size]byte

// truth is what the devices hold, read directly from the simulated devices without a manager.
type truth map[string]digest

// devices is the test's access to the fabric: it reads without the managers, and restarts devices.
type devices struct {
	sim  *simdev.Devices
	topo *subnet.Fabric

	mu sync.Mutex
	// restarted are the devices that lost their settings and have not been seen with settings since.
	restarted map[string]bool
}

// read returns what every device holds, at one time.
func (d *devices) read() truth {
	out := truth{}
	d.sim.With(func(n *fabric.Network) {
		for at := range d.topo.Nodes {
			for name, text := range settingsOf(n, d.topo, int32(at)) {
				out[name] = sha256.Sum256([]byte(text))
			}
		}
	})
	return out
}

// settingsOf prints the settings of a node's devices. It omits entries of a table beyond its limit, which have no
// effect.
func settingsOf(n *fabric.Network, topo *subnet.Fabric, at int32) map[string]string {
	node := &topo.Nodes[at]
	if node.Kind == subnet.KindSwitch {
		text := fmt.Sprintf("%+v", n.SwitchCC(at))
		for num := range len(node.Ports) {
			text += fmt.Sprintf(" %d:%+v", num, n.PortMarking(at, ident.PortNum(num)))
		}
		return map[string]string{node.Name: text}
	}
	out := map[string]string{}
	for num := 1; num < len(node.Ports); num++ {
		p := ident.PortNum(num)
		perSL, params := n.CAParams(at, p)
		limit := int(n.CCTILimit(at, p))
		text := fmt.Sprintf("%v %+v %d", perSL, params, limit)
		for b := 0; b*ibcc.BlockEntries <= limit; b++ {
			block := n.CCTBlock(at, p, b)
			text += fmt.Sprintf(" %v", block[:min(ibcc.BlockEntries, limit+1-b*ibcc.BlockEntries)])
		}
		out[fmt.Sprintf("%s/P%d", node.Name, num)] = text
	}
	return out
}

// restart powers a node off and on, which resets its settings.
func (d *devices) restart(at int32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.sim.Reboot(at); err != nil {
		return err
	}
	d.sim.With(func(n *fabric.Network) {
		for name := range settingsOf(n, d.topo, at) {
			d.restarted[name] = true
		}
	})
	return nil
}

// verdict counts devices by what they hold.
type verdict struct {
	wanted, before, off int
	mixed               []string // neither of them
}

// judge compares what the devices hold with the wanted plan, the plan before, and their state after power-on. Only a
// restarted device may hold the last.
func (d *devices) judge(wanted, before, off truth) (v verdict) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, is := range d.read() {
		switch {
		case is == wanted[name]:
			v.wanted++
		case is == before[name]:
			v.before++
		case is == off[name] && d.restarted[name]:
			v.off++
			continue
		default:
			v.mixed = append(v.mixed, name)
		}
		delete(d.restarted, name)
	}
	return v
}
