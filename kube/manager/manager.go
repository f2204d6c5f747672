// Package manager is the controller's Manager by the API of a Fairlane service.
package manager

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/kube/controller"
)

// Manager sends the controller's requests. The token's account needs the role feeder on the fabrics.
type Manager struct {
	api *client.ClientWithResponses

	mu    sync.Mutex
	plans map[string]controller.Plan // in force, by fabric: a plan never changes, and is large
}

// The controller's interface.
var _ controller.Manager = (*Manager)(nil)

// New returns a Manager that uses the client.
func New(api *client.ClientWithResponses) *Manager {
	return &Manager{api: api, plans: map[string]controller.Plan{}}
}

// answer is the common part of the generated answers.
type answer interface {
	StatusCode() int
	GetBody() []byte
	ContentType() string
}

// checked turns the result of a request into an error of the controller's interface; nil for a success. If the request itself
// failed, r is not used.
func checked(r answer, err error) error {
	if err == nil {
		err = client.Check(r.StatusCode(), r.GetBody())
	}
	problem := (*client.ProblemError)(nil)
	switch {
	case err == nil && r.StatusCode() != http.StatusNoContent && !strings.Contains(r.ContentType(), "json"):
		return fmt.Errorf("the server returned %d with content of type %q, want JSON: check the URL", r.StatusCode(), r.ContentType())
	case err == nil:
		return nil
	case !errors.As(err, &problem) || problem.Status >= http.StatusInternalServerError || problem.Status == http.StatusTooManyRequests:
		return err
	case problem.Code == "not-found":
		return fmt.Errorf("%w: %w", controller.ErrNotFound, err)
	}
	return &controller.RefusedError{Code: problem.Code, Detail: problem.Error()}
}

// Tenant returns a tenant with its figures in force.
func (m *Manager) Tenant(ctx context.Context, fabric, tenant string) (controller.Tenant, error) {
	r, err := m.api.GetTenantWithResponse(ctx, fabric, tenant)
	if err := checked(r, err); err != nil {
		return controller.Tenant{}, err
	}
	now, err := m.api.GetTenantNowWithResponse(ctx, fabric, tenant)
	if err := checked(now, err); err != nil {
		return controller.Tenant{}, err
	}
	t := controller.Tenant{
		Weight: decimal(r.JSON200.Weight), CapBps: r.JSON200.CapBps,
		EntitledBps:      now.JSON200.EntitledBps,
		DeliveredBps:     whole(now.JSON200.Hour.DeliveredContendedBps),
		ContendedSeconds: whole(now.JSON200.Hour.ContendedS),
	}
	for _, c := range r.JSON200.Classes {
		t.Classes = append(t.Classes, controller.TenantClass{Name: c.Name, Weight: decimal(c.Weight)})
	}
	for _, a := range r.JSON200.Attachments {
		p := controller.Port{ID: a.Port}
		if a.Name != nil {
			p.Name = *a.Name
		}
		t.Ports = append(t.Ports, p)
	}
	return t, nil
}

