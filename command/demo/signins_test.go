package demo

import (
	"encoding/json"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"fairlane/tenants"
)

func TestAddressesAreReachableFromThisMachine(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"127.0.0.1:8470": "127.0.0.1:8470", "[::]:8470": "127.0.0.1:8470", "0.0.0.0:1": "127.0.0.1:1", "[::1]:2": "[::1]:2", "192.0.2.7:80": "192.0.2.7:80",
	} {
		if got := reachable(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(given))); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	if got := reachable(&net.UnixAddr{Name: "/run/x", Net: "unix"}); got != "/run/x" {
		t.Errorf("socket %s", got)
	}
}

func TestThePortalIsOfTheHeaviestTenant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		list []tenants.Tenant
		want string
	}{
		{[]tenants.Tenant{{Name: "bronze", Weight: 1}, {Name: "gold", Weight: 4}, {Name: "silver", Weight: 2}}, "gold"},
		{[]tenants.Tenant{{Name: "b", Weight: 2}, {Name: "a", Weight: 2}}, "a"},
	} {
		if got := portalTenant(c.list); got != c.want {
			t.Errorf("tenant %s, want %s", got, c.want)
		}
	}
}

func TestOnlyTheOwnerReadsTheSignIns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "in.json")
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	in := SignIns{URL: "http://x", Token: "flt", Fabric: FabricName, Operator: SignIn{User: "o", Password: "p"}, Tenant: SignIn{User: "t", Password: "q", Tenant: "gold"}}
	if err := in.write(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	var got SignIns
	if err != nil || json.Unmarshal(text, &got) != nil || got != in {
		t.Errorf("%s, %v", text, err)
	}
}
