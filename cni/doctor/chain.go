package doctor

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"fairlane/agent/pods/podsock"
	"fairlane/cni"
	"fairlane/internal/phrase"
)

// pluginType is the type of the plugin in configurations: the name of its program.
const pluginType = "fairlane-cni"

// list is a network configuration list.
type list struct {
	CNIVersion string            `json:"cniVersion"`
	Name       string            `json:"name"`
	Plugins    []json.RawMessage `json:"plugins"`
}

// member is what is examined of a plugin's configuration.
type member struct {
	Type          string `json:"type"`
	RDMAIsolation bool   `json:"rdmaIsolation"`
	keys          map[string]json.RawMessage
}

// parseList decodes a configuration list, or a configuration of a single plugin as a list of one.
func parseList(text []byte) (name, version string, members []member, err error) {
	var l list
	if err := json.Unmarshal(text, &l); err != nil {
		return "", "", nil, err
	}
	if l.Plugins == nil {
		l.Plugins = []json.RawMessage{text}
	}
	for _, raw := range l.Plugins {
		var m member
		if err := errors.Join(json.Unmarshal(raw, &m), json.Unmarshal(raw, &m.keys)); err != nil {
			return "", "", nil, err
		}
		members = append(members, m)
	}
	return l.Name, l.CNIVersion, members, nil
}

// The plugins whose order matters, by what they do.
var (
	ethernetSRIOV = []string{"sriov"}
	infiniBand    = []string{"ib-sriov", "ib-sriov-cni"}
	mover         = "rdma"
	// shared attach a pod to a device that it shares with others.
	shared = []string{"macvlan", "ipvlan", "ipoib", "bridge", "ptp"}
)

// chain examines one list; nothing if the plugin is not in it.
func (r *report) chain(where string, text []byte, isDefault bool) {
	name, version, members, err := parseList(text)
	if err != nil {
		r.add("conflist", where, Problem, phrase.Of("cnidoctor.not-json", "reason", err))
		return
	}
	types := make([]string, len(members))
	for i, m := range members {
		types[i] = m.Type
	}
	at := slices.Index(types, pluginType)
	if at < 0 {
		return
	}
	r.chains++
	before := len(r.findings)
	r.order(where, types, members, at)
	r.conf(where, name, version, members[at])
	switch supported := cni.Versions().SupportedVersions(); {
	case !slices.Contains(supported, version):
		r.add("version", where, Problem, phrase.Of("cnidoctor.version", "found", podsock.Clip(version), "want", strings.Join(supported, ", ")))
	case version != "1.1.0": // the first version with GC and STATUS
		r.add("version", where, Warning, phrase.Of("cnidoctor.version-old", "found", version))
	}
	if isDefault {
		r.add("default-network", where, Problem, phrase.Of("cnidoctor.default-network"))
	}
	if !slices.ContainsFunc(r.findings[before:], func(f Finding) bool { return f.State != OK }) {
		r.add("conflist", where, OK, phrase.Of("cnidoctor.chain", "chain", strings.Join(types, ", ")))
	}
}

// order examines the order of the plugins in a list: the supported ones are in docs/cni.md.
func (r *report) order(where string, types []string, members []member, at int) {
	has := func(names ...string) int {
		return slices.IndexFunc(types, func(t string) bool { return slices.Contains(names, t) })
	}
	rdma, ethernet, ib := has(mover), has(ethernetSRIOV...), has(infiniBand...)
	problem := func(t phrase.Text) { r.add("order", where, Problem, t) }
	if at == 0 {
		problem(phrase.Of("cnidoctor.first"))
	}
	for _, i := range []int{rdma, ethernet, ib, has(shared...)} {
		if i > at && at > 0 {
			problem(phrase.Of("cnidoctor.after", "plugin", types[i]))
		}
	}
	if slices.Index(types[at+1:], pluginType) >= 0 {
		problem(phrase.Of("cnidoctor.twice"))
	}
	switch {
	case ib >= 0 && rdma >= 0:
		problem(phrase.Of("cnidoctor.ib-rdma", "plugin", types[ib]))
	case ib >= 0 && r.mode == Exclusive && !members[ib].RDMAIsolation:
		problem(phrase.Of("cnidoctor.ib-isolation", "plugin", types[ib]))
	case ib >= 0 && r.mode == Shared && members[ib].RDMAIsolation:
		problem(phrase.Of("cnidoctor.ib-shared", "plugin", types[ib]))
	case rdma >= 0 && rdma < ethernet:
		problem(phrase.Of("cnidoctor.rdma-first", "plugin", types[ethernet]))
	case rdma >= 0 && r.mode == Shared:
		problem(phrase.Of("cnidoctor.rdma-shared"))
	case ethernet >= 0 && rdma < 0 && r.mode == Exclusive:
		problem(phrase.Of("cnidoctor.rdma-missing"))
	case ib < 0 && ethernet < 0 && has(shared...) >= 0:
		r.add("order", where, Warning, phrase.Of("cnidoctor.shared", "plugin", types[has(shared...)]))
	}
}

// foreign are the members of a plugin's configuration that the specification, its conventions and Multus define.
var foreign = []string{
	"cniVersion", "name", "type", "capabilities", "args", "ipam", "dns", "ipMasq", "runtimeConfig", "prevResult", "deviceID", "pciBusID",
	"cni.dev/valid-attachments", "cni.dev/attachments",
}

// conf examines the plugin's own configuration.
func (r *report) conf(where, name, version string, m member) {
	whole := maps.Clone(m.keys)
	whole["name"], _ = json.Marshal(name) // strings
	whole["cniVersion"], _ = json.Marshal(version)
	text, _ := json.Marshal(whole) // members that were decoded
	if c, err := cni.Parse(text); err != nil {
		r.add("conf", where, Problem, phrase.Verbatim(err.Error()))
	} else {
		r.socket, r.spool = cmp.Or(r.o.Socket, c.Socket), c.Spool
	}
	var capabilities map[string]bool
	_ = json.Unmarshal(m.keys["capabilities"], &capabilities) // a fault is found by the runtime
	if !capabilities["deviceID"] {
		r.add("conf", where, Warning, phrase.Of("cnidoctor.capability", "capability", "deviceID"))
	}
	for _, key := range slices.Sorted(maps.Keys(m.keys)) {
		if !slices.Contains(foreign, key) && !slices.Contains(cni.Keys(), key) {
			r.add("conf", where, Warning, phrase.Of("cnidoctor.unknown-key", "key", podsock.Clip(key), "keys", cni.Keys()))
		}
	}
}

// isConf reports whether a runtime reads a file of its configuration directory.
func isConf(name string) bool {
	return slices.Contains([]string{".conf", ".conflist", ".json"}, filepath.Ext(name))
}
