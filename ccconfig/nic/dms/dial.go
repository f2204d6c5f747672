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

// maxAnswer bounds a message of the service, in bytes.
const maxAnswer = 4 << 20

// Address says where the service of a host is and how to connect to it.
type Address struct {
	Target           string // HOST:PORT, such as 127.0.0.1:9339
	CA               string // PEM file of the authorities that its certificate may be of; empty: no TLS, at loopback addresses only
	Certificate, Key string // PEM files of the client; both or neither
	ServerName       string // in the service's certificate; empty: the host of Target
}

// Service is a connection to the service. One daemon serves all cards of a host.
type Service struct {
	conn   *grpc.ClientConn
	client gnmi.GNMIClient
}

// Dial makes a connection, which is opened when it is first used. It fails on addresses and files that make none.
func Dial(a Address) (*Service, error) {
	host, _, err := net.SplitHostPort(a.Target)
	if err != nil {
		return nil, fmt.Errorf("management service: address %q: %w, want HOST:PORT", a.Target, err)
	}
	transport := insecure.NewCredentials()
	if a.CA == "" {
		if !loopback.Is(host) {
			return nil, fmt.Errorf("management service: %s without TLS, want authorities for its certificate or a loopback address", a.Target)
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

// tls reads the files.
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

// Client is the client for all cards.
func (s *Service) Client() Client { return s.client }

// Close closes the connection.
func (s *Service) Close() error { return s.conn.Close() }
