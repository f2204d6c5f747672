package gnmid_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"fairlane/internal/gnmid"
	"fairlane/internal/servertls"
)

var discard = slog.New(slog.DiscardHandler)

// authority signs certificates for tests.
type authority struct {
	t    testing.TB
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	path string // of its certificate
}

// validity is from when until when a certificate is valid, from now.
type validity struct{ from, until time.Duration }

var (
	always  = validity{-time.Hour, time.Hour}
	expired = validity{-2 * time.Hour, -time.Hour}
	future  = validity{24 * time.Hour, 48 * time.Hour}
)

func newAuthority(t testing.TB) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key, path: filepath.Join(t.TempDir(), "ca.pem")}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-100 * time.Hour),
		NotAfter: time.Now().Add(100 * time.Hour), KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	a.write(a.path, "CERTIFICATE", a.sign(a.cert, &key.PublicKey))
	return a
}

func (a *authority) sign(c *x509.Certificate, key *ecdsa.PublicKey) []byte {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	return der
}

func (a *authority) write(path, what string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: what, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// files writes a certificate for a name and its key into dir.
func (a *authority) files(dir, name string, v validity) servertls.Files {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name + ".test"},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "test", Path: name}}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(v.from), NotAfter: time.Now().Add(v.until), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	out := servertls.Files{Certificate: filepath.Join(dir, name+".pem"), Key: filepath.Join(dir, name+".key"), Clients: a.path, MustHave: true}
	a.write(out.Certificate, "CERTIFICATE", a.sign(c, &key.PublicKey))
	a.write(out.Key, "EC PRIVATE KEY", secret)
	return out
}

func open(t testing.TB, f servertls.Files) *servertls.Source {
	t.Helper()
	s, err := servertls.Open(f, discard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// dial connects with a certificate of files, or none.
func (a *authority) dial(address string, own *servertls.Files) gnmi.GNMIClient {
	a.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(func() *x509.Certificate {
		text, err := os.ReadFile(a.path)
		if err != nil {
			a.t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			a.t.Fatal(err)
		}
		return c
	}())
	c := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	if own != nil {
		pair, err := tls.LoadX509KeyPair(own.Certificate, own.Key)
		if err != nil {
			a.t.Fatal(err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(c)))
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = conn.Close() })
	return gnmi.NewGNMIClient(conn)
}

// journal is a log that tests read while it is written.
type journal struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // holds a token after each entry; nil: nobody waits
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case j.wrote <- struct{}{}:
	default:
	}
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func TestClientsAreKnownByTheirCertificates(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	dir := t.TempDir()
	seen := make(chan gnmid.Call, 1)
	address := listen(t, gnmid.Options{Targets: gnmid.Single(port()), Authorize: func(_ context.Context, c gnmid.Call) error { seen <- c; return nil }},
		grpc.Creds(gnmid.Credentials(open(t, a.files(dir, "server", always)).Config(), discard)))
	own := a.files(dir, "manager", always)
	if _, err := a.dial(address, &own).Get(short(t), &gnmi.GetRequest{}); err != nil {
		t.Fatal(err)
	}
	c := <-seen
	same(t, "names", c.Peer.Names, "manager", "manager.test", "spiffe://test/manager", "127.0.0.1")
	if !strings.HasPrefix(c.Peer.Address, "127.0.0.1:") || !c.Peer.Is([]string{"x", "manager.test"}) || c.Peer.Is([]string{"server"}) {
		t.Errorf("peer %+v", c.Peer)
	}
}

func TestWhyAClientIsRefusedIsLogged(t *testing.T) {
	t.Parallel()
	a, other := newAuthority(t), newAuthority(t)
	for _, tc := range []struct {
		name string
		own  func(dir string) *servertls.Files
		says []string
	}{
		{"an expired certificate", func(d string) *servertls.Files { f := a.files(d, "late", expired); return &f },
			[]string{"expired 1h0m", "renew it", "CN=late", "not_before", "not_after", "now"}},
		{"a certificate of tomorrow", func(d string) *servertls.Files { f := a.files(d, "early", future); return &f },
			[]string{"not valid for another 2", "clock", "CN=early"}},
		{"another authority's", func(d string) *servertls.Files { f := other.files(d, "stranger", always); return &f },
			[]string{"none of the authorities", "CN=stranger"}},
		{"none", func(string) *servertls.Files { return nil }, []string{"didn't provide a certificate"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			j := journal{wrote: make(chan struct{}, 1)}
			address := listen(t, gnmid.Options{Targets: gnmid.Single(port())},
				grpc.Creds(gnmid.Credentials(open(t, a.files(t.TempDir(), "server", always)).Config(), slog.New(slog.NewTextHandler(&j, nil)))))
			_, err := a.dial(address, tc.own(t.TempDir())).Get(short(t), &gnmi.GetRequest{})
			refused(t, "get", err, codes.Unavailable)
			<-j.wrote // the client may know before the log does
			for _, w := range append(tc.says, "a client was refused", "peer=127.0.0.1") {
				if !strings.Contains(j.String(), w) {
					t.Errorf("the log says\n%s\nwant %q", j.String(), w)
				}
			}
		})
	}
}

func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	j := journal{wrote: make(chan struct{}, 1)}
	address := listen(t, gnmid.Options{Targets: gnmid.Single(port())},
		grpc.Creds(gnmid.Credentials(open(t, a.files(t.TempDir(), "server", always)).Config(), slog.New(slog.NewTextHandler(&j, nil)))))
	for range 20 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("GET / HTTP/1.0\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		var b [1]byte
		_, _ = c.Read(b[:]) // until the server hangs up
		_ = c.Close()
	}
	<-j.wrote
	if n := strings.Count(j.String(), "speaks no TLS"); n < 1 || n > 10 {
		t.Errorf("20 strangers are logged %d times, want once a second:\n%s", n, j.String())
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	for _, offered := range []bool{true, false} {
		address := listen(t, gnmid.Options{Targets: gnmid.Single(port()), Reflection: offered})
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		s, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(short(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil {
			t.Fatal(err)
		}
		r, err := s.Recv()
		if offered != strings.Contains(r.String(), "gnmi.gNMI") {
			t.Errorf("offered %v: %v, %v", offered, r, err)
		}
	}
}
