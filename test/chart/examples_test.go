package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"fairlane/cni/doctor"
)

const examples = "../../deploy/kubernetes/examples"

// TestTheExamplesOfNetworksAreOfSupportedChains examines each example as `fairlane-cni doctor FILE` does, on a host with the mode
// of RDMA devices that the example is for.
func TestTheExamplesOfNetworksAreOfSupportedChains(t *testing.T) {
	t.Parallel()
	modes := map[string]string{"sriov": doctor.Shared, "rdma": doctor.Exclusive, "ib-sriov": doctor.Exclusive, "macvlan": doctor.Shared, "ipoib": doctor.Shared}
	files, err := filepath.Glob(examples + "/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".yaml")
		found = append(found, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n struct {
				Metadata struct{ Name string }
				Spec     struct{ Config string }
			}
			if err := yaml.Unmarshal(read(t, f), &n); err != nil {
				t.Fatal(err)
			}
			want := doctor.OK
			if name == "macvlan" || name == "ipoib" {
				want = doctor.Warning // the device is shared
			}
			if got := examine(t, modes[name], n.Metadata.Name, n.Spec.Config); got != string(want)+" "+conclusion[want] {
				t.Errorf("the doctor says %s", got)
			}
			// The same with the plugin first is a problem: the examination is not empty.
			plugins := strings.SplitAfter(n.Spec.Config, `"plugins": [`)
			wrong := plugins[0] + `{"type": "fairlane-cni"},` + plugins[1]
			if got := examine(t, modes[name], n.Metadata.Name, wrong); !strings.HasPrefix(got, string(doctor.Problem)) {
				t.Errorf("of a wrong order the doctor says %s", got)
			}
		})
	}
	if want := slices.Sorted(maps.Keys(modes)); !slices.Equal(found, want) {
		t.Errorf("examples are %v, want %v", found, want)
	}
}

// conclusion is the check of the finding that an example ends with.
var conclusion = map[doctor.State]string{doctor.OK: "conflist", doctor.Warning: "order"}

// examine returns the state and the check of the findings on a chain, on a host with a mode of RDMA devices.
func examine(t *testing.T, mode, name, text string) string {
	t.Helper()
	root := t.TempDir()
	at := filepath.Join(root, "sys/module/ib_core/parameters")
	if err := os.MkdirAll(at, 0o700); err != nil {
		t.Fatal(err)
	}
	value := map[string]string{doctor.Shared: "Y\n", doctor.Exclusive: "N\n"}[mode]
	if err := os.WriteFile(filepath.Join(at, "netns_mode"), []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range doctor.Examine(t.Context(), doctor.Options{
		Root: root, ConfDir: filepath.Join(root, "net.d"), BinDir: filepath.Join(root, "bin"), Socket: filepath.Join(root, "none.sock"), Now: time.Now(),
		Files: []doctor.File{{Name: name, Text: []byte(text)}},
	}) {
		if f.Where == name {
			all = append(all, string(f.State)+" "+f.Check)
		}
	}
	return strings.Join(all, ", ")
}
