package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"fairlane/api"
	"fairlane/command/cmdline"
	"fairlane/internal/buildinfo"
	"fairlane/internal/listen"
	"fairlane/internal/sdnotify"
	"fairlane/policy"
	"fairlane/service/collect"
	"fairlane/service/config"
	"fairlane/service/control"
	"fairlane/service/control/operations"
	"fairlane/service/notify"
	"fairlane/service/obs"
	"fairlane/service/series/embedded"
	"fairlane/service/setup"
	"fairlane/service/site"
	"fairlane/service/telemetry"
)

func (a *app) serveCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: a.T("serve.short"), Long: a.T("serve.long"), Args: cobra.NoArgs,
		Example: "  fairlane serve --config fairlane.yaml\n  fairlane serve --database /var/lib/fairlane/fairlane.db --listen 127.0.0.1:8470",
	}
	path := a.ConfigFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.runServe(cmd.Context(), func() (*config.Loaded, error) { return cmdline.LoadConfig(cmd, *path) })
	}
	return cmd
}

// serving is the process of `fairlane serve` while it is built up and taken down.
type serving struct {
	app      *app
	config   config.Config
	reloads  sync.Mutex // guards config once requests are served
	log      *slog.Logger
	level    *slog.LevelVar // of log
	ports    *site.Access
	notify   sdnotify.Notifier
	manager  *manager
	metrics  *obs.Metrics
	tracer   trace.TracerProvider // nil: no spans
	flushes  []flush              // at the end, when the manager is closed
	stopping atomic.Bool
}

// flush sends to a collector what is left.
type flush struct {
	send   func(context.Context) error
	failed string // logged when it did not work
}

// maxFlush bounds how long the end waits for collectors.
const maxFlush = 5 * time.Second

func (a *app) runServe(ctx context.Context, load func() (*config.Loaded, error)) (err error) {
	l, err := load()
	if err != nil {
		return err
	}
	c := l.Config
	s := &serving{app: a, config: c, notify: sdnotify.New(os.Getenv)}
	if s.log, s.level, err = obs.NewLogger(a.Stderr, c.Log.Level, c.Log.Format); err != nil {
		return err
	}
	material, err := setup.Load(&c, api.OIDCCallback, s.log)
	if err != nil {
		return err // before anything is created
	}
	again, stop := newReloader(s, load)
	defer stop()
	if c.Trace.Endpoint != "" {
		tracing, err := obs.NewTracing(ctx, obs.TraceOptions{Endpoint: c.Trace.Endpoint, SampleRatio: c.Trace.SampleRatio, Source: source()})
		if err != nil {
			return err
		}
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { s.log.Warn("spans were not sent", "error", err.Error()) }))
		s.flushes = append(s.flushes, flush{tracing.Shutdown, "the last spans were not sent"})
		s.tracer = tracing
	}
	defer func() { s.flush(ctx) }()
	if err := s.open(ctx, material); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.manager.Close()) }()
	endpoints, err := s.endpoints(ctx, material)
	if err != nil {
		return err
	}
	if err := s.signIn(ctx, material.AdminToken); err != nil {
		return err
	}
	if c.Metrics.Endpoint != "" {
		stop, err := s.metrics.StartPush(ctx, obs.PushOptions{Endpoint: c.Metrics.Endpoint, Interval: c.Metrics.Interval, Source: source(), Log: s.log})
		if err != nil {
			return err
		}
		s.flushes = append(s.flushes, flush{stop, "the last metrics were not pushed"})
	}
	return s.run(ctx, endpoints, again)
}

// source is this process for collectors.
func source() obs.Source {
	host, _ := os.Hostname() // an unknown name is an empty one
	return obs.Source{Version: buildinfo.Version(), Instance: host}
}

