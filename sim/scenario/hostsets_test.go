package scenario

import (
	"reflect"
	"strings"
	"testing"
)

const (
	setsIB = `name: x
fabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2}
groups:
  st: host-[007-008]
tenants:
  - {name: a, weight: 1}
flows:
  - {tenant: a, src: SRC, dst: DST}
`
	setsEthernet = `name: x
plane: ethernet
fabric: {topology: leaf-spine, leaves: 2, hosts_per_leaf: 4, spines: 2}
groups:
  st: host-[007-008]
flows:
  - {src: SRC, dst: DST, bytes: 5}
`
)

func between(file, src, dst string) []byte {
	return []byte(strings.NewReplacer("SRC", src, "DST", dst).Replace(file))
}

func TestHostSetsAndGroupsStandForTheirHosts(t *testing.T) {
	t.Parallel()
	for _, file := range []string{setsIB, setsEthernet} {
		for _, c := range [][4]string{
			{"'host-[001-003,005]'", "host-008", "[host-001, host-002, host-003, host-005]", "host-008"},
			{"host-001", "st", "host-001", "[host-007, host-008]"},
			{"[st, 'host-[001-002]']", "[st, host-004]", "[host-007, host-008, host-001, host-002]", "[host-007, host-008, host-004]"},
			{"st", "st", "[host-007, host-008]", "[host-007, host-008]"},
		} {
			got, err := Parse("x.yaml", between(file, c[0], c[1]), nil)
			if err != nil {
				t.Errorf("%s to %s: %v", c[0], c[1], err)
				continue
			}
			want, err := Parse("x.yaml", between(file, c[2], c[3]), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Flows, want.Flows) || got.Ethernet != nil && !reflect.DeepEqual(got.Ethernet.Flows, want.Ethernet.Flows) {
				t.Errorf("%s to %s is not %s to %s", c[0], c[1], c[2], c[3])
			}
		}
	}
	s, err := Parse("x.yaml", between(setsEthernet+"workload:\n  - {kind: permutation, bytes: 5, hosts: [st, 'host-[001-002]']}\n  - {kind: permutation, bytes: 5, hosts: 'host-00[^1-6]'}\n", "host-001", "st"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Ethernet.Workload; !reflect.DeepEqual(w[0].Hosts, []int32{6, 7, 0, 1}) || !reflect.DeepEqual(w[1].Hosts, []int32{6, 7}) {
		t.Errorf("hosts %v and %v", w[0].Hosts, w[1].Hosts)
	}
}

func TestFaultsOfHostSetsNameFileLineAndHost(t *testing.T) {
	t.Parallel()
	for plane, file := range map[string]string{"8": setsIB, "7": setsEthernet} {
		at := "x.yaml:" + plane + ": flow."
		for _, c := range [][3]string{
			{"'host-[001-'", "host-008", at + `src: host set "host-[001-", character 6: [ is not closed`},
			{"'host-[001-999]'", "host-008", at + `src: port "host-009": no such port`},
			{"host-001", "'host-[1-99999999]'", at + `dst: host set "host-[1-99999999]": it expands to more than 65536 names`},
			{"[st, host-007]", "host-001", at + `src: found "host-007, which st and host-007 both have": want each host once`},
			{"host-001", "[host-002, 'host-[001-002]']", at + `dst: found "host-002, which host-002 and host-[001-002] both have": want each host once`},
			{"host-001", "[]", at + `dst: found "a list of 0": want at least one host`},
			{"storage", "host-001", at + `src: port "storage": no such port`},
		} {
			if _, err := Parse("x.yaml", between(file, c[0], c[1]), nil); err == nil || !strings.Contains(err.Error(), c[2]) {
				t.Errorf("%s to %s: %v, want %s", c[0], c[1], err, c[2])
			}
		}
		for _, c := range [][2]string{
			{"st: [host-001, 'host-[001-002]']", `: group "st" has "host-001" twice: want each name once`},
			{"host-001: host-002", `: groups: found "host-001": want a name that no host of the fabric has`},
			{"st: host-009", `: groups.st: port "host-009": no such port`},
			{"7: host-001", `: group "7": want a name of `},
			{"st: {a: b}", `: groups.st: found "a mapping"`},
		} {
			text := strings.Replace(string(between(file, "host-001", "host-002")), "st: host-[007-008]", c[0], 1)
			if _, err := Parse("x.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), c[1]) {
				t.Errorf("%s: %v, want %s", c[0], err, c[1])
			}
		}
	}
}
