package gnmitree

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
)

// masters arbitrates between clients that send Sets (gNMI Support for Multiple Client Roles and Master Arbitration, 3.2), and
// serializes the Sets of each target.
type masters struct {
	mu     sync.Mutex
	target map[Tree]*master
}

// master is the arbitration state of one target. The holder of the single token in its channel may set.
type master struct {
	token chan struct{}
	roles map[string]election // the highest received election id of each role
}

// election is a 128-bit election id.
type election struct{ high, low uint64 }

func (e election) compare(f election) int {
	return cmp.Or(cmp.Compare(e.high, f.high), cmp.Compare(e.low, f.low))
}

func (e election) String() string {
	if e.high == 0 {
		return fmt.Sprint(e.low)
	}
	return fmt.Sprintf("%#x%016x", e.high, e.low)
}

// enter waits for exclusive use of a target and checks a claim to be its master. A request without a claim belongs to no role,
// and is never rejected here.
func (m *masters) enter(ctx context.Context, t *target, claim *gnmi_ext.MasterArbitration) (release func(), err error) {
	if claim != nil && claim.GetElectionId() == nil {
		return nil, invalid("master arbitration has no election id, want one")
	}
	if n := len(claim.GetRole().GetId()); n > t.limits.NameBytes {
		return nil, invalid("master arbitration names a role of %d bytes, want at most %d", n, t.limits.NameBytes)
	}
	at := m.of(t.tree)
	select {
	case at.token <- struct{}{}:
	case <-ctx.Done():
		return nil, coded(ctx.Err())
	}
	release = func() { <-at.token }
	if claim == nil {
		return release, nil
	}
	if err := at.judge(claim, t.limits.Roles); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

func (m *masters) of(t Tree) *master {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.target[t]
	if at == nil {
		at = &master{token: make(chan struct{}, 1)}
		if m.target == nil {
			m.target = map[Tree]*master{}
		}
		m.target[t] = at
	}
	return at
}

func (m *master) judge(claim *gnmi_ext.MasterArbitration, roles int) error {
	role, id := claim.GetRole().GetId(), election{claim.GetElectionId().GetHigh(), claim.GetElectionId().GetLow()}
	highest, known := m.roles[role]
	switch {
	case !known && len(m.roles) >= roles:
		return errorf(codes.ResourceExhausted, "role %q is over the limit: this target already has masters of %d roles", role, roles)
	case known && id.compare(highest) < 0:
		return errorf(codes.PermissionDenied, "election id %s of role %q is lower than %s, which the master has: claim with a higher one", id, role, highest)
	case m.roles == nil:
		m.roles = map[string]election{}
	}
	m.roles[role] = id
	return nil
}
