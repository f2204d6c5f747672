package gnmitree_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/internal/servertls"
	"fairlane/internal/testkit/tlstest"
)

var discard = slog.New(slog.DiscardHandler)

// files returns the TLS files of a listener or a client with a certificate for a name.
func files(a *tlstest.Authority, name string, v tlstest.Validity) servertls.Files {
	c := a.Issue(name, v, func(c *x509.Certificate) {
		c.DNSNames, c.URIs = []string{name + ".test"}, []*url.URL{{Scheme: "spiffe", Host: "test", Path: name}}
	})
	return servertls.Files{Certificate: c.CertFile, Key: c.KeyFile, Clients: a.File, MustHave: true}
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
func dial(t testing.TB, a *tlstest.Authority, address string, own *servertls.Files) gnmi.GNMIClient {
	t.Helper()
	c := &tls.Config{RootCAs: a.Pool, MinVersion: tls.VersionTLS12}
	if own != nil {
		pair, err := tls.LoadX509KeyPair(own.Certificate, own.Key)
		if err != nil {
			t.Fatal(err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(c)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return gnmi.NewGNMIClient(conn)
}

// journal is a log that tests read while it is written.
type journal struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wrote chan struct{} // holds a token after each entry; nil: no test waits
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

func TestClientsAreIdentifiedByTheirCertificates(t *testing.T) {
	t.Parallel()
	a := tlstest.New(t)
	seen := make(chan gnmitree.Call, 1)
	address := listen(t, gnmitree.Options{Targets: gnmitree.Single(port()), Authorize: func(_ context.Context, c gnmitree.Call) error { seen <- c; return nil }},
		grpc.Creds(gnmitree.Credentials(open(t, files(a, "server", tlstest.Valid())).Config(), discard)))
	own := files(a, "manager", tlstest.Valid())
	if _, err := dial(t, a, address, &own).Get(short(t), &gnmi.GetRequest{}); err != nil {
		t.Fatal(err)
	}
	c := <-seen
	same(t, "names", c.Peer.Names, "manager", "manager.test", "spiffe://test/manager", "127.0.0.1")
	if !strings.HasPrefix(c.Peer.Address, "127.0.0.1:") || !c.Peer.Is([]string{"x", "manager.test"}) || c.Peer.Is([]string{"server"}) {
		t.Errorf("peer %+v", c.Peer)
	}
}

func TestClientRejectionIsLoggedWithReason(t *testing.T) {
	t.Parallel()
	a, other := tlstest.New(t), tlstest.New(t)
	for _, tc := range []struct {
		name     string
		own      func() *servertls.Files
		wantText []string
	}{
		{"an expired certificate", func() *servertls.Files { f := files(a, "late", tlstest.Expired()); return &f },
			[]string{"expired 1h0m", "renew it", "CN=late", "not_before", "not_after", "now"}},
		{"a certificate of tomorrow", func() *servertls.Files { f := files(a, "early", tlstest.Early()); return &f },
			[]string{"not valid for another 2", "clock", "CN=early"}},
		{"another authority's", func() *servertls.Files { f := files(other, "stranger", tlstest.Valid()); return &f },
			[]string{"none of the authorities", "CN=stranger"}},
		{"none", func() *servertls.Files { return nil }, []string{"didn't provide a certificate"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			j := journal{wrote: make(chan struct{}, 1)}
			address := listen(t, gnmitree.Options{Targets: gnmitree.Single(port())},
				grpc.Creds(gnmitree.Credentials(open(t, files(a, "server", tlstest.Valid())).Config(), slog.New(slog.NewTextHandler(&j, nil)))))
			_, err := dial(t, a, address, tc.own()).Get(short(t), &gnmi.GetRequest{})
			refused(t, "get", err, codes.Unavailable)
			<-j.wrote // the client may see the rejection before it is logged
			for _, w := range append(tc.wantText, "a client was refused", "peer=127.0.0.1") {
				if !strings.Contains(j.String(), w) {
					t.Errorf("the log contains\n%s\nwant %q", j.String(), w)
				}
			}
		})
	}
}

func TestRefusalsDoNotFloodTheLog(t *testing.T) {
	t.Parallel()
	a := tlstest.New(t)
	j := journal{wrote: make(chan struct{}, 1)}
	address := listen(t, gnmitree.Options{Targets: gnmitree.Single(port())},
		grpc.Creds(gnmitree.Credentials(open(t, files(a, "server", tlstest.Valid())).Config(), slog.New(slog.NewTextHandler(&j, nil)))))
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
		t.Errorf("20 unknown clients are logged %d times, want once a second:\n%s", n, j.String())
	}
}

func TestReflection(t *testing.T) {
	t.Parallel()
	for _, offered := range []bool{true, false} {
		address := listen(t, gnmitree.Options{Targets: gnmitree.Single(port()), Reflection: offered})
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		s, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(short(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		r, err := s.Recv()
		if offered != strings.Contains(r.String(), "gnmi.gNMI") {
			t.Errorf("offered %v: %v, %v", offered, r, err)
		}
	}
}
