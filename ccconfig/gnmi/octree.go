package gnmi

import (
	"fmt"
	"slices"

	"fairlane/ccconfig/driver"
	"fairlane/ccconfig/ecn"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/subnet/ident"
)

// ocQoS is the part of /qos that the driver reads.
type ocQoS struct {
	Interfaces struct {
		Interface []ocInterface `json:"interface"`
	} `json:"interfaces"`
	Profiles struct {
		Profile []ocProfile `json:"queue-management-profile"`
	} `json:"queue-management-profiles"`
}

type ocInterface struct {
	ID     string `json:"interface-id"`
	Output struct {
		Queues struct {
			Queue []ocQueue `json:"queue"`
		} `json:"queues"`
		Policy struct {
			Config struct {
				Name string `json:"name"`
			} `json:"config"`
		} `json:"scheduler-policy"`
	} `json:"output"`
	Input struct {
		Classifiers struct {
			Classifier []struct {
				Config struct {
					Name string `json:"name"`
				} `json:"config"`
			} `json:"classifier"`
		} `json:"classifiers"`
	} `json:"input"`
}

type ocQueue struct {
	Name   string `json:"name"`
	Config struct {
		Profile string `json:"queue-management-profile"`
	} `json:"config"`
	State struct {
		TransmitOctets  *ocNumber `json:"transmit-octets"`
		TransmitPackets *ocNumber `json:"transmit-pkts"`
		DroppedPackets  *ocNumber `json:"dropped-pkts"`
		MarkedPackets   *ocNumber `json:"ecn-marked-pkts"`
	} `json:"state"`
}

type ocProfile struct {
	Name string `json:"name"`
	WRED struct {
		Uniform struct {
			Config ocUniform `json:"config"`
		} `json:"uniform"`
	} `json:"wred"`
}

// ocUniform is the rule of a profile. Thresholds are in bytes; rules in percent of a buffer are not supported.
type ocUniform struct {
	Min     *ocNumber `json:"min-threshold"`
	Max     *ocNumber `json:"max-threshold"`
	ECN     bool      `json:"enable-ecn"`
	Percent *ocNumber `json:"max-drop-probability-percent"`
}

// ocNumber is an unsigned number; JSON_IETF encodes 64-bit numbers as strings.
type ocNumber uint64

// UnmarshalJSON decodes both forms.
func (n *ocNumber) UnmarshalJSON(b []byte) error {
	v, err := gnmitree.ParseJSON(b)
	if err != nil {
		return err
	}
	u, err := v.AsUint()
	*n = ocNumber(u)
	return err
}

func (p *ocProfile) profile() profile {
	u := p.WRED.Uniform.Config
	if !u.ECN || u.Min == nil || u.Max == nil {
		return profile{}
	}
	m := ecn.Marking{Min: int64(min(*u.Min, ecn.MaxThreshold+1)), Max: int64(min(*u.Max, ecn.MaxThreshold+1)), PMaxPct: ecn.MaxPercent}
	if u.Percent != nil {
		m.PMaxPct = int(min(*u.Percent, ecn.MaxPercent+1))
	}
	if m.Validate() != nil {
		return profile{broken: true}
	}
	return profile{marking: m, marks: true}
}

// ocMarking is the marking in a switch's tree.
type ocMarking struct {
	markingState

	ports  []string            // interface names by port number, from port 1 on
	queues map[queueKey]string // names of the queues
	ifaces []ocInterface       // in port order
}

// marking converts a tree for a switch with the given number of ports: port n is the n-th interface in the order of the numbers
// in their names.
func (t *ocQoS) marking(ports int) (*ocMarking, error) {
	m := &ocMarking{markingState: markingState{profiles: map[string]profile{}}, queues: map[queueKey]string{}}
	for i := range t.Profiles.Profile {
		p := &t.Profiles.Profile[i]
		m.profiles[p.Name] = p.profile()
	}
	all := t.Interfaces.Interface
	slices.SortFunc(all, func(a, b ocInterface) int { return compareNames(a.ID, b.ID) })
	m.ifaces = all
	if len(all) < ports {
		return nil, fmt.Errorf("%w: it has queues of %d interfaces, want the %d ports of the inventory", driver.ErrInvalid, len(all), ports)
	}
	for i := range all {
		m.ports = append(m.ports, all[i].ID)
		for _, q := range all[i].Output.Queues.Queue {
			_, n, ok := splitNumber(q.Name)
			if !ok {
				continue // its name does not identify the queue
			}
			number := ident.PortNum(0)
			if i < ports {
				number = ident.PortNum(i + 1) // at most MaxSwitchPorts
			}
			k := queueKey{numberOf(number, n), uint8(min(n, 255))}
			if other, twice := m.queues[k]; twice && k.port > 0 {
				return nil, fmt.Errorf("%w: queues %q and %q of %s have the same number", driver.ErrInvalid, other, q.Name, all[i].ID)
			}
			m.queues[k] = q.Name
			m.slots = append(m.slots, slot{k, all[i].ID + " queue " + q.Name, q.Config.Profile})
		}
	}
	return m, nil
}
