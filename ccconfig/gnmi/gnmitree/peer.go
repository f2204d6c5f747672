package gnmitree

import (
	"context"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Call describes a client's call, for Options.Authorize and Options.Observe.
type Call struct {
	Method     string // Capabilities, Get, Set or Subscribe
	Target     string // prefix.target; may be empty
	Peer       Peer
	Operations int // number of a Set's operations
}

// Peer is the caller.
type Peer struct {
	Address string
	// Names are the names in the client's verified certificate: common name, DNS names, URIs, IP addresses; empty without a
	// verified certificate.
	Names []string
}

// Is reports whether the peer has one of names.
func (p Peer) Is(names []string) bool {
	return slices.ContainsFunc(p.Names, func(n string) bool { return slices.Contains(names, n) })
}

// PeerOf returns the peer of a call's context.
func PeerOf(ctx context.Context) Peer {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Peer{}
	}
	out := Peer{}
	if p.Addr != nil {
		out.Address = p.Addr.String()
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return out
	}
	leaf := info.State.VerifiedChains[0][0]
	if leaf.Subject.CommonName != "" {
		out.Names = append(out.Names, leaf.Subject.CommonName)
	}
	out.Names = append(out.Names, leaf.DNSNames...)
	for _, u := range leaf.URIs {
		out.Names = append(out.Names, u.String())
	}
	for _, ip := range leaf.IPAddresses {
		out.Names = append(out.Names, ip.String())
	}
	return out
}

// AllowSet returns an Authorize function that rejects Set from peers without one of names in their certificate, and allows
// everything else.
func AllowSet(names ...string) func(context.Context, Call) error {
	names = slices.Clone(names)
	return func(_ context.Context, c Call) error {
		if c.Method != "Set" || c.Peer.Is(names) {
			return nil
		}
		return Errorf(codes.PermissionDenied, "%s may not set anything: its certificate names %q, and one of %q is allowed to", c.Peer.Address, c.Peer.Names, names)
	}
}