func whole(v *float64) *int64 {
	if v == nil {
		return nil
	}
	return new(int64(math.Round(*v)))
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// PutFeed replaces the ports that the feed claims for the tenant.
func (m *Manager) PutFeed(ctx context.Context, fabric, tenant, feed string, ports []controller.FeedPort) error {
	if len(ports) == 0 {
		r, err := m.api.DeleteFeedWithResponse(ctx, fabric, tenant, feed, &gen.DeleteFeedParams{IfMatch: new("*")})
		if err = checked(r, err); errors.Is(err, controller.ErrNotFound) {
			return nil // the tenant exists, as the controller has just read, so the feed does not
		}
		return err
	}
	body := gen.FeedPut{Functions: new(gen.FeedFunctionsNode), Attachments: make([]gen.FeedAttachment, len(ports))}
	for i := range ports {
		body.Attachments[i].Port = ports[i].Port
		if ports[i].ClaimedBps > 0 {
			body.Attachments[i].ClaimedBps = &ports[i].ClaimedBps
		}
	}
	r, err := m.api.PutFeedWithResponse(ctx, fabric, tenant, feed, &gen.PutFeedParams{IfMatch: new("*")}, body)
	if err == nil {
		if bad := badPorts(r.ApplicationProblemJSONDefault, ports); bad != nil {
			return bad
		}
	}
	return checked(r, err)
}

// badPorts returns the ports at which a problem points, nil unless it points only at ports.
func badPorts(problem *gen.Problem, ports []controller.FeedPort) error {
	if problem == nil || len(problem.Errors) == 0 {
		return nil
	}
	bad := &controller.BadPortsError{}
	for _, f := range problem.Errors {
		i, ok := portOf(f.Pointer)
		if !ok || i >= len(ports) {
			return nil
		}
		bad.Ports = append(bad.Ports, controller.BadPort{Port: ports[i].Port, Reason: f.Detail})
	}
	return bad
}

// portOf returns the index of the port that a pointer such as /attachments/3/port points at.
func portOf(pointer string) (int, bool) {
	index, ok := strings.CutPrefix(pointer, "/attachments/")
	index, isPort := strings.CutSuffix(index, "/port")
	i, err := strconv.Atoi(index)
	return i, ok && isPort && err == nil && i >= 0
}

// InForce returns the plan in force.
func (m *Manager) InForce(ctx context.Context, fabric string) (controller.Plan, error) {
	o, err := m.api.GetOverviewWithResponse(ctx, fabric)
	if err := checked(o, err); err != nil || o.JSON200.Plan == nil {
		return controller.Plan{}, err
	}
	name := o.JSON200.Plan.Name
	if p, ok := m.kept(fabric, name); ok {
		return p, nil
	}
	r, err := m.api.GetPlanWithResponse(ctx, fabric, name)
	if err := checked(r, err); err != nil {
		return controller.Plan{}, err
	}
	p := controller.Plan{Name: name, Revision: o.JSON200.Plan.Policy}
	for _, g := range r.JSON200.Placements {
		p.Placements = append(p.Placements, controller.Placement{Tenant: g.Tenant, Port: g.Port, SL: new(int32(g.SL))})
	}
	roce, err := rocePlacements(r.JSON200.Roce)
	if err != nil {
		return controller.Plan{}, err
	}
	p.Placements = append(p.Placements, roce...)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans[fabric] = p
	return p, nil
}

func (m *Manager) kept(fabric, name string) (controller.Plan, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.plans[fabric]
	return p, ok && p.Name == name
}

// rocePlacements reads what identifies tenants' traffic in the part of a plan for RoCE.
func rocePlacements(part map[string]any) ([]controller.Placement, error) {
	if part == nil {
		return nil, nil
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	var roce struct {
		Traffic []struct {
			Tenant  string `json:"tenant"`
			Port    string `json:"port"`
			DSCP    int32  `json:"dscp"`
			VFShare int32  `json:"vf_share"`
		} `json:"traffic"`
	}
	if err := json.Unmarshal(text, &roce); err != nil {
		return nil, fmt.Errorf("the plan's part for RoCE: %w", err)
	}
	var all []controller.Placement
	for _, t := range roce.Traffic {
		p := controller.Placement{Tenant: t.Tenant, Port: t.Port, DSCP: new(t.DSCP)}
		if t.VFShare > 0 {
			p.Share = new(t.VFShare)
		}
		all = append(all, p)
	}
	return all, nil
}

// Plan compiles the current declarations. Tenants keep their service levels where these are still valid.
func (m *Manager) Plan(ctx context.Context, fabric string) (string, error) {
	r, err := m.api.CreatePlanWithResponse(ctx, fabric, &gen.CreatePlanParams{}, gen.PlanCreate{KeepPlacements: new(true)})
	if err := checked(r, err); err != nil {
		return "", err
	}
	if r.JSON201 != nil {
		return r.JSON201.Name, nil
	}
	return r.JSON200.Name, nil
}

// LastRollout returns the fabric's latest rollout.
func (m *Manager) LastRollout(ctx context.Context, fabric string) (controller.Rollout, error) {
	r, err := m.api.ListRolloutsWithResponse(ctx, fabric, &gen.ListRolloutsParams{Limit: new(1)})
	if err := checked(r, err); err != nil || len(r.JSON200.Items) == 0 {
		return controller.Rollout{}, err
	}
	return rollout(&r.JSON200.Items[0]), nil
}

func rollout(r *gen.Rollout) controller.Rollout {
	return controller.Rollout{ID: r.ID, Plan: r.Plan, State: string(r.State), Result: r.Result}
}

// Rollout starts the rollout of a plan within a limit of settings.
func (m *Manager) Rollout(ctx context.Context, fabric, plan string, limit int) (controller.Rollout, error) {
	r, err := m.api.StartRolloutWithResponse(ctx, fabric, &gen.StartRolloutParams{}, gen.RolloutCreate{Plan: plan, LimitSettings: &limit})
	if err := checked(r, err); err != nil {
		return controller.Rollout{}, err
	}
	return rollout(r.JSON202), nil
}

// Shares returns the fabric's latest stored measurement.
func (m *Manager) Shares(ctx context.Context, fabric string) (controller.Shares, error) {
	r, err := m.api.ListSharesWithResponse(ctx, fabric, &gen.ListSharesParams{Limit: new(1)})
	if err := checked(r, err); err != nil || len(r.JSON200.Items) == 0 {
		return controller.Shares{}, err
	}
	return shares(&r.JSON200.Items[0]), nil
}

// shares converts a measurement. The API gives no tolerance in measurements of earlier releases.
func shares(g *gen.Shares) controller.Shares {
	s := controller.Shares{MeasuredAt: g.MeasuredAt, Tolerance: 0.1, Tenants: map[string]controller.TenantShare{}}
	if g.ShareErrorLimit != nil {
		s.Tolerance = *g.ShareErrorLimit
	}
	for _, t := range g.Tenants {
		s.Tenants[t.Tenant] = controller.TenantShare{Contention: contention(t.Contention), Received: t.Received}
	}
	for _, l := range g.Links {
		link := controller.LinkShare{Port: l.Port, Peer: l.Peer}
		for _, t := range l.Tenants {
			link.Tenants = append(link.Tenants, controller.LinkTenant{
				Tenant: t.Tenant, Contention: contention(t.Contention), EntitledBps: t.EntitledBps, DeliveredBps: t.DeliveredBps, EntitledNowBps: t.EntitledNowBps,
			})
		}
		s.Links = append(s.Links, link)
	}
	return s
}

func contention(c *gen.Contention) string {
	if c == nil {
		return ""
	}
	return string(*c)
}
