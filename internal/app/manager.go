package app

import (
	"context"
	"errors"
	"log/slog"

	"fairlane/api"
	"fairlane/internal/control"
	"fairlane/internal/store"
	"fairlane/policy"
)

// manager is the service with its store.
type manager struct {
	store   *store.Store
	service *control.Service
}

// openManager opens the store and puts the service on it. Rollouts that an earlier process left
// running are marked interrupted.
func openManager(ctx context.Context, database string, p *ports) (*manager, error) {
	s, err := store.OpenSQLite(ctx, database, store.Options{})
	if err != nil {
		return nil, err
	}
	service, err := control.New(control.Deps{
		Store: s, Discoverer: p, Compiler: policy.Compile, Roller: p, Observer: p, Meter: p,
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if _, err := service.Recover(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &manager{store: s, service: service}, nil
}

// handler is the API over the service.
func (m *manager) handler(log *slog.Logger) (*api.Server, error) {
	return api.New(m.service, api.Options{Log: log, Version: version()})
}

// close waits for what is under way and closes the store.
func (m *manager) close() error {
	m.service.Stop()
	return m.store.Close()
}
