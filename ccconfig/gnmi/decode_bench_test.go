package gnmi_test

import (
	"fmt"
	"strings"
	"testing"

	"fairlane/ccconfig/gnmi"
)

// BenchmarkDecodePort decodes the configuration of a port with 200 parameters.
func BenchmarkDecodePort(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"fairlane-nic:params":{"param":[`)
	for i := range 200 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"index":"%d","name":"dscp_prio","config":{"value":"%d"}}`, i, i)
	}
	text.WriteString(`]}}`)
	port := []byte(text.String())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gnmi.DecodePort(port, []byte(`1`)); err != nil {
			b.Fatal(err)
		}
	}
}
