package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/api"
	"fairlane/internal/control/controltest"
)

// certificate makes a certificate that is its own authority, and writes it and its key as PEM files.
func certificate(t *testing.T, dir, name string) (certFile, keyFile string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pair, err = tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile, pair
}

func TestCertificatesAreCheckedAndShown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serverCert, _, serverPair := certificate(t, dir, "server")
	clientCert, clientKey, clientPair := certificate(t, dir, "client")
	strangerCert, strangerKey, _ := certificate(t, dir, "stranger")
	trusted := x509.NewCertPool()
	trusted.AddCert(clientPair.Leaf)
	r := controltest.New(t, openStore)
	h, err := api.New(r.Service, api.Options{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serverPair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	for _, tc := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"all given", []string{"--ca-file", serverCert, "--cert-file", clientCert, "--key-file", clientKey}, 0, "[]"},
		{"an authority that is not known", []string{"--cert-file", clientCert, "--key-file", clientKey}, 1, "certificate"},
		{"nothing to show", []string{"--ca-file", serverCert}, 1, "does not answer"},
		{"a certificate that the service does not know", []string{"--ca-file", serverCert, "--cert-file", strangerCert, "--key-file", strangerKey}, 1, "does not answer"},
		{"no key", []string{"--ca-file", serverCert, "--cert-file", clientCert}, 2, "belong together"},
		{"another's key", []string{"--ca-file", serverCert, "--cert-file", clientCert, "--key-file", strangerKey}, 2, "want a certificate and its key"},
		{"no certificates", []string{"--ca-file", clientKey}, 2, "found no certificate"},
		{"no file", []string{"--ca-file", filepath.Join(dir, "nowhere")}, 2, "nowhere"},
	} {
		env := map[string]string{"FAIRLANE_URL": server.URL, "FAIRLANE_TOKEN": controltest.Token}
		cmd, out, _ := asks(env, append([]string{"fabric", "list", "--json"}, tc.args...)...)
		err := cmd.ExecuteContext(t.Context())
		text := out.String()
		if err != nil {
			text += err.Error()
		}
		if code := ExitCode(err); code != tc.code || !strings.Contains(text, tc.want) {
			t.Errorf("%s: ends with %d and %q, want %d and %q", tc.name, code, text, tc.code, tc.want)
		}
	}
}
