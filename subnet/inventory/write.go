package inventory

import (
	"fmt"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Write writes an inventory in the form of Read.
func Write(w io.Writer, v *Inventory) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	add(root, "version", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"})
	root.Content = append(root.Content, mappingOf("fabric", v.Fabric).Content...)
	if v.TLS == nil {
		add(root, "insecure", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	} else {
		tls := mappingOf("ca", v.TLS.CA, "certificate", v.TLS.Certificate, "key", v.TLS.Key, "server_name", v.TLS.ServerName)
		tls.Style = yaml.FlowStyle
		add(root, "tls", tls)
	}
	root.Content = append(root.Content, mappingOf("agents", v.Agents, "switches", v.Switches, "protocol", string(v.Protocol)).Content...)
	if len(v.Devices) > 0 {
		devices := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Devices {
			d := &v.Devices[i]
			m := mappingOf("node", d.Node, "address", d.Address, "protocol", string(d.Protocol), "target", d.Target, "hostname", d.Hostname)
			if d.DeviceID != 0 {
				add(m, "device_id", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatUint(d.DeviceID, 10)})
			}
			m.Style = yaml.FlowStyle
			devices.Content = append(devices.Content, m)
		}
		add(root, "devices", devices)
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return fmt.Errorf("write inventory: %w", err)
	}
	return enc.Close()
}

// mappingOf returns a mapping of keys and texts, without empty texts.
func mappingOf(pairs ...string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			var v yaml.Node
			v.SetString(pairs[i+1])
			add(m, pairs[i], &v)
		}
	}
	return m
}

func add(m *yaml.Node, key string, value *yaml.Node) {
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, value)
}
