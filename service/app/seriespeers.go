package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"fairlane/service/control"
	"fairlane/service/series/embedded"
)

// Times of announcements.
const (
	announceEvery = 15 * time.Second
	announceHolds = 3 * announceEvery
	peersCached   = 5 * time.Second // how long a query relies on a list of managers
)

// seriesPeers announces the address at which this manager serves its series, and lists the other managers.
type seriesPeers struct {
	store     control.Store
	me        control.SeriesManager // without Until
	retention time.Duration         // those that have measured nothing for longer have no series left
	log       *slog.Logger

	mu        sync.Mutex
	announced bool  // an announcement was stored
	taken     error // another manager announces the same URL
	cached    []embedded.Peer
	until     time.Time // of cached
}

// errSameURL is a fault of the configurations.
var errSameURL = errors.New("another manager has the same series.advertise: each needs its own address")

func newSeriesPeers(store control.Store, name, url string, retention time.Duration, log *slog.Logger) *seriesPeers {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return &seriesPeers{store: store, me: control.SeriesManager{URL: url, Name: name, Key: key}, retention: retention, log: log}
}

// run announces until the context ends.
func (p *seriesPeers) run(ctx context.Context) {
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		if err := p.announce(ctx); err != nil && ctx.Err() == nil {
			p.log.Warn("other managers may not know the series of this one", "error", err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// announce stores where this manager is. An announcement that another manager replaced is a fault that queries then show.
func (p *seriesPeers) announce(ctx context.Context) error {
	m, now := p.me, time.Now()
	m.Until = now.Add(announceHolds)
	p.mu.Lock()
	announced := p.announced
	p.mu.Unlock()
	taken := false
	err := p.store.Tx(control.WithScope(ctx, control.ScopeSeries), func(r control.Repos) error {
		list, err := r.SeriesManagers(ctx)
		if err != nil {
			return err
		}
		for _, x := range list {
			taken = taken || announced && x.URL == m.URL && string(x.Key) != string(m.Key)
		}
		return r.AnnounceSeries(ctx, m, now.Add(-p.retention))
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.announced, p.taken = true, nil
	if taken {
		p.taken = fmt.Errorf("%w (%s)", errSameURL, m.URL)
	}
	return p.taken
}

// list returns the other managers.
func (p *seriesPeers) list(ctx context.Context) ([]embedded.Peer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken != nil {
		return nil, p.taken
	}
	if time.Now().Before(p.until) {
		return p.cached, nil
	}
	var list []control.SeriesManager
	err := p.store.View(ctx, func(r control.Repos) (err error) {
		list, err = r.SeriesManagers(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.cached = nil
	for _, m := range list {
		if m.URL != p.me.URL {
			p.cached = append(p.cached, embedded.Peer{Name: m.Name, URL: m.URL, Key: m.Key, Until: m.Until})
		}
	}
	p.until = time.Now().Add(peersCached)
	return p.cached, nil
}

// withSeries serves the API and the requests of other managers.
func (m *manager) withSeries(api http.Handler) http.Handler {
	if m.peers == nil {
		return api
	}
	mux := http.NewServeMux()
	mux.Handle(embedded.PeerPath, m.series.PeerHandler(m.peers.me.Key))
	mux.Handle("/", api)
	return mux
}
