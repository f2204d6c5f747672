package topogen_test

import (
	"testing"

	"fairlane/subnet"
	"fairlane/subnet/topogen"
)

func BenchmarkFatTree11664Hosts(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := topogen.FatTree(topogen.FatTreeOptions{K: 36}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComputeRoutes11664Hosts(b *testing.B) {
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 36})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := subnet.ComputeRoutes(f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLeafSpine1024Hosts(b *testing.B) {
	for b.Loop() {
		if _, err := topogen.LeafSpine(topogen.LeafSpineOptions{Leaves: 32, HostsPerLeaf: 32, Spines: 16}); err != nil {
			b.Fatal(err)
		}
	}
}
