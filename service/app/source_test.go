package app

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/site"
	"fairlane/subnet/subnettest"
)

// A client of the API learns nothing about files and hosts that the configuration does not allow, and reaches none of them, through
// stored fabrics or new ones.
func TestSourcesThatAreNotAllowedAreRefusedAndNeverRead(t *testing.T) {
	t.Parallel()
	in, out := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(in, "fabric.yaml"), filepath.Join(out, "there")} {
		if err := os.WriteFile(path, []byte(subnettest.TwoHosts), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(out, "there"), filepath.Join(in, "link")); err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = udp.Close() }()
	rules, err := config.NewSourceRules([]string{"file:" + in + "/*", "ibsim:unix:*"})
	if err != nil {
		t.Fatal(err)
	}
	database := filepath.Join(t.TempDir(), "fairlane.db")
	old, err := openManager(t.Context(), database, &site.Access{}, workOptions{still: true}) // of a release that allowed all
	if err != nil {
		t.Fatal(err)
	}
	stored := "ibsim:udp:" + udp.LocalAddr().String()
	_, err = old.service.CreateFabric(t.Context(), control.Fabric{Name: "stored", Source: stored, TimeScale: 1})
	if err := errors.Join(err, old.Close()); err != nil {
		t.Fatal(err)
	}
	m, err := openManager(t.Context(), database, site.New(site.Settings{Sources: rules}), workOptions{still: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	var said []string
	for i, source := range []string{"file:" + out + "/there", "file:" + out + "/none", "file:" + in + "/../" + filepath.Base(out) + "/there", stored, "ibsim:udp:192.0.2.1:53", "ethernet:" + in + "/fabric.yaml"} {
		_, err := m.service.CreateFabric(t.Context(), control.Fabric{Name: fmt.Sprintf("f%d", i), Source: source, TimeScale: 1})
		if !errors.Is(err, control.ErrInvalid) {
			t.Errorf("%s: %v", source, err)
			continue
		}
		said = append(said, strings.ReplaceAll(err.Error(), source, "SOURCE"))
	}
	if said[0] != said[1] {
		t.Errorf("an existing file and a missing one get different answers:\n%s\n%s", said[0], said[1])
	}
	if _, err := m.service.CreateFabric(t.Context(), control.Fabric{Name: "good", Source: "file:" + in + "/fabric.yaml", TimeScale: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.service.Discover(t.Context(), "good"); err != nil {
		t.Errorf("an allowed file: %v", err)
	}
	if _, err := m.service.UpdateFabric(t.Context(), control.Fabric{Name: "good", Source: "file:" + out + "/there", TimeScale: 1}); !errors.Is(err, control.ErrInvalid) {
		t.Errorf("a source that is changed to one that is not allowed: %v", err)
	}
	if _, err := m.service.UpdateFabric(t.Context(), control.Fabric{Name: "good", Source: "file:" + in + "/link", TimeScale: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.service.Discover(t.Context(), "good"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("through a symbolic link: %v", err)
	}
	if _, err := m.service.Discover(t.Context(), "stored"); !errors.Is(err, config.ErrSource) {
		t.Errorf("a stored source: %v", err)
	}
	if err := udp.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, _, err := udp.ReadFrom(make([]byte, 1)); err == nil {
		t.Errorf("a datagram of %d bytes or more was sent", n)
	}
}
