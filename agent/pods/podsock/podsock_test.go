package podsock

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func valid() Attachment {
	return Attachment{
		Key: Key{"rdma-net", "cnitool-0123456789abcdef", "net1"}, NetNS: "/run/netns/x", Pod: Pod{"team-a", "job-0", "0a1b"},
		Device: "0000:3b:00.2", GUID: "02:00:00:00:00:00:00:01", FailPolicy: Open,
	}
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	ok := valid()
	if err := ok.Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Attachment){
		"network":                 func(a *Attachment) { a.Network = "" },
		"network with a slash":    func(a *Attachment) { a.Network = "a/b" },
		"container":               func(a *Attachment) { a.ContainerID = "../x" },
		"interface":               func(a *Attachment) { a.Interface = "" },
		"long interface":          func(a *Attachment) { a.Interface = strings.Repeat("x", 16) },
		"interface with a slash":  func(a *Attachment) { a.Interface = "a/b" },
		"relative netns":          func(a *Attachment) { a.NetNS = "run/netns/x" },
		"namespace":               func(a *Attachment) { a.Pod.Namespace = "" },
		"namespace in capitals":   func(a *Attachment) { a.Pod.Namespace = "Team" },
		"pod name":                func(a *Attachment) { a.Pod.Name = "a b" },
		"pod UID":                 func(a *Attachment) { a.Pod.UID = "a;b" },
		"fail policy":             func(a *Attachment) { a.FailPolicy = "maybe" },
		"device":                  func(a *Attachment) { a.Device = "0000:3b:00.8" },
		"device that is a path":   func(a *Attachment) { a.Device = "0000:3b:00.1/../0000:3b:00.0" },
		"device with a new line":  func(a *Attachment) { a.Device = "0000:3b:00.1\n" },
		"auxiliary with a dot":    func(a *Attachment) { a.Device = "mlx5_core.sf.." },
		"auxiliary without index": func(a *Attachment) { a.Device = "mlx5_core.sf" },
		"GUID":                    func(a *Attachment) { a.GUID = "02:00" },
	} {
		a := valid()
		change(&a)
		p, is := errors.AsType[*Problem](a.Check())
		if !is || p.Code != CodeInvalid || !strings.Contains(p.Detail, "want ") {
			t.Errorf("%s: %v, want an invalid request that says what is allowed", name, p)
		}
	}
	for _, device := range []string{"", "mlx5_core.sf.4", "0000:00:1f.7", "10000:e1:00.0"} {
		a := valid()
		if a.Device = device; a.Check() != nil {
			t.Errorf("device %q: %v", device, a.Check())
		}
	}
}

func TestDecodeTakesOneBoundedBody(t *testing.T) {
	t.Parallel()
	key := `{"network":"n","container_id":"c","interface":"i"`
	for body, want := range map[string]string{
		key + `}`:                                "",
		key + `,"newer":[1]}`:                    "", // of a newer client
		key + `} {}`:                             "more than one JSON value",
		key:                                      "unexpected EOF",
		key + `}` + strings.Repeat(" ", MaxBody): "more than 65536 bytes",
		`{"network":7}`:                          "cannot unmarshal",
	} {
		var k Key
		err := Decode(strings.NewReader(body), MaxBody, &k)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %q", body, err, want)
		}
	}
	var g GC
	if err := Decode(strings.NewReader(`{"network":"n"}`), MaxGC, &g); err == nil {
		t.Error("a collection without a list is valid")
	}
	if err := Decode(strings.NewReader(`{"network":"n","valid":[]}`), MaxGC, &g); err != nil {
		t.Error(err)
	}
}

func TestTheSpoolKeepsTheLastRequestOfAnAttachment(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "spool")
	if found, damaged, err := ReadSpool(dir); len(found)+len(damaged) != 0 || err != nil {
		t.Error(found, damaged, err)
	}
	at := time.Unix(1_800_000_000, 0).UTC()
	a, b := valid(), valid()
	b.ContainerID = "other"
	for _, err := range []error{
		SpoolAttach(dir, &b, at.Add(2*time.Second)), SpoolAttach(dir, &a, at), SpoolRelease(dir, a.Key, at.Add(time.Second)),
		os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"at":"2026-01-01T00:00:00Z"}`), 0o600), os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	found, damaged, err := ReadSpool(dir)
	want := []Spooled{{At: at.Add(time.Second), Release: &a.Key}, {At: at.Add(2 * time.Second), Attach: &b}}
	if d := cmp.Diff(want, found, cmpopts.IgnoreUnexported(Spooled{})); d != "" || len(damaged) != 1 || err != nil {
		t.Errorf("%s\n%v %v", d, damaged, err)
	}
	if _, damaged, _ := ReadSpool(dir); len(damaged) != 0 {
		t.Errorf("a damaged file is reported twice: %v", damaged)
	}
	// A request that was replaced while it was executed stays.
	if err := SpoolAttach(dir, &a, at.Add(3*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		if err := errors.Join(s.Remove(), s.Remove()); err != nil {
			t.Error(err)
		}
	}
	if left, _, err := ReadSpool(dir); len(left) != 1 || left[0].Attach == nil || err != nil {
		t.Error(left, err)
	}
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Error(st.Mode(), err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"network":"n","container_id":"c","interface":"i","pod":{"namespace":"team-a"},"device":"mlx5_core.sf.4"}`))
	f.Add([]byte(`{"network":"n","valid":[{"container_id":"c","interface":"i"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, to := range []checker{&Attachment{}, &Key{}, &GC{}} {
			err := Decode(strings.NewReader(string(b)), MaxBody, to)
			if _, is := errors.AsType[*Problem](err); err != nil && !is {
				t.Errorf("%T", err)
			}
			if a, is := to.(*Attachment); is && err == nil && (strings.Contains(a.Device, "/") || strings.Contains(a.Interface, "/") || strings.Contains(a.Network, "/")) {
				t.Errorf("a valid request holds a path: %+v", a)
			}
		}
	})
}

func FuzzSpooled(f *testing.F) {
	f.Add([]byte(`{"at":"2026-01-01T00:00:00Z","release":{"network":"n","container_id":"c","interface":"i"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := decodeSpooled(b); err == nil && s.Key().Check() != nil {
			t.Errorf("%s: %v", b, s.Key().Check())
		}
	})
}
