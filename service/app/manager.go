package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"fairlane/api"
	"fairlane/internal/buildinfo"
	"fairlane/internal/span"
	"fairlane/service/auditexport"
	"fairlane/service/collect"
	"fairlane/service/control"
	"fairlane/service/control/drift"
	"fairlane/service/control/operations"
	"fairlane/service/control/usecases"
	"fairlane/service/notify"
	"fairlane/service/rollout"
	"fairlane/service/rollout/riverwork"
	"fairlane/service/series"
	"fairlane/service/series/embedded"
	"fairlane/service/series/rules"
	"fairlane/service/site"
	"fairlane/service/store"
	"fairlane/sim/lab"
)

var _ control.Laboratory = lab.Laboratory{}

// manager is the service with its store and the workers of its jobs.
type manager struct {
	store   *store.Store
	service *usecases.Services
	lock    *os.File // of a SQLite file; nil on PostgreSQL, which many managers share
	engine  *rollout.Engine
	queue   *riverwork.Queue
	options workOptions
	log     *slog.Logger
	stop    context.CancelFunc
	series  *embedded.DB       // nil: no series are kept in a folder
	peers   *seriesPeers       // nil: no other managers are queried
	outside *embedded.External // nil: no series are kept on another server
	rules   *embedded.Rules    // nil without series
	collect *collect.Collector // nil without series
	// notifier sends alerts to receivers. It works without receivers too.
	notifier *notify.Notifier
	keeper   sync.WaitGroup
}

// workOptions tune how a manager works rollouts. The zero value is the default of each.
type workOptions struct {
	log       *slog.Logger
	tracer    trace.TracerProvider // nil: no spans
	lease     time.Duration        // see rollout.Deps.Lease
	retention operations.Retention // for how long what is of no more use is kept
	rescan    time.Duration        // between scans at discovered fabrics; 0 is never
	series    seriesOptions
	receivers notify.Options      // of alerts
	audit     auditexport.Options // sinks of the audit log
	still     bool                // no periodic work: for tests, which ask for it themselves
}

// seriesOptions say where and how series are kept.
type seriesOptions struct {
	folder   string                   // "": no series, unless external
	external embedded.ExternalOptions // without URL: none
	url      string                   // where other managers reach this one; "": they are not asked
	period   time.Duration            // between two measurements of a fabric
	allPorts bool
	watch    collect.WatchOptions // its By is the access to devices
	failed   func()               // see collect.Options
	gather   collect.Gather       // of the manager's own metrics; nil: none
	embedded.Options
}

// openManager opens the store, puts the service on it and begins to work its jobs: rollouts that an earlier process
// left go on. Each of adjust may change what the service works through.
func openManager(ctx context.Context, database string, p *site.Access, o workOptions, adjust ...func(*control.Deps)) (_ *manager, err error) {
	m := &manager{options: o, log: o.log}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if !store.IsPostgres(database) {
		if m.lock, err = store.Lock(database); err != nil {
			return nil, err
		}
	}
	if m.store, err = store.Open(ctx, database, store.Options{}); err != nil {
		return nil, err
	}
	p.RescanInterval = o.rescan
	m.options.series.watch.By = p
	if err := m.openSeries(); err != nil {
		return nil, err
	}
	deps := control.Deps{Store: m.store, Discoverer: p, Observer: p, Abilities: p, Meter: p, Rescanner: p, Laboratory: lab.Laboratory{}, SourceAllowed: p.SourceAllowed, IBProfiles: p.IBProfiles}
	switch {
	case m.series != nil:
		deps.Series, deps.Rules = m.series, m.rules
	case m.outside != nil:
		deps.Series = m.outside
	}
	for _, f := range adjust {
		f(&deps)
	}
	if m.service, err = usecases.New(deps); err != nil {
		return nil, err
	}
	if err := m.work(ctx, p, deps.Meter); err != nil {
		return nil, err
	}
	return m, nil
}

