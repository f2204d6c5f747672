package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"

	"fairlane/api"
	"fairlane/internal/control"
	"fairlane/internal/store"
	"fairlane/policy"
)

// manager is the service with its store.
type manager struct {
	store   *store.Store
	service *control.Service
	lock    *os.File
}

// lockDatabase makes this the only manager of a database file. A second one would declare the rollouts of
// the first dead. The lock ends with the process, however it ends.
func lockDatabase(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock database %s: %w", path, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s is in use by another manager: %w", path, err), f.Close())
	}
	return f, nil
}

// openManager opens the store and puts the service on it. Rollouts that an earlier process left
// running are marked interrupted.
func openManager(ctx context.Context, database string, p *ports) (*manager, error) {
	lock, err := lockDatabase(database)
	if err != nil {
		return nil, err
	}
	s, err := store.OpenSQLite(ctx, database, store.Options{})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	service, err := control.New(control.Deps{
		Store: s, Discoverer: p, Compiler: policy.Compile, Roller: p, Observer: p, Meter: p,
	})
	if err != nil {
		return nil, errors.Join(err, s.Close(), lock.Close())
	}
	if _, err := service.Recover(ctx); err != nil {
		return nil, errors.Join(err, s.Close(), lock.Close())
	}
	return &manager{store: s, service: service, lock: lock}, nil
}

// handler is the API over the service.
func (m *manager) handler(log *slog.Logger) (*api.Server, error) {
	return api.New(m.service, api.Options{Log: log, Version: version()})
}

// close waits for what is under way and closes the store.
func (m *manager) close() error {
	m.service.Stop()
	return errors.Join(m.store.Close(), m.lock.Close())
}
