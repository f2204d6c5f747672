package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"

	"fairlane/internal/phrase"
	"fairlane/service/control"
	"fairlane/tenants"
	"fairlane/tenants/authz"
)

// rightsExtension is the key of an operation's rule in the contract.
const rightsExtension = "x-fairlane-authz"

// reach is the domain in which a rule requires its right.
type reach string

// Reaches of a rule.
const (
	reachPublic reach = "public" // any caller: the operation says "security: []" and has no rule
	reachSelf   reach = "self"   // any authenticated caller: the answer concerns the caller
	reachAll    reach = "all"    // in the domain of everything
	reachFabric reach = "fabric" // there, or in the domain of the path's fabric
	reachTenant reach = "tenant" // there, or in the domain of the path's tenant
	reachOwn    reach = "own"    // there, or in any tenant of the path's fabric; the answer is limited to those
)

// rule is the right that an operation requires of its caller.
type rule struct {
	Object authz.Object `json:"object"`
	Action authz.Action `json:"action"`
	Domain reach        `json:"domain"`
	// Or is a right in the same domain that also passes; then the handler limits what the caller may do. Nil: none.
	Or *alternative `json:"or,omitempty"`
}

// alternative is a right that passes in place of a rule's.
type alternative struct {
	Object authz.Object `json:"object"`
	Action authz.Action `json:"action"`
}

// sealed returns the rule of an operation without one: only a role with all rights passes. A test fails for every such
// operation.
func sealed() rule { return rule{Object: authz.Settings, Action: authz.Run, Domain: reachAll} }

// ruleOf reads an operation's rule. ok is false when there is none.
func ruleOf(op *openapi3.Operation) (r rule, ok bool, err error) {
	if public(op) {
		return rule{Domain: reachPublic}, true, nil
	}
	value, ok := op.Extensions[rightsExtension]
	if !ok {
		return sealed(), false, nil
	}
	r, err = recast[rule](value)
	switch {
	case err != nil:
		return sealed(), true, fmt.Errorf("operation %s: %s: %w", op.OperationID, rightsExtension, err)
	case r.Domain == reachSelf && r.Object == "" && r.Action == "":
	case slices.Contains([]reach{reachAll, reachFabric, reachTenant, reachOwn}, r.Domain) && authz.Known(r.Object, r.Action) &&
		(r.Or == nil || authz.Known(r.Or.Object, r.Or.Action)):
	default:
		return sealed(), true, fmt.Errorf("operation %s: %s %v: want an object, an action and a domain that exist, or {domain: self}", op.OperationID, rightsExtension, value)
	}
	return r, true, nil
}

// authorize is the only place that enforces rights: by the operation's rule, before the body is read and before anything
// is looked up. So missing objects and those of other tenants are treated identically.
func (s *Server) authorize(c *gin.Context) {
	r := sealed()
	if route := s.spec.of(c); route != nil {
		r = route.rule
	}
	if r.Domain == reachPublic {
		return
	}
	p, ok := control.PrincipalFrom(c.Request.Context())
	if r.Domain == reachSelf {
		if p.Scopes != nil && !safe(c.Request.Method) {
			s.writeProblem(c, &control.ForbiddenError{Said: phrase.Of("problem.scoped-account")})
		}
		return
	}
	if !ok {
		s.writeProblem(c, control.ErrUnauthorized)
		return
	}
	err := s.decide(p, r, c.Param("fabric"), c.Param("tenant"))
	if err != nil && r.Or != nil && s.decide(p, rule{Object: r.Or.Object, Action: r.Or.Action, Domain: r.Domain}, c.Param("fabric"), c.Param("tenant")) == nil {
		c.Request = c.Request.WithContext(control.WithLimitedRight(c.Request.Context()))
		return
	}
	if err != nil {
		s.writeProblem(c, err)
	}
}

// GuardProfiles protects a handler outside of the contract: only callers with the right to run diagnostics of everything
// reach it. Profiles cost processor time and reveal what the service is doing.
func (s *Server) GuardProfiles(h http.Handler) http.Handler {
	e := gin.New()
	e.Use(s.identify, s.recoverPanics)
	e.Any("/*path", func(c *gin.Context) {
		p, err := s.caller(c.Request)
		if err != nil {
			s.writeProblem(c, s.throttled(c.Request, err))
			return
		}
		if err := s.decide(p, rule{Object: authz.Diagnostics, Action: authz.Run, Domain: reachAll}, "", ""); err != nil {
			s.writeProblem(c, err)
			return
		}
		s.o.Log.InfoContext(c.Request.Context(), "profile taken", "request_id", requestID(c), "principal", p.Name, "path", c.Request.URL.Path)
		h.ServeHTTP(c.Writer, c.Request)
	})
	return e
}

// decide returns nil when the rule allows the principal.
func (s *Server) decide(p control.Principal, r rule, fabric, tenant string) error {
	rights, err := s.rights.Rights(p.Grants)
	if err != nil {
		return fmt.Errorf("rights of %s: %w", p.Name, err)
	}
	domains := []tenants.Domain{{}}
	switch {
	case r.Domain == reachFabric:
		domains[0] = tenants.Domain{Fabric: fabric}
	case r.Domain == reachTenant:
		domains[0] = tenants.Domain{Fabric: fabric, Tenant: tenant}
	case r.Domain == reachOwn && !p.Wide():
		domains = own(p, fabric)
	}
	for _, d := range domains {
		may, err := rights.Can(d, r.Object, r.Action)
		if err != nil {
			return err
		}
		if !may {
			continue
		}
		if !p.InScope(string(r.Object), string(r.Action)) {
			return &control.ForbiddenError{Said: phrase.Of("problem.scope-missing", "object", r.Object, "action", r.Action)}
		}
		return nil
	}
	return refusal(p, r, fabric, tenant)
}

// own lists the narrower domains of a principal's roles, on one fabric when it is named.
func own(p control.Principal, fabric string) []tenants.Domain {
	var list []tenants.Domain
	for _, g := range p.Grants {
		if !g.Domain.All() && (fabric == "" || g.Domain.Fabric == fabric) {
			list = append(list, g.Domain)
		}
	}
	return list
}

// refusal returns the error of a principal without the right. For objects that it may not know of, the error is the same
// as if they did not exist; nothing was looked up to decide that.
func refusal(p control.Principal, r rule, fabric, tenant string) error {
	switch {
	case p.Wide() || fabric == "":
	case !slices.Contains(p.Fabrics(), fabric):
		return &control.NotFoundError{Kind: "fabric", Name: clip(fabric)}
	case tenant != "" && !p.Runs(fabric) && !slices.Contains(p.TenantsOn(fabric), tenant):
		return &control.NotFoundError{Kind: "tenant", Name: clip(tenant)}
	}
	return &control.ForbiddenError{Said: phrase.Of("problem.role-missing", "action", r.Action, "object", r.Object)}
}
