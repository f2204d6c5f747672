package app

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"fairlane/agent"
	"fairlane/agent/host"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicparam"
	"fairlane/internal/buildinfo"
	"fairlane/internal/phrase"
	"fairlane/internal/sdnotify"
	"fairlane/internal/servertls"
	"fairlane/internal/usage"
)

// hostOptions returns the options of the configured host.
func (c *Config) hostOptions() host.Options {
	assume := nicparam.Caps{}
	assume.Rate32, assume.UndocumentedGD = c.Rate32, c.UndocumentedGD
	return host.Options{Root: c.Root, Devices: c.Devices, Backends: c.Backends, Assume: assume, DMSAddress: c.DMS}
}

func (a *app) serve(ctx context.Context) (err error) {
	c, err := a.config()
	if err != nil {
		return err
	}
	if err := c.CheckServing(); err != nil {
		return usage.Wrap(err)
	}
	log, level := c.logger(a.stderr)
	again, stop := newReloader(a, c, log, level)
	defer stop()
	unlock, err := lockJournal(c.Journal)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	listeners, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	h, err := host.Open(c.hostOptions())
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	p, err := openPods(ctx, &c, h, log)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	if p != nil {
		h.HeldBy(p.table)
	}
	on, err := agent.New(ctx, agent.Options{
		Tenants: p.tenants(),
		Host:    h, Journal: agent.NewFileJournal(c.Journal), Now: time.Now, Version: buildinfo.Version(), Fresh: c.Fresh, FreshNV: c.FreshNV,
		FreshCounters: c.Counters, SweepEvery: c.Sweep, SampleInterval: c.Sample, SetsPerSecond: c.SetsPerSecond, Log: log,
	})
	if err != nil {
		return errors.Join(err, closeAll(listeners), p.close())
	}
	return a.answer(ctx, &c, on, h, p, listeners, log, again)
}

// limits are lower than those of a server of thousands of targets: a host's memory is for its workload, and each path
// of a request may cover the whole tree.
func (c *Config) limits() gnmitree.Limits {
	return gnmitree.Limits{Connections: 256, Calls: 64, Paths: 128, Streams: c.Subscriptions, SampleInterval: c.Sample}
}

func (c *Config) tlsFiles() servertls.Files {
	return servertls.Files{Certificate: c.Certificate, Key: c.Key, Clients: c.ClientCA, MustHave: true, Protocols: []string{"h2"}}
}

// answer serves until the context ends.
func (a *app) answer(ctx context.Context, c *Config, on *agent.Agent, h *host.Host, p *podService, listeners []net.Listener, log *slog.Logger, again *reloader) error {
	o := gnmitree.Options{
		Targets: gnmitree.Single(on, c.target()), Limits: c.limits(), Reflection: c.Reflection, Log: log,
		Observe: func(call gnmitree.Call, took time.Duration, err error) {
			level := slog.LevelDebug
			if call.Method == "Set" {
				level = slog.LevelInfo
			}
			log.Log(ctx, level, "call", "method", call.Method, "peer", call.Peer.Address, "names", call.Peer.Names, "operations", call.Operations, "took", took.String(), "error", text(err))
		},
	}
	var secure []grpc.ServerOption
	switch {
	case c.secure():
		o.Authorize = again.authorize
		source, err := servertls.Open(c.tlsFiles(), log)
		if err != nil {
			return usage.Wrap(errors.Join(err, closeAll(listeners), p.close()))
		}
		secure = append(secure, grpc.Creds(gnmitree.Credentials(source.Config(), log)))
	case c.Insecure:
		log.Warn("insecure: every process of this host may set everything")
	}
	server, err := gnmitree.NewServer(o)
	if err != nil {
		return errors.Join(err, closeAll(listeners), p.close())
	}
	for _, f := range h.Report().Findings {
		log.Info("back end of parameters", "nic", f.NIC, "port", f.Port, "back_end", string(f.Backend), "found", f.Found, "parameters", f.Params, "why", f.Why)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	notify := sdnotify.New(a.getenv)
	var group sync.WaitGroup
	ended := make([]error, len(listeners)+2)
	group.Go(func() { notify.Beat(ctx) })
	group.Go(func() { again.run(ctx) })
	group.Go(func() {
		defer stop()
		ended[0] = on.Run(ctx)
	})
	if p != nil {
		group.Go(func() {
			defer stop()
			ended[1] = p.run(ctx, c.Sweep)
		})
	}
	for i, l := range listeners {
		log.Info("listening", "addr", l.Addr().String(), "tls", !c.Insecure, "target", c.target(), "version", buildinfo.Version())
		group.Go(func() {
			defer stop()
			ended[i+2] = server.Serve(ctx, l, secure...)
		})
	}
	if p != nil {
		log.Info("listening", "addr", c.Pods.Socket, "version", buildinfo.Version())
	}
	notifySystemd(ctx, notify, "READY=1", log)
	<-ctx.Done()
	log.Info("stopping")
	notifySystemd(context.WithoutCancel(ctx), notify, "STOPPING=1", log)
	group.Wait()
	return errors.Join(ended...)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// notifySystemd notifies systemd, and logs a failure of that.
func notifySystemd(ctx context.Context, n sdnotify.Notifier, state string, log *slog.Logger) {
	if err := n.Send(ctx, state); err != nil {
		log.Warn("systemd could not be notified", "error", err.Error())
	}
}

// listen opens all addresses or none, before anything is served.
func listen(ctx context.Context, addresses []string) ([]net.Listener, error) {
	var out []net.Listener
	var c net.ListenConfig
	for _, at := range addresses {
		l, err := c.Listen(ctx, "tcp", at)
		if err != nil {
			return nil, errors.Join(err, closeAll(out))
		}
		out = append(out, l)
	}
	return out, nil
}

func closeAll(all []net.Listener) error {
	var err error
	for _, l := range all {
		err = errors.Join(err, l.Close())
	}
	return err
}

// alone fails on a world-writable directory: a link there would redirect the writes of the agent, which runs as root.
func alone(dir string) error {
	st, err := os.Stat(dir)
	if err == nil && st.IsDir() && st.Mode().Perm()&0o002 != 0 {
		return fault(phrase.Of("agentjournal.open", "dir", dir, "mode", st.Mode().String()))
	}
	return nil // opening the file reports the error
}

// lockSuffix ends the name of the file by which a journal is locked.
const lockSuffix = ".lock"

// lockJournal locks a journal against other agents until the returned function is called.
func lockJournal(path string) (func() error, error) {
	if err := alone(filepath.Dir(path)); err != nil {
		return nil, phrase.Because(err, phrase.Of("agentjournal.reason", "reason", err))
	}
	f, err := os.OpenFile(path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, phrase.Because(err, phrase.Of("agentjournal.no-directory", "dir", filepath.Dir(path), "file", path, "reason", err))
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, phrase.Because(err, phrase.Of("agentjournal.not-root", "reason", err))
	}
	if err != nil {
		return nil, phrase.Because(err, phrase.Of("agentjournal.reason", "reason", err))
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fault(phrase.Of("agentjournal.taken"))
		}
		return nil, errors.Join(phrase.Because(err, phrase.Of("agentjournal.of", "file", path, "reason", err)), f.Close())
	}
	return f.Close, nil
}
