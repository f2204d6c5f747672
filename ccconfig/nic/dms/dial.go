package dms

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"fairlane/internal/certpool"
	"fairlane/internal/loopback"
)

// maxAnswer is the largest size of a message, in bytes.
const maxAnswer = 4 << 20

// Address is the address of a host's service, with the TLS files of the connection.
type Address struct {
	Target           string // HOST:PORT, such as 127.0.0.1:9339
	CA               string // PEM file of the CAs for its certificate; empty disables TLS, for loopback addresses only
	Certificate, Key string // PEM files of the client; both or neither
	ServerName       string // name in the service's certificate; empty means the host of Target
}

// Service is a connection to the service. One daemon serves all cards of a host.
type Service struct {
	conn   *grpc.ClientConn
	client gnmi.GNMIClient
}

// Dial returns a connection, which opens on first use. It returns an error for invalid addresses and files.
func Dial(a Address) (*Service, error) {
	host, _, err := net.SplitHostPort(a.Target)
	if err != nil {
		return nil, fmt.Errorf("management service: address %q: %w, want HOST:PORT", a.Target, err)
	}
	transport := insecure.NewCredentials()
	if a.CA == "" {
		if !loopback.Is(host) {
			return nil, fmt.Errorf("management service: %s without TLS, want a CA for its certificate or a loopback address", a.Target)
		}
		if a.Certificate+a.Key != "" {
			return nil, errors.New("management service: a client certificate without authorities, want those too")
		}
	} else {
		c, err := a.tls(host)
		if err != nil {
			return nil, fmt.Errorf("management service: %w", err)
		}
		transport = credentials.NewTLS(c)
	}
	conn, err := grpc.NewClient("passthrough:///"+a.Target, grpc.WithTransportCredentials(transport), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("management service: %w", err)
	}
	return &Service{conn, gnmi.NewGNMIClient(conn)}, nil
}

// tls reads the TLS files.
func (a *Address) tls(host string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cmp.Or(a.ServerName, host)}
	var err error
	if c.RootCAs, err = certpool.Read(a.CA); err != nil {
		return nil, err
	}
	if a.Certificate+a.Key != "" {
		pair, err := tls.LoadX509KeyPair(a.Certificate, a.Key)
		if err != nil {
			return nil, fmt.Errorf("client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Client returns the client for all cards.
func (s *Service) Client() Client { return s.client }

// Close closes the connection.
func (s *Service) Close() error { return s.conn.Close() }