// work sets up the engine and the queue and starts them.
func (m *manager) work(ctx context.Context, p *site.Access, meter control.Meter) (err error) {
	name := managerName()
	m.engine, err = rollout.New(rollout.Deps{
		Store: m.service.Store, UseCases: m.service, Opener: p,
		Gate: rollout.Gates{Meter: meter}, Prerequisites: p, Name: name, Lease: m.options.lease,
	})
	if err != nil {
		return err
	}
	m.queue, err = riverwork.New(ctx, m.store.Writer(), riverwork.Options{
		Postgres: m.lock == nil, Name: name, Log: slog.New(leveled{m.log.Handler()}), Periodic: m.periodic(name),
		Work: func(ctx context.Context, j control.Job) error {
			if j.Kind == control.JobTask {
				return m.service.WorkTask(ctx, j)
			}
			return m.engine.Work(span.WithProvider(ctx, m.options.tracer), j)
		},
	})
	if err != nil {
		return err
	}
	m.store.UseJobs(m.queue)
	if m.lock != nil { // no other manager can be running
		if err := m.engine.TakeOver(ctx); err != nil {
			return fmt.Errorf("take over the rollouts of an earlier process: %w", err)
		}
	}
	if err := m.queue.Start(ctx); err != nil {
		return err
	}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.keeper.Go(func() { m.keep(ctx) })
	if err := m.deliver(ctx, name); err != nil {
		return err
	}
	if m.peers != nil {
		m.keeper.Go(func() { m.peers.run(ctx) })
	}
	switch {
	case m.options.still:
		return nil
	case m.series != nil:
		clock := series.NewClock(m.service.Now, m.series.Latest(), m.log)
		return errors.Join(m.measure(ctx, name, meter, m.series, clock), m.evaluate(ctx, clock))
	case m.outside != nil:
		return m.measure(ctx, name, meter, m.outside, series.NewClock(m.service.Now, time.Time{}, m.log))
	}
	return nil
}

// openSeries opens the folder of the series, or the connection to the server that has them.
func (m *manager) openSeries() (err error) {
	o := &m.options.series
	o.Interval, o.Log = o.period, m.log
	if o.external.URL != "" {
		o.external.Options = o.Options
		m.outside, err = embedded.OpenExternal(o.external)
		return err
	}
	if o.folder == "" {
		return nil
	}
	if o.url != "" {
		m.peers = newSeriesPeers(m.store, managerName(), o.url, cmp.Or(o.Retention, embedded.DefaultRetention), m.log)
		o.Peers.List = m.peers.list
	}
	if m.series, err = embedded.Open(o.folder, o.Options); err != nil {
		return err
	}
	m.rules, err = m.series.NewRules(rules.Groups(), m.notify)
	return err
}

// measure starts to measure fabrics.
func (m *manager) measure(ctx context.Context, name string, meter control.Meter, keep series.Store, clock *series.Clock) (err error) {
	o := m.options.series
	m.collect, err = collect.New(m.service, meter, keep, collect.Options{
		Name: name, Period: o.period, AllPorts: o.allPorts, Watch: o.watch, Clock: clock.Now, Log: m.log, Failed: o.failed,
	})
	if err != nil {
		return err
	}
	m.keeper.Go(func() { m.collect.Run(ctx) })
	return nil
}

// evaluate starts to evaluate the rules.
func (m *manager) evaluate(ctx context.Context, clock *series.Clock) error {
	o := m.options.series
	if o.gather == nil {
		o.gather = func(func(string) bool, func(string, []series.Label, float64)) error { return nil }
	}
	host, err := os.Hostname() // unlike the name of the manager it survives a restart, and so do alerts
	if err != nil {
		return fmt.Errorf("name of the host: %w", err)
	}
	if m.lock == nil { // else there are no other managers
		m.rules.Follow(m.collect.Holds)
	}
	loop := collect.NewRuleLoop(m.series, m.rules, o.gather, collect.RuleOptions{Instance: host, Period: o.period, Now: clock.Now, Log: m.log, Failed: o.failed})
	m.keeper.Go(func() { loop.Run(ctx) })
	return nil
}

