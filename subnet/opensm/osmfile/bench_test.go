package osmfile

import (
	"fmt"
	"testing"

	"fairlane/subnet/ident"
)

// The benchmark composes 2,000 tenants on 64 ports each into files that already contain them.
func BenchmarkCompose2000Tenants(b *testing.B) {
	var d Desired
	for i := range 2000 {
		p := Partition{Tenant: fmt.Sprintf("tenant-%d", i), PKey: ident.PKey(i + 1), SL: ident.SL(i % 15)}
		for k := range 64 {
			p.Members = append(p.Members, Member{ident.GUID(1 + (i*31+k*17)%10000), true})
		}
		d.Partitions = append(d.Partitions, p)
	}
	cur := Compose(files("qos TRUE\n", "-", "qos-ulps\n default : 0\nend-qos-ulps\n"), d, Settings{OneLane: true}).Next
	b.ReportAllocs()
	for b.Loop() {
		if c := Compose(cur, Prepare(cur, d), Settings{OneLane: true}); len(c.Problems) > 0 || c.Next != cur {
			b.Fatal(c.Problems)
		}
	}
}
