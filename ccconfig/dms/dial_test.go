package dms

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"fairlane/ccconfig/nicfiles"
	"fairlane/ccconfig/nicparam"
	"fairlane/internal/gnmid"
)

// certificate writes a self-signed certificate that ends at a moment, and its key.
func certificate(t *testing.T, name string, end time.Time) (certFile, keyFile string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: end,
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "EC PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// listen serves the tree at a port of this machine.
func listen(t *testing.T, options ...grpc.ServerOption) string {
	t.Helper()
	server, err := gnmid.NewServer(gnmid.Options{Targets: gnmid.Single(newService(), pci)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l, options...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func trust(t *testing.T, a Address) error {
	t.Helper()
	s, err := Dial(a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return newWay(t, s.Client(), pci).Read(t.Context(), []nicparam.Key{{Port: 1, Name: "trust"}})[0].Err
}

func TestTheServiceIsReachedWithAndWithoutTLS(t *testing.T) {
	t.Parallel()
	if err := trust(t, Address{Target: listen(t)}); err != nil {
		t.Error(err)
	}
	good, key, pair := certificate(t, "dms.example", time.Now().Add(time.Hour))
	pool := x509.NewCertPool()
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(leaf)
	mutual := listen(t, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})))
	if err := trust(t, Address{Target: mutual, CA: good, Certificate: good, Key: key, ServerName: "dms.example"}); err != nil {
		t.Error(err)
	}
	for name, a := range map[string]Address{
		"no client certificate": {Target: mutual, CA: good, ServerName: "dms.example"},
		"another name":          {Target: mutual, CA: good, Certificate: good, Key: key},
	} {
		if err := trust(t, a); !errors.Is(err, nicfiles.ErrUnreadable) || errors.Is(err, nicfiles.ErrAbsent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	old, _, expired := certificate(t, "dms.example", time.Now().Add(-time.Hour))
	late := listen(t, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{expired}, MinVersion: tls.VersionTLS12})))
	if err := trust(t, Address{Target: late, CA: old, ServerName: "dms.example"}); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("expired: %v", err)
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	t.Parallel()
	good, key, _ := certificate(t, "dms.example", time.Now().Add(time.Hour))
	for says, a := range map[string]Address{
		"want HOST:PORT":       {Target: "127.0.0.1"},
		"without TLS":          {Target: "192.0.2.1:9339"},
		"without authorities":  {Target: "127.0.0.1:9339", Certificate: good, Key: key},
		"no such file":         {Target: "127.0.0.1:9339", CA: good + ".not"},
		"found no certificate": {Target: "127.0.0.1:9339", CA: key},
		"client certificate":   {Target: "127.0.0.1:9339", CA: good, Certificate: good},
	} {
		if _, err := Dial(a); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}