// notify passes alerts to the notifier, which deliver makes before the rules are evaluated.
func (m *manager) notify(ctx context.Context, alerts []series.Alert) { m.notifier.Send(ctx, alerts) }

// deliver starts what sends to others: alerts to receivers, the audit log to sinks.
func (m *manager) deliver(ctx context.Context, name string) error {
	filter := m.service.NewFilter(m.log)
	o := m.options.receivers
	o.Silenced, o.Log = filter.Silenced, m.log
	var err error
	if m.notifier, err = notify.New(o); err != nil {
		return err
	}
	if o.Receives() {
		if err := filter.Refresh(ctx); err != nil { // before the first alert
			return err
		}
		m.keeper.Go(func() { filter.Run(ctx) })
		m.keeper.Go(func() { m.notifier.Run(ctx) })
	}
	if len(m.options.audit.Sinks) == 0 {
		return nil
	}
	a := m.options.audit
	a.Owner, a.Log = name, m.log
	exporter, err := auditexport.New(m.service.Store, a)
	if err != nil {
		return err
	}
	m.keeper.Go(func() { exporter.Run(ctx) })
	return nil
}

// periodic returns the periodic tasks, which one of all managers runs.
func (m *manager) periodic(name string) []riverwork.Periodic {
	if m.options.still {
		return nil
	}
	return []riverwork.Periodic{
		{Name: "shares", Every: 5 * time.Second, Do: m.service.SampleShares},
		{Name: "tasks", Every: 15 * time.Second, Do: m.service.KeepTasks},
		{Name: "drift", Every: drift.SweepEvery, Do: func(ctx context.Context) error { return m.service.SweepDrift(ctx, name) }},
		{Name: "fabrics", Every: rescanTick, Do: func(ctx context.Context) error { return m.service.Rediscover(ctx, m.options.rescan) }},
		m.pruning(),
	}
}

// rescanTick is the interval between checks for fabrics that are due for a rescan.
const rescanTick = 5 * time.Second

// keep scans after rollouts that stand still.
func (m *manager) keep(ctx context.Context) {
	tick := time.NewTicker(m.engine.Every())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := m.engine.Keep(ctx); err != nil && ctx.Err() == nil {
				m.log.Warn("rollout supervision failed", "error", err.Error())
			}
		}
	}
}

// managerName is unique among running managers and shows people where a manager runs.
func managerName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	return fmt.Sprintf("%.40s-%d-%x", host, os.Getpid(), time.Now().UnixNano()&0xffffff)
}

// leveled keeps the queue's own chatter out of the log: what matters of a job is in its rollout's events.
type leveled struct{ slog.Handler }

var _ slog.Handler = leveled{}

func (leveled) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelError }

// Handler returns the API over the service. The version is filled in.
func (m *manager) Handler(o api.Options) (*api.Server, error) {
	o.Version = buildinfo.Version()
	return api.New(m.service, o)
}

// closeGrace bounds how long the end waits for devices that are being written.
const closeGrace = 20 * time.Second

// Service returns the use cases that the manager offers.
func (m *manager) Service() *usecases.Services { return m.service }

// Close lets running jobs end at their next safe point, hands the rest on, and closes the store.
func (m *manager) Close() error {
	var errs []error
	if m.stop != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
		defer cancel()
		errs = append(errs, m.queue.Stop(ctx))
		m.stop()
		m.keeper.Wait()
	}
	if m.series != nil {
		errs = append(errs, m.series.Close())
	}
	if m.outside != nil {
		errs = append(errs, m.outside.Close())
	}
	if m.store != nil {
		errs = append(errs, m.store.Close())
	}
	if m.lock != nil {
		errs = append(errs, m.lock.Close())
	}
	return errors.Join(errs...)
}
