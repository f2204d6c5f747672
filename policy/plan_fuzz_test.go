package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/policy"
	"fairlane/policy/plantest"
)

// A plan from a file is accepted only with the name of its contents. A plan edited by hand and renamed is read as written, and none makes a
// lookup fail.
func FuzzDecode(f *testing.F) {
	in, err := plantest.Large(plantest.LargeOptions{Leaves: 2, HostsPerLeaf: 2, Spines: 1, Tenants: 2, Flows: 3, Seed: 1})
	if err != nil {
		f.Fatal(err)
	}
	p, err := policy.Compile(in)
	if err != nil {
		f.Fatal(err)
	}
	p.CAs, p.Switches = p.CAs[:1], p.Switches[:1] // small, so that it is mutated often
	p.CAs[0].Settings.Table = p.CAs[0].Settings.Table[:2]
	p.Name = p.Hash()
	b, err := p.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"name":"x","placements":[{"tenant":"b"},{"tenant":"a","sl":99}]}`))
	f.Add([]byte(`{"cas":[{}],"switches":[null],"roce":{},"wrcc":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := policy.Decode(text); err == nil {
			if name := p.Hash(); name != p.Name {
				t.Errorf("plan %q was taken, its contents have the name %q", p.Name, name)
			}
		}
		var p policy.Plan
		if json.Unmarshal(text, &p) != nil {
			return
		}
		p.Name = p.Hash()
		again, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		q, err := policy.Decode(again)
		if err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
		b, err := q.Encode()
		if err != nil || !cmp.Equal(string(again), string(b)) {
			t.Errorf("%v: read again it differs: %s", err, cmp.Diff(strings.Split(string(again), ","), strings.Split(string(b), ",")))
		}
		for _, x := range p.Placements {
			_, _ = p.SL(x.Tenant, x.Port)
		}
	})
}
