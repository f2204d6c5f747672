package scenario

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"fairlane/subnet"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

// fabric builds the topology a scenario names: a generator with its sizes, or a file.
func (d *document) fabric(n *yaml.Node, open Opener) *subnet.Fabric {
	f := d.mapping(n, "fabric", "topology", "file", "rate", "delay", "lmc", "hosts", "left", "right", "core_rate",
		"leaves", "hosts_per_leaf", "spines", "parallel", "uplink_rate", "k")
	if d.err != nil {
		return nil
	}
	if f.has("file") {
		if len(f.m) > 1 {
			d.fail(n, "fabric", "file with other keys", "a file alone")
			return nil
		}
		return d.fabricFile(f, open)
	}
	f.need("topology")
	topo, err := f.generate()
	if d.err == nil && err != nil {
		d.failWith(n, err)
	}
	return topo
}

func (f fields) generate() (*subnet.Fabric, error) {
	w := topogen.Wire{Rate: f.rate("rate"), Delay: f.span("delay", 0), LMC: uint8(f.number("lmc", 0, 0, 7))}
	size := func(key string) int { return int(f.number(key, 0, 1, 65_000)) }
	kind := f.word("topology", "star", "dumbbell", "s1-testbed", "leaf-spine", "fat-tree")
	uses := map[string][]string{
		"star":       {"hosts", "rate", "delay", "lmc"},
		"dumbbell":   {"left", "right", "core_rate", "rate", "delay", "lmc"},
		"s1-testbed": {},
		"leaf-spine": {"leaves", "hosts_per_leaf", "spines", "parallel", "uplink_rate", "rate", "delay", "lmc"},
		"fat-tree":   {"k", "rate", "delay", "lmc"},
	}[kind]
	f.d.mapping(f.node, "fabric of topology "+kind, append(uses, "topology")...)
	if f.d.err != nil {
		return nil, f.d.err
	}
	switch kind {
	case "star":
		return topogen.Star(max(1, size("hosts")), w)
	case "dumbbell":
		return topogen.Dumbbell(topogen.DumbbellOptions{Left: size("left"), Right: size("right"), Wire: w, CoreRate: f.rate("core_rate")})
	case "s1-testbed":
		return topogen.S1Testbed()
	case "leaf-spine":
		return topogen.LeafSpine(topogen.LeafSpineOptions{
			Leaves: size("leaves"), HostsPerLeaf: size("hosts_per_leaf"), Spines: size("spines"),
			Parallel: size("parallel"), Wire: w, UplinkRate: f.rate("uplink_rate"),
		})
	default:
		return topogen.FatTree(topogen.FatTreeOptions{K: size("k"), Wire: w})
	}
}

func (d *document) fabricFile(f fields, open Opener) *subnet.Fabric {
	path := f.text("file")
	if open == nil {
		d.fail(f.m["file"], "fabric.file", path, "a topology by name; files cannot be read here")
		return nil
	}
	r, err := open(path)
	if err != nil {
		d.failWith(f.m["file"], fmt.Errorf("fabric file: %w", err))
		return nil
	}
	defer func() { _ = r.Close() }() // read only
	topo, err := topofile.Read(path, r)
	if err != nil && d.err == nil {
		d.err = err // it names its own file and line
	}
	return topo
}
