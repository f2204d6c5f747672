package scenario

import (
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"fairlane/internal/phrase"
	"fairlane/internal/quantity"
	"fairlane/subnet"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

// fabric builds the topology of a scenario: from a generator with its sizes, or from a file. Without routes it omits the
// properties of InfiniBand: LIDs and forwarding tables.
func (d *document) fabric(n *yaml.Node, open Opener, routes bool) *subnet.Fabric {
	f := d.mapping(n, "fabric", "topology", "file", "links", "rate", "delay", "lmc", "hosts", "left", "right", "core_rate",
		"leaves", "hosts_per_leaf", "spines", "parallel", "uplink_rate", "k",
		"pods", "tors", "aggs", "cores", "hosts_per_tor", "agg_rate", "agg_delay", "core_delay", "dci_rate", "dci_delay")
	if d.err != nil {
		return nil
	}
	for _, from := range []struct {
		key  string
		read func(string, io.Reader) (*subnet.Fabric, error)
	}{{"file", topofile.Read}, {"links", topofile.ReadLinks}} {
		if !f.has(from.key) {
			continue
		}
		if len(f.m) > 1 {
			d.fail(n, "fabric", phrase.Of("scenario.found-with-others", "key", from.key), phrase.Of("scenario.want-file-alone"))
			return nil
		}
		return d.fabricFile(f, from.key, open, from.read)
	}
	f.need("topology")
	topo, err := f.generate(routes)
	if d.err == nil && err != nil {
		d.failWith(n, err)
	}
	return topo
}

func (f fields) generate(routes bool) (*subnet.Fabric, error) {
	names := topologies()
	kind := f.word("topology", names...)
	f.d.mapping(f.node, "fabric of topology "+kind, append(topologyKeys(kind), "topology")...)
	if f.d.err != nil {
		return nil, f.d.err
	}
	for _, key := range []string{"rate", "uplink_rate", "agg_rate", "core_rate", "dci_rate"} {
		if f.has(key) && f.rate(key) < minLinkRate {
			f.d.fail(f.m[key], f.path(key), topofile.Quoted(f.text(key)), phrase.Of("scenario.want-rate-1m"))
		}
	}
	w := topogen.Wire{Rate: f.rate("rate"), Delay: f.span("delay", 0), LMC: uint8(f.number("lmc", 0, 0, 7)), Bare: !routes}
	switch kind {
	case "star":
		return topogen.Star(max(1, f.size("hosts")), w)
	case "dumbbell":
		return topogen.Dumbbell(topogen.DumbbellOptions{
			Left: f.size("left"), Right: f.size("right"), Wire: w,
			CoreRate: f.rate("core_rate"), CoreDelay: f.span("core_delay", 0),
		})
	case "s1-testbed":
		return topogen.S1Testbed()
	case "leaf-spine":
		return topogen.LeafSpine(topogen.LeafSpineOptions{
			Leaves: f.size("leaves"), HostsPerLeaf: f.size("hosts_per_leaf"), Spines: f.size("spines"),
			Parallel: f.size("parallel"), Wire: w, UplinkRate: f.rate("uplink_rate"),
		})
	case "three-tier":
		o := f.threeTier(w)
		if err := checkSize(o.Links(), routes); err != nil {
			return nil, err
		}
		return topogen.ThreeTier(o)
	case "fattree320":
		return topogen.FatTree320()
	case "dual-dc":
		o := f.threeTier(w)
		if err := checkSize(2*o.Links(), routes); err != nil {
			return nil, err
		}
		return topogen.DualDC(topogen.DualDCOptions{Site: o, DCIRate: f.rate("dci_rate"), DCIDelay: f.span("dci_delay", 0)})
	default:
		return topogen.FatTree(topogen.FatTreeOptions{K: f.size("k"), Wire: w})
	}
}

// minLinkRate is the minimum link rate in a scenario: a lower value is probably a number without a unit, which counts as
// bit/s.
const minLinkRate = quantity.Gbps / 1000

// Limits of the number of links of a simulated fabric, without and with forwarding tables. A fat tree of 48-port switches has
// 82,944.
const (
	maxLinks       = 250_000
	maxRoutedLinks = 100_000
)

func checkSize(links int, routes bool) error {
	most := maxLinks
	if routes {
		most = maxRoutedLinks
	}
	if links > most {
		return fault(phrase.Of("scenario.links-max", "n", links, "max", most))
	}
	return nil
}

func topologies() []string {
	return []string{"star", "dumbbell", "s1-testbed", "leaf-spine", "fat-tree", "three-tier", "fattree320", "dual-dc"}
}

// topologyKeys returns the options of a topology.
func topologyKeys(kind string) []string {
	threeTier := []string{"pods", "tors", "aggs", "cores", "hosts_per_tor", "agg_rate", "agg_delay", "core_rate", "core_delay", "rate", "delay", "lmc"}
	switch kind {
	case "star":
		return []string{"hosts", "rate", "delay", "lmc"}
	case "dumbbell":
		return []string{"left", "right", "core_rate", "core_delay", "rate", "delay", "lmc"}
	case "leaf-spine":
		return []string{"leaves", "hosts_per_leaf", "spines", "parallel", "uplink_rate", "rate", "delay", "lmc"}
	case "fat-tree":
		return []string{"k", "rate", "delay", "lmc"}
	case "three-tier":
		return threeTier
	case "dual-dc":
		return append(threeTier, "dci_rate", "dci_delay")
	default:
		return nil
	}
}

// size reads a count; absent means 0, the builder's default.
func (f fields) size(key string) int { return int(f.number(key, 0, 1, subnet.MaxNodes)) }

func (f fields) threeTier(w topogen.Wire) topogen.ThreeTierOptions {
	return topogen.ThreeTierOptions{
		Pods: f.size("pods"), ToRs: f.size("tors"), Aggs: f.size("aggs"), Cores: f.size("cores"), HostsPerToR: f.size("hosts_per_tor"),
		Wire: w, AggRate: f.rate("agg_rate"), AggDelay: f.span("agg_delay", 0), CoreRate: f.rate("core_rate"), CoreDelay: f.span("core_delay", 0),
	}
}

// fabricFile reads the file named by a key.
func (d *document) fabricFile(f fields, key string, open Opener, read func(string, io.Reader) (*subnet.Fabric, error)) *subnet.Fabric {
	path := f.text(key)
	if open == nil {
		d.fail(f.m[key], f.path(key), topofile.Quoted(path), phrase.Of("scenario.want-topology"))
		return nil
	}
	r, err := open(path)
	if err != nil {
		d.failWith(f.m[key], fmt.Errorf("%s: %w", f.path(key), err))
		return nil
	}
	defer func() { _ = r.Close() }() // the file is only read
	topo, err := read(path, r)
	if err != nil && d.err == nil {
		d.err = err // the error already contains the name and the line of that file
	}
	return topo
}