// flush sends what is left to all collectors concurrently.
func (s *serving) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxFlush)
	defer cancel()
	var sent sync.WaitGroup
	for _, f := range s.flushes {
		sent.Go(func() {
			if err := f.send(ctx); err != nil {
				s.log.Warn(f.failed, "error", err.Error())
			}
		})
	}
	sent.Wait()
}

// open makes the metrics and opens the manager on the database.
func (s *serving) open(ctx context.Context, material *setup.Material) (err error) {
	if len(s.config.CCLayouts) > 0 {
		s.log.Warn("cc_layouts is deprecated: give the layouts by device profiles in the file that ib_profiles names")
	}
	if s.metrics, err = obs.NewMetrics(buildinfo.Version(), obs.NewCensusCache(s.census, nil)); err != nil {
		return err
	}
	p := site.New(material.Site)
	o := workOptions{
		log: s.log, tracer: s.tracer, lease: s.config.Rollouts.Lease, retention: operations.Retention(s.config.Retention), rescan: s.config.Discovery.Interval,
		series: seriesOptions{folder: s.config.Series.Folder(s.config.Database), period: s.config.Series.Period, allPorts: s.config.Series.Ports == "all", watch: collect.WatchOptions{Ports: s.config.Series.Watch.Ports, Period: s.config.Series.Watch.Period}, failed: s.metrics.SeriesFailed, gather: gather(s.metrics), url: s.config.Series.Advertise, external: material.Series, Options: embedded.Options{
			Retention: s.config.Series.Retention, MaxBytes: int64(s.config.Series.MaxGB * 1e9), Peers: embedded.PeerOptions{TLS: material.PeerTLS},
		}},
	}
	o.receivers, o.audit = material.Receivers, material.Audit
	o.receivers.Count = func(k notify.Kind, outcome notify.Outcome, n int) { s.metrics.Notified(string(k), string(outcome), n) }
	o.audit.Lag = s.metrics.AuditLag
	s.ports = p
	p.Congested = func(c *telemetry.Congestion) {
		sum := obs.Congestion{Adapter: c.Adapter, Switch: c.Switch, Unattributed: c.Unattributed, Unread: c.Unread()}
		for i := range c.Tenants {
			sum.BECN += c.Tenants[i].BECN
		}
		s.metrics.Congested(sum)
	}
	s.manager, err = openManager(ctx, material.Database, p, o, func(d *control.Deps) {
		measured := measuredPorts{Discoverer: d.Discoverer, Meter: d.Meter, Rescanner: d.Rescanner, m: s.metrics}
		d.Store = measuredStore{d.Store, s.metrics}
		d.Discoverer, d.Meter, d.Rescanner = measured, measured, measured
		d.Doctor = ownDoctor{s}
		d.Swept = func(list []control.DeviceReport, took time.Duration, err error) {
			s.metrics.Swept(readings(list), took, err)
		}
		d.Compiled = func(plane policy.Plane, took time.Duration, err error) { s.metrics.Compiled(string(plane), took, err) }
	})
	if err != nil {
		return err
	}
	for _, kind := range notify.Kinds() {
		if err := s.metrics.WatchNotifications(string(kind), func() int { return s.manager.notifier.Queued()[kind] }); err != nil {
			return err
		}
	}
	if s.manager.collect == nil {
		return nil
	}
	if s.manager.outside != nil {
		err = s.metrics.WatchSeriesQueue(s.manager.outside.Queue)
	} else {
		err = s.metrics.WatchSeries(s.manager.series.Size)
	}
	return errors.Join(err, s.metrics.WatchPorts(s.manager.collect.Watched), s.metrics.WatchMeasured(func() []obs.Measured { return exported(s.manager.collect.Latest()) }))
}

// signIn makes the administrator's account with the token given. When none is given and none is there, it prints the one it generates.
func (s *serving) signIn(ctx context.Context, given string) error {
	generated, err := s.manager.service.Bootstrap(ctx, given)
	if err != nil {
		return err
	}
	if generated != "" {
		_, _ = fmt.Fprintln(s.app.Stderr, s.app.T("serve.token", "token", generated))
	}
	return nil
}

