package remote

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/api/gen"
	"fairlane/internal/i18n"
)

// Tenants that share only receiving ports have a rate if its counters were measured; otherwise a message says that they
// were not, never a dash.
func TestTenantsMeasuredAtTheirSendersAreNamed(t *testing.T) {
	t.Parallel()
	texts, err := i18n.Load("en")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		ambiguous *int64
		want      string
	}{
		"measured": {new(int64(2_000_000_000)), "counted up to 2 Gbit/s"},
		"unread":   {nil, "were not measured"},
	} {
		var out bytes.Buffer
		cmd := &cobra.Command{}
		cmd.SetErr(&out)
		c := &cli{texts: texts, output: "table", getenv: func(string) string { return "" }}
		c.sayAtSenders(cmd, &gen.Shares{Tenants: []gen.TenantShare{{Tenant: "red", AtSenders: new(true), AmbiguousBps: tc.ambiguous}, {Tenant: "blue"}}})
		if got := out.String(); !strings.Contains(got, "send from: red;") || !strings.Contains(got, tc.want) || strings.Contains(got, "blue") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
