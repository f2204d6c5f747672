package ufmtest

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// Start serves a new server by TLS until the test ends, and writes a file of subnet managers with its address.
func Start(t testing.TB) (s *Server, file string) {
	t.Helper()
	s = New()
	h := httptest.NewTLSServer(s)
	t.Cleanup(h.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("token", Token+"\n")
	write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw})))
	return s, write("sm.yaml", "ufm: {url: '"+h.URL+"', token_file: token, ca_file: ca.pem}\n")
}
