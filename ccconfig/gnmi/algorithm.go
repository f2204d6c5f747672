package gnmi

import (
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/ccalgo"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/ccconfig/nic/nicyang"
)

// algorithmPaths are the leaves that describe a port's congestion-control algorithm.
func (p *place) algorithmPaths() []gnmitree.Path {
	port, card := nicyang.Port(p.nic, p.port).Child("state"), nicyang.NIC(p.nic).Child("state")
	return []gnmitree.Path{port.Child("algorithm"), port.Child("algorithm-evidence"), card.Child("driver"), card.Child("device")}
}

// maxEvidence bounds what a host states as the evidence of an algorithm, bytes.
const maxEvidence = 512

// algorithm stores the congestion-control algorithm of the port, if the host reports one.
func (o *observed) algorithm(answers []answer) {
	s := ccalgo.State{NetDev: nicparam.Clip(o.netDev)}
	for _, a := range answers {
		for _, u := range a.updates {
			at, err := pathOf(a.prefix, u)
			if err != nil {
				continue
			}
			text := u.GetVal().GetStringVal()
			switch at.Last() {
			case "algorithm":
				s.Name = ccalgo.Name(nicparam.Clip(text))
			case "algorithm-evidence":
				s.Evidence = text[:min(len(text), maxEvidence)]
			case "driver":
				s.Driver = nicparam.Clip(ccalgo.Bare(text))
			case "device":
				s.Model = nicparam.Clip(text)
			}
		}
	}
	if s.Name != "" {
		o.settings.Algorithm = &s
	}
}
