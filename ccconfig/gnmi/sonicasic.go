package gnmi

import (
	"fmt"
	"strings"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/subnet/ident"
)

// asicPlace is one ASIC of a switch: the instance of its databases, and the form of its keys.
type asicPlace struct {
	instance string   // "localhost", or "asic0", …
	names    []string // front ports by number, from port 1 on; nil means all of its table PORT
	voq      *voqKeys // nil on an ASIC whose queues have keys of two parts
}

// voqKeys is the form of the keys of virtual output queues: "host|asic0|Ethernet0|3". Each ASIC has a row for the ports of all.
type voqKeys struct {
	host   string            // compared exactly
	asic   string            // of the ASIC whose tables these are, compared without case
	owners map[string]string // ASIC by front port
}

func (p asicPlace) path(elems ...string) gnmitree.Path {
	return sonicPathAt(p.instance, configDB, elems...)
}

// portsOf returns the front ports by number.
func (p asicPlace) portsOf(ports table) []string {
	if p.names != nil {
		return p.names
	}
	return portNames(ports)
}

// key returns the key of a queue in QUEUE.
func (p asicPlace) key(port string, queue uint8) string {
	if p.voq != nil {
		return fmt.Sprintf("%s|%s|%s|%d", p.voq.host, p.voq.owners[port], port, queue)
	}
	return fmt.Sprintf("%s|%d", port, queue)
}

// front returns the front port that the ports of a key of QUEUE name; false if it is not one of this switch, or if the key has the wrong
// form, which SONiC refuses.
func (p asicPlace) front(port string) (string, bool) {
	if p.voq == nil {
		return port, true
	}
	parts := strings.Split(port, "|")
	if len(parts) != 3 || parts[0] != p.voq.host {
		return "", false
	}
	owner, ok := p.voq.owners[parts[2]]
	return parts[2], ok && strings.EqualFold(parts[1], owner)
}

// schedules reports whether the scheduler of a row has an effect: SONiC accepts it for ports of other ASICs, and ignores it.
func (p asicPlace) schedules(port string) bool {
	if p.voq == nil {
		return true
	}
	name, ok := p.front(port)
	return !ok || strings.EqualFold(p.voq.owners[name], p.voq.asic)
}

// number returns the number of the port of a row of QUEUE; 0 if it is none of the managed ones.
func (m *sonicMarking) number(port string) ident.PortNum {
	name, ok := m.at.front(port)
	if !ok {
		return 0
	}
	return m.numbers[name]
}