// endpoints opens every listener before anything is served, so that a taken port is found at the start.
func (s *serving) endpoints(ctx context.Context, material *setup.Material) ([]listen.Endpoint, error) {
	o := api.Options{Log: s.log, Watch: watch(s.metrics), Ready: s.ready, PublicURL: s.config.PublicURL, Tracer: s.tracer}
	if material.OpenID != nil {
		o.OIDC = material.OpenID
	}
	h, err := s.manager.Handler(o)
	if err != nil {
		return nil, err
	}
	var secure *tls.Config // nil: plain HTTP
	if material.Certificates != nil {
		secure = material.Certificates.Config()
	}
	first := listen.Endpoint{Server: api.HTTPServer(h)}
	first.Server.Handler = s.manager.withSeries(h)
	first.Server.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelDebug) // of handshakes and the like
	first.Listeners, err = listen.On(ctx, s.config.Listen, secure)
	if err != nil || len(s.config.Operations.Listen) == 0 {
		return []listen.Endpoint{first}, err
	}
	var guard func(http.Handler) http.Handler // nil: no profiles
	if s.config.Operations.Pprof {
		guard = h.GuardProfiles
	}
	second := listen.Endpoint{Server: operationsServer(operationsHandler(s.metrics, guard))}
	if second.Listeners, err = listen.On(ctx, s.config.Operations.Listen, nil); err != nil {
		for _, l := range first.Listeners {
			err = errors.Join(err, l.Close())
		}
		return nil, err
	}
	return []listen.Endpoint{first, second}, nil
}

// operationsServer has no write timeout, because profiles take long.
func operationsServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
}

// ready is the process's own part of readiness.
func (s *serving) ready(context.Context) error {
	if s.stopping.Load() {
		return errors.New("the service is stopping")
	}
	return nil
}

// run serves until the context ends.
func (s *serving) run(ctx context.Context, endpoints []listen.Endpoint, again *reloader) error {
	attrs := []any{"addr", addresses(endpoints[0]), "tls", s.config.TLS.CertFile != "",
		"database", config.ShownDatabase(s.config.Database), "version", buildinfo.Version()}
	if len(endpoints) > 1 {
		attrs = append(attrs, "operations", addresses(endpoints[1]))
	}
	s.log.Info("listening", attrs...)
	s.notifySystemd(ctx, "READY=1")
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	var aside sync.WaitGroup
	aside.Go(func() { s.notify.Beat(beating) })
	aside.Go(func() { again.run(beating) })
	defer func() { stop(); aside.Wait() }()
	return listen.Serve(ctx, endpoints, listen.Ending{
		Begin: func() {
			s.stopping.Store(true)
			s.log.Info("stopping", "delay", s.config.Shutdown.Delay.String(), "drain", s.config.Shutdown.Drain.String())
			s.notifySystemd(context.WithoutCancel(ctx), "STOPPING=1")
		},
		Delay: s.config.Shutdown.Delay, Drain: s.config.Shutdown.Drain,
		Abandoned: func() { s.log.Error("requests did not finish in time and were broken off") },
	})
}

func addresses(e listen.Endpoint) string {
	out := make([]string, len(e.Listeners))
	for i, l := range e.Listeners {
		out[i] = l.Addr().String()
	}
	return strings.Join(out, ",")
}

// notifySystemd notifies systemd, and logs a failure to do so.
func (s *serving) notifySystemd(ctx context.Context, state string) {
	if err := s.notify.Send(ctx, state); err != nil {
		s.log.Warn("systemd could not be notified", "error", err.Error())
	}
}

// census counts what is in the store, for the metrics.
func (s *serving) census(ctx context.Context) (obs.Census, error) {
	if err := s.ready(ctx); err != nil {
		return obs.Census{}, err
	}
	n, err := s.manager.store.Census(ctx)
	return obs.Census(n), err
}
