package gnmitree

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Limits are the limits of clients' requests. Zero values select the defaults in parentheses; negative values are errors.
type Limits struct {
	MessageBytes   int           // of a request (4 MiB); of an answer, four times as much
	Paths          int           // per Get, and subscriptions per list (1,024)
	Operations     int           // per Set (16,384)
	PathElements   int           // per path with its prefix (64)
	NameBytes      int           // name of an element or key, an origin, a target, a role (256)
	KeyBytes       int           // value of a key (1,024)
	Keys           int           // per element (16)
	JSONDepth      int           // of a value (64)
	Roles          int           // of masters per target (64)
	Connections    int           // open at the same time, per listener of Serve (4,096)
	Calls          int           // per connection at the same time, without subscriptions (1,024)
	Streams        int           // open subscriptions of the server (20,000)
	StreamLeaves   int           // per subscription (1,000,000)
	SampleInterval time.Duration // minimum, for trees without one; also for heartbeats (1 s)
	SendTimeout    time.Duration // longest time in which a client does not read a message of a subscription, or does not send its first one (1 min)
}

func (l Limits) complete() (Limits, error) {
	fields := []struct {
		name string
		at   *int
		or   int
	}{
		{"MessageBytes", &l.MessageBytes, 4 << 20},
		{"Paths", &l.Paths, 1024},
		{"Operations", &l.Operations, 16384},
		{"PathElements", &l.PathElements, 64},
		{"NameBytes", &l.NameBytes, 256},
		{"KeyBytes", &l.KeyBytes, 1024},
		{"Keys", &l.Keys, 16},
		{"JSONDepth", &l.JSONDepth, 64},
		{"Roles", &l.Roles, 64},
		{"Connections", &l.Connections, 4096},
		{"Calls", &l.Calls, 1024},
		{"Streams", &l.Streams, 20_000},
		{"StreamLeaves", &l.StreamLeaves, 1_000_000},
	}
	for _, f := range fields {
		if *f.at < 0 {
			return l, fmt.Errorf("limit %s is %d, want 0 for the default of %d, or more", f.name, *f.at, f.or)
		}
		if *f.at == 0 {
			*f.at = f.or
		}
	}
	for _, f := range []struct {
		name string
		at   *time.Duration
		or   time.Duration
	}{{"SampleInterval", &l.SampleInterval, time.Second}, {"SendTimeout", &l.SendTimeout, time.Minute}} {
		if *f.at < 0 {
			return l, fmt.Errorf("limit %s is %s, want 0 for the default of %s, or more", f.name, *f.at, f.or)
		}
		if *f.at == 0 {
			*f.at = f.or
		}
	}
	return l, nil
}

// handshakeTimeout is the longest time until a connection's client is authenticated.
const handshakeTimeout = 15 * time.Second

// maxHeaders is the largest size of a call's headers, in bytes.
const maxHeaders = 64 << 10

// serverOptions returns options that limit messages and calls, and detect peers that have disappeared.
func serverOptions(l Limits) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(uint32(min(uint64(l.Calls)+uint64(l.Streams), math.MaxUint32))),
		grpc.MaxRecvMsgSize(l.MessageBytes),
		grpc.MaxSendMsgSize(2 * answerFactor * l.MessageBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
}
