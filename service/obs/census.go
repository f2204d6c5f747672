package obs

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Census is how much of everything there is in the store.
type Census struct {
	Fabrics, Tenants int64
	Rollouts         map[string]int64 // by state
	Devices          map[string]int64 // of rollouts that have not ended, by state
	OldestActive     time.Time        // when the oldest rollout that has not ended began; zero when there is none
	Readings         map[string]int64 // devices of plans in force, by reading
	Quarantined      int64
	Jobs             map[string]int64 // by state
	Sessions         int64
}

// Bounds of reading a census: how long one is good for, and how long reading one may take.
const (
	censusTTL     = 10 * time.Second
	censusTimeout = 5 * time.Second
)

// CensusCache reads a census on request if the last one is older than censusTTL, so that scrapes, however
// many, cost the store little. It is safe for concurrent use.
type CensusCache struct {
	read  func(context.Context) (Census, error)
	clock func() time.Time

	mu   sync.Mutex
	last Census
	at   time.Time // of last; zero before the first
	ok   bool      // whether the latest attempt worked
}

// NewCensusCache returns a cache over read. A nil clock is time.Now.
func NewCensusCache(read func(context.Context) (Census, error), clock func() time.Time) *CensusCache {
	if clock == nil {
		clock = time.Now
	}
	return &CensusCache{read: read, clock: clock}
}

// Get returns the latest census, its age, and whether the store answered when it was last asked. Before the first
// success the census is empty and known is false.
func (c *CensusCache) Get(ctx context.Context) (n Census, age time.Duration, known, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.clock(); c.at.IsZero() || !c.ok || now.Sub(c.at) >= censusTTL {
		ctx, cancel := context.WithTimeout(ctx, censusTimeout)
		defer cancel()
		n, err := c.read(ctx)
		if c.ok = err == nil; c.ok {
			c.last, c.at = n, now
		}
	}
	if c.at.IsZero() {
		return Census{}, 0, false, c.ok
	}
	return c.last, c.clock().Sub(c.at), true, c.ok
}

// censusCollector gives a census as metrics.
type censusCollector struct {
	cache *CensusCache
	desc  map[string]*prometheus.Desc
}

func newCensusCollector(table map[string]Metric, cache *CensusCache) *censusCollector {
	c := &censusCollector{cache: cache, desc: map[string]*prometheus.Desc{}}
	for _, name := range []string{metricReady, metricCensusAge, metricFabrics, metricTenants, metricRollouts, metricDevices, metricOldestActive, metricDrift, metricReadings, metricQuarantined, metricJobs, metricSessions} {
		c.desc[name] = prometheus.NewDesc(name, table[name].Help, table[name].Labels, nil)
	}
	return c
}

var _ prometheus.Collector = (*censusCollector)(nil)

func (c *censusCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range c.desc {
		to <- d
	}
}

func (c *censusCollector) Collect(to chan<- prometheus.Metric) {
	n, age, known, ok := c.cache.Get(context.Background())
	gauge := func(name string, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(c.desc[name], prometheus.GaugeValue, v, labels...)
	}
	ready := 0.0
	if ok {
		ready = 1
	}
	gauge(metricReady, ready)
	if !known {
		return
	}
	gauge(metricCensusAge, age.Seconds())
	gauge(metricFabrics, float64(n.Fabrics))
	gauge(metricTenants, float64(n.Tenants))
	gauge(metricDrift, float64(n.Readings["drifted"]))
	gauge(metricQuarantined, float64(n.Quarantined))
	gauge(metricSessions, float64(n.Sessions))
	if !n.OldestActive.IsZero() {
		gauge(metricOldestActive, max(0, c.cache.clock().Sub(n.OldestActive).Seconds()))
	}
	for name, by := range map[string]map[string]int64{metricRollouts: n.Rollouts, metricDevices: n.Devices, metricJobs: n.Jobs, metricReadings: n.Readings} {
		for state, count := range by {
			gauge(name, float64(count), state)
		}
	}
}
