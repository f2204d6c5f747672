package topofile_test

import (
	"bytes"
	"testing"

	"fairlane/subnet"
	"fairlane/subnet/topofile"
	"fairlane/subnet/topogen"
)

// bigFabric has 3,456 hosts and 720 switches, and no routes.
func bigFabric(b *testing.B) *subnet.Fabric {
	b.Helper()
	f, err := topogen.FatTree(topogen.FatTreeOptions{K: 24})
	if err != nil {
		b.Fatal(err)
	}
	if f, err = f.WithLFTs(nil); err != nil {
		b.Fatal(err)
	}
	return f
}

func BenchmarkReadYAML3456Hosts(b *testing.B) {
	var text bytes.Buffer
	if err := topofile.WriteYAML(&text, bigFabric(b)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := topofile.ReadYAML("big.yaml", bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadIbnetdiscover3456Hosts(b *testing.B) {
	var text bytes.Buffer
	if err := topofile.WriteIbnetdiscover(&text, bigFabric(b)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := topofile.ReadIbnetdiscover("big.net", bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
