package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlane/internal/testkit/filetest"
	"fairlane/internal/usage"
	"fairlane/policy"
	"fairlane/subnet/mad"
	"fairlane/subnet/umad"
)

func TestParseSource(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Source{
		"file:a b.topo":     {File: "a b.topo"},
		"file:C:/x":         {File: "C:/x"},
		"ibsim:lab":         {IBSim: "unix:lab"},
		"ibsim:unix:lab":    {IBSim: "unix:lab"},
		"ibsim:udp:h:7070":  {IBSim: "udp:h:7070"},
		"ethernet:inv.yaml": {Ethernet: "inv.yaml"},
		"ethernet:":         {},
		"":                  {},
		"file:":             {},
		"ibsim:":            {},
		"ibsim:udp":         {},
		"ibsim:unix":        {},
		"ibsim:tcp:h:1":     {},
		"http://x":          {},
		"umad:mlx5_0:1":     {UMAD: umad.Name{CA: "mlx5_0", Port: 1}},
		"umad:mlx5_0":       {},
		"umad:../x:1":       {},
		"umad:mlx5_0:0":     {},
		"fabric.yaml":       {},
	} {
		got, err := ParseSource(in)
		if got != want || (err != nil) != (want == Source{}) {
			t.Errorf("parseSource(%q) = %+v, %v", in, got, err)
		}
		if err != nil && (!errors.As(err, new(*usage.Error)) || !strings.Contains(err.Error(), "want file:PATH")) {
			t.Errorf("parseSource(%q): %v", in, err)
		}
	}
}

func TestCCKeyIsReadAndNeverEchoed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]mad.Key{"0xAB\n": 0xab, "00000000000000ff": 0xff} {
		if got, err := CCKey(filetest.Write(t, "k", text)); err != nil || got != want {
			t.Errorf("%q: %x, %v", text, got, err)
		}
	}
	if got, err := CCKey(""); got != 0 || err != nil {
		t.Errorf("no file: %x, %v", got, err)
	}
	for _, text := range []string{"hunter2", "112233445566778899", "\n"} {
		_, err := CCKey(filetest.Write(t, "k", text))
		if !errors.As(err, new(*usage.Error)) || text != "\n" && strings.Contains(err.Error(), text) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestErrorsDoNotRevealServerFiles uses files that are not fabrics as the source of one.
func TestErrorsDoNotRevealServerFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"token":   "flt_canary0123456789\n",
		"keys":    "canary: flt_canary0123456789\n",
		"passwd":  "root:canary:0:0\n",
		"yaml":    "version: 1\nname: canary\nnodes: canary\n",
		"node":    "version: 1\nname: x\nnodes: [{name: canary, kind: canary, guid: canary}]\n",
		"broken":  "version: 1\nnodes: [canary\n",
		"binary":  "\x00\x01canary\n",
		"ibnet":   "Switch\t2 \"canary\"\n[1] canary\n",
		"private": "-----BEGIN CANARY KEY-----\ncanary\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := (&Access{}).Discover(t.Context(), "file:"+path, policy.Options{})
		if err == nil || strings.Contains(strings.ToLower(strings.ReplaceAll(err.Error(), dir, "")), "canary") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ReadFabric(path); err == nil {
			t.Errorf("%s was taken for a fabric", name)
		}
	}
	if _, _, err := (&Access{}).Discover(t.Context(), "file:"+filepath.Join(dir, "none"), policy.Options{}); err == nil || strings.Contains(err.Error(), "no such file") {
		t.Errorf("of a missing file: %v", err)
	}
}

// heard records the M_Keys of requests.
type heard struct{ keys []mad.Key }

func (*heard) Close() error { return nil }

func (h *heard) Exchange(_ context.Context, _ mad.Target, p *mad.Packet) (mad.Packet, error) {
	h.keys = append(h.keys, p.MKey())
	return mad.Packet{}, nil
}

func TestAnMKeyIsSentOnlyWithSubnetManagement(t *testing.T) {
	t.Parallel()
	own := mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	own.SetMKey(9)
	other := mad.NewPerf(mad.MethodGet, mad.AttrPortCounters, 0)
	was := other
	direct, routed := mad.NewDirected(mad.MethodGet, mad.AttrNodeInfo, 0), mad.NewSMP(mad.MethodGet, mad.AttrNodeInfo, 0)
	h := &heard{}
	k := withMKey(h, 7)
	for _, p := range []*mad.Packet{&direct, &routed, &own, &other} {
		if _, err := k.Exchange(t.Context(), mad.Target{}, p); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(h.keys[:3]); got != fmt.Sprint([]mad.Key{7, 7, 9}) || other != was {
		t.Errorf("keys are %s, and a request of another class is %v", got, other)
	}
	if withMKey(h, 0) != Transport(h) {
		t.Error("without a key there is something in between")
	}
}
