package authz

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/casbin/casbin/v2"
	"github.com/casbin/casbin/v2/model"

	"fairlane/tenants"
)

// modelText is the model of the package comment in casbin's syntax. The last two terms of the matcher are the rules for
// roles on a whole fabric and on everything.
const modelText = `
[request_definition]
r = sub, dom, fab, obj, act

[policy_definition]
p = sub, obj, act

[role_definition]
g = _, _, _

[policy_effect]
e = some(where (p.eft == allow))

[matchers]
m = r.obj == p.obj && r.act == p.act && (g(r.sub, p.sub, r.dom) || g(r.sub, p.sub, r.fab) || g(r.sub, p.sub, "*"))
`

// maxKept is the maximum number of cached sets of rights. The cache is keyed by grants, not by subject: operators share
// one entry, and no entry can become stale.
const maxKept = 512

// Enforcer evaluates sets of grants. It is safe for concurrent use.
type Enforcer struct {
	mu   sync.Mutex
	kept map[string]*Rights
	used []string // keys of kept, the most recently used last
}

// New returns an enforcer, or an error if the model cannot be parsed.
func New() (*Enforcer, error) {
	if _, err := model.NewModelFromString(modelText); err != nil {
		return nil, fmt.Errorf("read the model of rights: %w", err)
	}
	return &Enforcer{kept: make(map[string]*Rights)}, nil
}

// Rights are the rights of one set of grants. It is safe for concurrent use.
type Rights struct {
	casbin *casbin.SyncedEnforcer // nil: nothing is allowed
}

// Rights returns the rights of the grants; it fails if a grant is invalid.
func (e *Enforcer) Rights(grants []tenants.Grant) (*Rights, error) {
	sorted := slices.SortedFunc(slices.Values(grants), tenants.CompareGrants)
	sorted = slices.Compact(sorted)
	var b strings.Builder
	for _, g := range sorted {
		b.WriteString(g.String() + "\n")
	}
	key := b.String()
	if r := e.recall(key); r != nil {
		return r, nil
	}
	r, err := build(sorted)
	if err != nil {
		return nil, err
	}
	e.keep(key, r)
	return r, nil
}

func build(grants []tenants.Grant) (*Rights, error) {
	if len(grants) == 0 {
		return &Rights{}, nil
	}
	m, err := model.NewModelFromString(modelText)
	if err != nil {
		return nil, fmt.Errorf("read the model of rights: %w", err)
	}
	c, err := casbin.NewSyncedEnforcer(m, adapter(grants))
	if err != nil {
		return nil, fmt.Errorf("load rights: %w", err)
	}
	return &Rights{casbin: c}, nil
}

func (e *Enforcer) recall(key string) *Rights {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.kept[key]
	if r != nil {
		e.touch(key)
	}
	return r
}

func (e *Enforcer) keep(key string, r *Rights) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.used) >= maxKept {
		delete(e.kept, e.used[0])
		e.used = slices.Delete(e.used, 0, 1)
	}
	e.kept[key] = r
	e.touch(key)
}

func (e *Enforcer) touch(key string) {
	if i := slices.Index(e.used, key); i >= 0 {
		e.used = slices.Delete(e.used, i, i+1)
	}
	e.used = append(e.used, key)
}

// Can reports whether an action on an object is allowed in a domain. In the domain of everything, only a role held
// there allows it; in the domain of a fabric, also a role on that fabric. Objects of the service exist only in the
// domain of everything.
func (r *Rights) Can(d tenants.Domain, o Object, a Action) (bool, error) {
	if r.casbin == nil {
		return false, nil
	}
	dom, fab := d, tenants.Domain{Fabric: d.Fabric}
	if OfService(o) || !named(d) {
		dom, fab = tenants.Domain{}, tenants.Domain{}
	}
	ok, err := r.casbin.Enforce(subject, dom.String(), fab.String(), string(o), string(a))
	if err != nil {
		return false, fmt.Errorf("decide %s on %s in %s: %w", a, o, d, err)
	}
	return ok, nil
}

// named reports whether a domain is everything or has valid names of a fabric and a tenant. Other text is from the
// path of a request, where the fabric name "lab/red" must not print like tenant red of fabric lab.
func named(d tenants.Domain) bool {
	return (d.Fabric == "" || tenants.ValidName(d.Fabric)) && (d.Tenant == "" || tenants.ValidName(d.Tenant))
}
