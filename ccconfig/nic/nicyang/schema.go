package nicyang

import (
	"strings"

	"fairlane/ccconfig/gnmi/gnmitree"
)

// Leaf is one leaf of the module.
type Leaf struct {
	// Path is the names from the root, joined by slashes, without list keys.
	Path string
	// Config means that the leaf is writable.
	Config bool
	// Sampled means that the leaf changes without notice.
	Sampled bool
	// Kind is the kind of its values; KindList for a leaf-list.
	Kind gnmitree.Kind
}

// Leaves returns the module's leaves without list keys, in the order of its text.
func Leaves() []Leaf {
	const nic, port = "nics/nic", "nics/nic/ports/port"
	var out []Leaf
	add := func(base string, names ...string) {
		for _, n := range names {
			l := Leaf{Path: base + "/" + strings.TrimRight(n, "+#&=!"), Kind: gnmitree.KindString}
			for _, mark := range n[len(strings.TrimRight(n, "+#&=!")):] {
				switch mark {
				case '#':
					l.Kind = gnmitree.KindUint64
				case '=':
					l.Kind = gnmitree.KindUint32
				case '&':
					l.Kind = gnmitree.KindList
				case '!':
					l.Kind = gnmitree.KindBool
				case '+':
					l.Sampled = true
				}
			}
			l.Config = strings.HasSuffix(base, "/config")
			out = append(out, l)
		}
	}
	params := func(base string) {
		add(base+"/params/param/config", "value#")
		add(base+"/params/param/state", "value#", "back-end", "persistence", "cost", "unit", "min#", "max#", "allowed", "default#",
			"next-value#", "pending-reset!", "set-value#", "outcome", "problem")
	}
	add("agent/state", "version", "boot-id", "config-generation#", "started#", "clock#+")
	add("agent/apply/config", "id")
	add("agent/apply/state", "id", "sequence#", "time#", "outcome", "detail", "not-restored&")
	add(nic+"/state", "pci", "vendor", "device", "firmware", "driver", "node-guid", "incarnation", "capability&", "problem")
	add(nic+"/reapply/state", "count#", "attempts#", "time#", "next#", "problem")
	params(nic)
	add(port+"/state", "id", "net-dev", "rdma-device", "rdma-port=", "mac", "speed-mbps#", "oper-up!", "virtual-functions=",
		"serves-pods!", "algorithm", "algorithm-evidence", "wrcc-senders=", "runtime-parameter&", "reset-parameter&")
	params(port)
	add(port+"/counters/state", "problem+")
	add(port+"/counters/counter/state", "value#+", "problem+")
	add(port+"/counter-sets/state", "problem+")
	add(port+"/counter-sets/counter-set/state", "mode+", "process+", "pid=+", "qp-count=+", "qps&+")
	add(port+"/counter-sets/counter-set/counters/counter/state", "value#+", "problem+")
	add(port+"/functions/state", "problem+")
	add(port+"/functions/function/state", "name+", "rdma-device+", "tenant+", "tx-octets#+", "rx-octets#+", "problem+")
	add(port+"/functions/function/counters/state", "problem+")
	add(port+"/functions/function/counters/counter/state", "value#+", "problem+")
	add(port+"/wrcc/config", "domain=", "t1-us=", "min-rate-mbps=", "increase")
	add(port+"/wrcc/senders/state", "problem+")
	add(port+"/wrcc/senders/sender/config", "multiplier=", "shift=")
	add(port+"/wrcc/senders/sender/peers/peer/config", "multiplier=", "shift=")
	add(port+"/wrcc/senders/sender/state", "tx-octets#+", "problem+")
	add(port+"/wrcc/state", "outcome", "problem")
	return out
}

// names joins the names of a path by slashes.
func names(p gnmitree.Path) string {
	var b strings.Builder
	for i, e := range p.Elems {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(e.Name)
	}
	return b.String()
}
