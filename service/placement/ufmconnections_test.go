package placement

import (
	"net/http"
	"net/http/httptrace"
	"os"
	"testing"

	"fairlane/internal/testkit/tlstest"
	"fairlane/service/control"
)

// Every operation opens a port of its own, and all of them use one connection to UFM.
func TestOperationsShareConnectionsToUFM(t *testing.T) {
	t.Parallel()
	s := newUFMSite(t)
	open := func(fabric string) Port {
		t.Helper()
		port, err := s.placements.Open(control.Target{Fabric: control.Fabric{Name: fabric}, Topology: s.topo}, s.file, s.sa)
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	reused := func(port Port) (yes bool) {
		t.Helper()
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { yes = i.Reused }}
		if err := port.Check(httptrace.WithClientTrace(t.Context(), trace), s.plan(0x8010, 3, 0), nil); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	before := open("lab")
	if reused(before) {
		t.Error("the first request found a connection")
	}
	if !reused(open("lab")) {
		t.Error("the second operation opened a connection of its own")
	}
	if reused(open("other")) {
		t.Error("another fabric, whose UFM may be another one, used the same connection")
	}
	// The site adds an authority to the file.
	more, err := os.ReadFile(tlstest.New(t).File)
	if err != nil {
		t.Fatal(err)
	}
	had, err := os.ReadFile(s.file.UFM.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.file.UFM.CAFile, append(had, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	if reused(open("lab")) {
		t.Error("a connection that was opened with other authorities is still used")
	}
	if reused(before) {
		t.Error("a connection that was opened with other authorities stayed open")
	}
	if idle := newUFMConnections(nil).Transport.(*http.Transport).IdleConnTimeout; idle != ufmIdle {
		t.Errorf("idle connections are closed after %s, want %s", idle, ufmIdle)
	}
}
