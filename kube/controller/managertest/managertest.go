// Package managertest is a manager in memory, for tests of the controller.
package managertest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlane/kube/controller"
)

// ErrAway is the error of a manager that does not answer.
var ErrAway = errors.New("connection refused")

// Manager is a manager of one fabric. Its plans are named after the feeds and the weights.
type Manager struct {
	mu sync.Mutex

	Fabric   string
	Tenants  map[string]controller.Tenant
	Unknown  map[string]string // ports that the fabric refuses, with the reason
	Settings int               // that every new plan changes
	Operator bool              // whether plans also have changes by an operator
	Away     bool
	Measured controller.Shares
	Places   []controller.Placement

	feeds    map[string][]string // by tenant/feed; a port with a rate is PORT=RATE
	inForce  string
	rollouts []controller.Rollout
	calls    map[string]int // by method
}

// The controller's interface.
var _ controller.Manager = (*Manager)(nil)

// New returns a manager of the fabric lab with a plan in force and the tenants red, of weight 3, and blue, of weight 1.
func New() *Manager {
	m := &Manager{
		Fabric: "lab", Unknown: map[string]string{}, feeds: map[string][]string{}, calls: map[string]int{}, Settings: 10,
		Tenants: map[string]controller.Tenant{
			"red":  {Weight: "3", EntitledBps: new(int64(75e9)), Classes: []controller.TenantClass{{Name: "bulk", Weight: "1"}, {Name: "gold", Weight: "2"}}},
			"blue": {Weight: "1", EntitledBps: new(int64(25e9))},
		},
	}
	m.inForce = m.compiled()
	return m
}

// Do changes the manager under its lock.
func (m *Manager) Do(f func(m *Manager)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}

// Feed returns the ports of a feed, nil if there is none.
func (m *Manager) Feed(tenant, feed string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.feeds[tenant+"/"+feed]
}

// Count returns the number of calls of a method.
func (m *Manager) Count(method string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[method]
}

// End ends the last rollout with a state.
func (m *Manager) End(state, result string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &m.rollouts[len(m.rollouts)-1]
	r.State, r.Result = state, result
	if state == "succeeded" {
		m.inForce = r.Plan
	}
}

// Rollouts returns all rollouts, the oldest first.
func (m *Manager) Rollouts() []controller.Rollout {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.rollouts)
}

// Release removes the plan in force.
func (m *Manager) Release() { m.Do(func(m *Manager) { m.inForce = "" }) }

// begin counts a call and returns its error.
func (m *Manager) begin(method, fabric string) error {
	m.calls[method]++
	switch {
	case m.Away:
		return ErrAway
	case fabric != m.Fabric:
		return controller.ErrNotFound
	}
	return nil
}

func (m *Manager) compiled() string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m.feeds)) {
		fmt.Fprintln(&b, k, m.feeds[k])
	}
	for _, k := range slices.Sorted(maps.Keys(m.Tenants)) {
		fmt.Fprintln(&b, k, m.Tenants[k].Weight)
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(b.String())))
}

// Tenant returns a tenant.
func (m *Manager) Tenant(_ context.Context, fabric, tenant string) (controller.Tenant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("Tenant", fabric); err != nil {
		return controller.Tenant{}, err
	}
	t, ok := m.Tenants[tenant]
	if !ok {
		return controller.Tenant{}, controller.ErrNotFound
	}
	return t, nil
}

// PutFeed stores a feed.
func (m *Manager) PutFeed(_ context.Context, fabric, tenant, feed string, ports []controller.FeedPort) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("PutFeed", fabric); err != nil {
		return err
	}
	bad := &controller.BadPortsError{}
	for _, p := range ports {
		if reason, ok := m.Unknown[p.Port]; ok {
			bad.Ports = append(bad.Ports, controller.BadPort{Port: p.Port, Reason: reason})
		}
	}
	if len(bad.Ports) > 0 {
		return bad
	}
	if len(ports) == 0 {
		delete(m.feeds, tenant+"/"+feed)
	} else {
		list := make([]string, len(ports))
		for i, p := range ports {
			list[i] = p.Port
			if p.ClaimedBps > 0 {
				list[i] += fmt.Sprintf("=%d", p.ClaimedBps)
			}
		}
		m.feeds[tenant+"/"+feed] = list
	}
	return nil
}

// InForce returns the plan in force.
func (m *Manager) InForce(_ context.Context, fabric string) (controller.Plan, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("InForce", fabric); err != nil || m.inForce == "" {
		return controller.Plan{}, err
	}
	return controller.Plan{Name: m.inForce, Revision: int64(1 + len(m.rollouts)), Placements: m.Places}, nil
}

// Plan returns the name of the plan of the current declarations.
func (m *Manager) Plan(_ context.Context, fabric string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("Plan", fabric); err != nil {
		return "", err
	}
	return m.compiled(), nil
}

// LastRollout returns the latest rollout.
func (m *Manager) LastRollout(_ context.Context, fabric string) (controller.Rollout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("LastRollout", fabric); err != nil || len(m.rollouts) == 0 {
		return controller.Rollout{}, err
	}
	return m.rollouts[len(m.rollouts)-1], nil
}

// Rollout starts a rollout, which runs until End.
func (m *Manager) Rollout(_ context.Context, fabric, plan string, limit int) (controller.Rollout, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("Rollout", fabric); err != nil {
		return controller.Rollout{}, err
	}
	if m.Operator {
		return controller.Rollout{}, &controller.RefusedError{Code: controller.NeedsOperator, Detail: "the weight of tenant red changed"}
	}
	if m.Settings > limit {
		return controller.Rollout{}, &controller.RefusedError{Code: controller.TooManySettings, Detail: fmt.Sprintf("%d settings change, more than the limit of %d", m.Settings, limit)}
	}
	m.rollouts = append(m.rollouts, controller.Rollout{ID: int64(len(m.rollouts) + 1), Plan: plan, State: "running"})
	return m.rollouts[len(m.rollouts)-1], nil
}

// Shares returns the latest measurement, as of now if it has a time.
func (m *Manager) Shares(_ context.Context, fabric string) (controller.Shares, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.begin("Shares", fabric); err != nil {
		return controller.Shares{}, err
	}
	return m.Measured, nil
}

// Contended returns a measurement in which red receives the fraction of its entitlement on the port, and blue the rest.
func Contended(at time.Time, port string, fraction float64) controller.Shares {
	red, blue := int64(75e9*fraction), int64(25e9)
	return controller.Shares{
		MeasuredAt: at, Tolerance: 0.05,
		Tenants: map[string]controller.TenantShare{"red": {Contention: "contending", Received: &fraction}},
		Links: []controller.LinkShare{{Port: "0x0200000100010000:4", Peer: port, Tenants: []controller.LinkTenant{
			{Tenant: "blue", Contention: "contending", EntitledBps: 25e9, DeliveredBps: &blue, EntitledNowBps: new(int64(25e9))},
			{Tenant: "red", Contention: "contending", EntitledBps: 75e9, DeliveredBps: &red, EntitledNowBps: new(int64(75e9))},
		}}},
	}
}
