package tenancy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/quantity"
	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/tenancy"
	"fairlane/subnet/ident"
	"fairlane/tenants"
)

// said prints what feeds say of the ports of red: claimed rates, and an n where the host chooses functions.
func (f *feeds) said() string {
	f.t.Helper()
	return f.each(", ", func(port string, a tenants.Attachment) string {
		text := fmt.Sprintf("%s %d", port, a.Claimed/quantity.Gbps)
		if a.NodeFunctions {
			text += "n"
		}
		return text
	})
}

// promise makes a feed of red claim rates, in Gbit/s, of h1 and h2.
func (f *feeds) promise(feed string, node bool, h1, h2 int) tenancy.FeedChange {
	f.t.Helper()
	in := tenancy.FeedInput{NodeFunctions: node, Ports: []tenancy.FeedPort{{Port: "h2", Claimed: quantity.BitRate(h2) * quantity.Gbps}, {Port: "h1", Claimed: quantity.BitRate(h1) * quantity.Gbps}}}
	out, err := f.s.PutFeed(f.t.Context(), "lab", "red", feed, control.AnyVersion, in)
	if err != nil {
		f.t.Fatal(err)
	}
	return out
}

func TestWhatFeedsClaimOfAPortIsSummed(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f := labWithFeeds(t, r)
		want := func(what, want string) {
			t.Helper()
			if got := f.said(); got != want {
				t.Errorf("%s: found %s, want %s", what, got, want)
			}
		}
		if c := f.promise("a", true, 10, 20); len(c.Attached) != 1 || c.Version != 1 {
			t.Errorf("%+v", c)
		}
		want("a feed", "h1 10n, h2 20n, h4 0")
		f.promise("b", false, 1, 2)
		want("two feeds", "h1 11n, h2 22n, h4 0")
		before := stateOf(t, f.s, "lab")
		if c := f.promise("b", false, 1, 2); c.Version != 1 {
			t.Errorf("the same again has version %d", c.Version)
		}
		if d := cmp.Diff(before, stateOf(t, f.s, "lab")); d != "" {
			t.Errorf("the same again changes:\n%s", d)
		}
		if c := f.promise("b", false, 3, 2); c.Version != 2 || len(c.Attached)+len(c.Detached) != 0 {
			t.Errorf("a change of a rate: %+v", c)
		}
		want("a changed rate", "h1 13n, h2 22n, h4 0")
		if now := stateOf(t, f.s, "lab"); now.Policy != before.Policy+1 {
			t.Errorf("policy is at %d after %d, want one revision: plans depend on it", now.Policy, before.Policy)
		}
		for _, e := range controltest.AuditEntries(t, f.s)[before.Audit:] {
			if e.Action != "feed.replaced" || !strings.Contains(string(e.Before), `"promised_bps":3000000000`) || !strings.Contains(string(e.After), `"promised_bps":5000000000`) {
				t.Errorf("audit entry %s: from %s to %s", e.Action, e.Before, e.After)
			}
		}
		// What the operator does leaves what feeds say.
		if _, err := f.s.AddAttachment(t.Context(), "lab", "red", at("h2")); err != nil {
			t.Fatal(err)
		}
		want("the operator claims h2", "h1 13n, h2 22n, h4 0")
		if err := f.s.DeleteAttachment(t.Context(), "lab", "red", "h2", tenancy.AnyTag); err != nil {
			t.Fatal(err)
		}
		want("and gives it up", "h1 13n, h2 22n, h4 0")
		f.operator(at("h1"))
		want("another declaration", "h1 13n, h2 22n")
		if _, err := f.s.ApplyTenants(t.Context(), "lab", controltest.Tenants(), false); err != nil {
			t.Fatal(err)
		}
		want("a manifest", "h1 13n, h2 22n, h4 0")
		f.drop("a")
		want("without the first feed", "h1 3, h2 2, h4 0")
		f.drop("b")
		want("without feeds", "h1 0, h4 0")
	})
}

func TestRatesOutOfRangeAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, r *controltest.Rig) {
		f := labWithFeeds(t, r)
		in := claim("h1", "h2", "h3")
		in.Ports[0].Claimed, in.Ports[1].Claimed, in.Ports[2].Claimed = -1, tenancy.MaxClaimed, tenancy.MaxClaimed+1
		leaves(t, f.s, "rates", func() {
			_, err := f.s.PutFeed(t.Context(), "lab", "red", "a", 0, in)
			if d := cmp.Diff([]string{"/attachments/0/claimed_bps", "/attachments/2/claimed_bps"}, pointers(err)); d != "" {
				t.Errorf("%v\n%s", err, d)
			}
		})
		for i := range control.MaxFeeds { // the largest sum
			in := claim("h1")
			in.Ports[0].Claimed = tenancy.MaxClaimed
			if _, err := f.s.PutFeed(t.Context(), "lab", "red", fmt.Sprintf("f%d", i), 0, in); err != nil {
				t.Fatal(err)
			}
		}
		tn, err := f.s.Tenant(t.Context(), "lab", "red")
		if err != nil || tn.Attachments[0].Claimed != control.MaxFeeds*tenancy.MaxClaimed {
			t.Errorf("%+v, %v", tn.Attachments, err)
		}
	})
}

// A feeder may roll out what its claims caused, and only that.
func TestClaimsAreNoCauseBeyondFeeds(t *testing.T) {
	own := tenants.Tenant{Name: "red", Weight: 1000, Attachments: []tenants.Attachment{{Port: ident.PortID{Node: 1, Port: 1}}}}
	fed := own
	fed.Attachments = []tenants.Attachment{{Port: ident.PortID{Node: 1, Port: 1}, Claimed: quantity.Gbps, NodeFunctions: true}}
	if d := cmp.Diff(tenants.OwnOnly([]tenants.Tenant{own}), tenants.OwnOnly([]tenants.Tenant{fed})); d != "" {
		t.Error(d)
	}
}
