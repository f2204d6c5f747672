package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"fairlane/agent/cluster"
	"fairlane/agent/host"
	"fairlane/agent/pods"
	"fairlane/agent/pods/bindfile"
	"fairlane/agent/pods/podserve"
	"fairlane/agent/pods/podsock"
	"fairlane/internal/buildinfo"
	"fairlane/internal/phrase"
	"fairlane/internal/usage"
	"fairlane/subnet/ident"
)

// Pods configures the devices of pods.
type Pods struct {
	Socket     string // empty: not served
	State      string
	AllowedUID []uint32
	Bindings   string
	// Of a Kubernetes cluster, in place of Bindings.
	Kubeconfig, Node, PodResources string
}

// podKeys configure the devices of pods.
func podKeys() []Key {
	return []Key{
		textKey("pods.socket", "Unix socket at which the agent serves the CNI plugin, such as "+podsock.DefaultSocket+"; empty: not served", func(c *Config) *string { return &c.Pods.Socket }),
		textKey("pods.state", "Directory of the records of pods, and of requests that the plugin keeps while no agent runs; it belongs to the agent alone", func(c *Config) *string { return &c.Pods.State }),
		{"pods.allowed_uid", "list of numbers", "User ids of processes that may use the socket", func(c *Config, n *yaml.Node) error {
			var names []string
			if err := texts(n, &names); err != nil {
				return err
			}
			c.Pods.AllowedUID = nil
			for i, name := range names {
				uid, err := strconv.ParseUint(name, 10, 32)
				if err != nil {
					return fault(phrase.Of("agentconfig.at", "line", n.Content[i].Line, "text", found(name, phrase.Of("want.range", "min", 0, "max", uint32(1<<32-1)))))
				}
				c.Pods.AllowedUID = append(c.Pods.AllowedUID, uint32(uid))
			}
			return nil
		}, func(c *Config) string { return strings.ReplaceAll(fmt.Sprint(c.Pods.AllowedUID), " ", ", ") }},
		textKey("pods.bindings", "YAML file that binds namespaces to tenants and classes, read again when it changes", func(c *Config) *string { return &c.Pods.Bindings }),
	}
}

// check checks the settings needed for serving pods.
func (p *Pods) check() []error {
	if p.Socket == "" {
		return nil
	}
	var errs []error
	type path struct{ key, value string }
	paths := []path{{"pods.socket", p.Socket}, {"pods.state", p.State}}
	switch {
	case p.Bindings != "" && p.Kubeconfig != "":
		errs = append(errs, fault(phrase.Of("agentconfig.two-bindings")))
	case p.Kubeconfig == "":
		paths = append(paths, path{"pods.bindings", p.Bindings})
	case p.Kubeconfig != inCluster:
		paths = append(paths, path{"pods.kubeconfig", p.Kubeconfig})
	}
	if p.PodResources != "" {
		paths = append(paths, path{"pods.pod_resources", p.PodResources})
	}
	for _, p := range paths {
		if !filepath.IsAbs(p.value) {
			errs = append(errs, fault(phrase.Of("agentconfig.pods-path", "key", p.key, "found", strconv.Quote(p.value))))
		}
	}
	if len(p.AllowedUID) == 0 {
		errs = append(errs, fault(phrase.Of("agentconfig.no-uid")))
	}
	return errs
}

// podService serves the devices of pods.
type podService struct {
	table    *pods.Table
	server   *podserve.Server
	listener net.Listener
	cluster  *cluster.Cluster // nil without one
}

// openTable opens the table of pods.
func openTable(ctx context.Context, c *Config, h *host.Host, b pods.Bindings, log *slog.Logger) (*pods.Table, error) {
	boot, err := h.BootID(ctx)
	if err != nil {
		return nil, err
	}
	return pods.Open(pods.Options{
		Dir: c.Pods.State, Version: buildinfo.Version(), BootID: boot, Bindings: b, Devices: h.PodDevices(), Namespaces: h.NetNamespaces(), Now: time.Now, Log: log,
	})
}

// openPods opens the table of pods and its socket; nil when none is configured.
func openPods(ctx context.Context, c *Config, h *host.Host, log *slog.Logger) (*podService, error) {
	if c.Pods.Socket == "" {
		return nil, nil
	}
	if err := alone(filepath.Dir(c.Pods.State)); err != nil {
		return nil, phrase.Because(err, phrase.Of("agentconfig.pods-state", "reason", err))
	}
	b, on, err := openBindings(c, log)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	table, err := openTable(ctx, c, h, b, log)
	if err != nil {
		return nil, err
	}
	l, err := podserve.Listen(ctx, c.Pods.Socket)
	if err != nil {
		return nil, err
	}
	return &podService{table, podserve.New(podserve.Options{Table: table, Allowed: c.Pods.AllowedUID, Log: log}), l, on}, nil
}

// openBindings opens the source of bindings; the cluster is nil if that is a file.
func openBindings(c *Config, log *slog.Logger) (pods.Bindings, *cluster.Cluster, error) {
	if c.Pods.Kubeconfig == "" {
		b, err := bindfile.Open(c.Pods.Bindings, time.Now, log)
		return b, nil, err
	}
	on, err := openCluster(c, log)
	return on, on, err
}

// tenants returns the source of tenants of functions; nil for a host without pods.
func (p *podService) tenants() func(ident.PortID) map[int]string {
	if p == nil {
		return nil
	}
	return func(port ident.PortID) map[int]string { return p.table.Tenants(port.String()) }
}

// close closes a service that does not run.
func (p *podService) close() error {
	if p == nil {
		return nil
	}
	return p.listener.Close()
}

// run serves until the context ends.
func (p *podService) run(ctx context.Context, every time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { p.table.Run(ctx, every) })
	if p.cluster != nil {
		group.Go(func() { p.cluster.Run(ctx, p.table) })
	}
	err := p.server.Serve(ctx, p.listener)
	stop()
	group.Wait()
	return err
}

func (a *app) podsCommand() *cobra.Command {
	group := &cobra.Command{Use: "pods", Short: a.t("agent.pods.short"), Long: a.t("agent.pods.long"), Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	var asJSON, counters bool
	list := &cobra.Command{
		Use: "list", Short: a.t("agent.pods.list.short"), Long: a.t("agent.pods.list.long"), Args: cobra.NoArgs,
		Example: "  fairlane-agent pods list --config /etc/fairlane-agent/agent.yaml\n  fairlane-agent pods list --counters --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listPods(cmd.Context(), counters, asJSON) },
	}
	list.Flags().BoolVar(&counters, "counters", false, a.t("agent.flag.counters"))
	list.Flags().BoolVar(&asJSON, "json", false, a.t("agent.flag.json"))
	group.AddCommand(list)
	return group
}

// listPods prints the records of the running agent.
func (a *app) listPods(ctx context.Context, counters, asJSON bool) error {
	c, err := a.config()
	if err != nil {
		return err
	}
	socket := c.Pods.Socket
	if socket == "" {
		socket = podsock.DefaultSocket
	}
	records, err := podsock.NewClient(socket).List(ctx, counters || asJSON)
	if errors.Is(err, podsock.ErrUnreachable) {
		if errors.Is(err, fs.ErrPermission) {
			return phrase.Because(err, phrase.Of("agentpods.permission", "socket", socket))
		}
		return phrase.Because(err, phrase.Of("agentpods.unreachable", "socket", socket, "reason", err))
	}
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(podsock.List{Records: records})
	}
	if len(records) == 0 {
		_, err := fmt.Fprintln(a.stdout, a.t("agent.pods.none"))
		return err
	}
	if err := a.printPods(records); err != nil || !counters {
		return err
	}
	var rows [][]string
	for _, r := range records {
		for _, name := range slices.Sorted(maps.Keys(r.Counters)) {
			rows = append(rows, []string{r.Pod.Namespace + "/" + r.Pod.Name, r.Interface, r.Tenant, r.Class, name, strconv.FormatUint(r.Counters[name], 10)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return a.table(a.heads("pod", "interface", "tenant", "class", "counter", "value"), rows)
}

func (a *app) printPods(records []podsock.Record) error {
	rows := make([][]string, len(records))
	for i, r := range records {
		rows[i] = []string{
			r.Pod.Namespace + "/" + r.Pod.Name, r.Interface, cmp.Or(r.Tenant, "-"), cmp.Or(r.Class, "-"), cmp.Or(r.Device, "-"), cmp.Or(r.Found.RDMA, "-"),
			setting(r.Applied.MaxMbps, r.ReadBack.MaxMbps), setting(r.Applied.ShareMbps, r.ReadBack.ShareMbps), setting(r.Applied.TOS, r.ReadBack.TOS), a.stateOf(&r),
		}
	}
	if err := a.table(a.heads("pod", "interface", "tenant", "class", "device", "rdma", "max-mbps", "share-mbps", "tos", "state"), rows); err != nil {
		return err
	}
	for _, r := range records {
		for _, why := range []string{r.Reason, r.Missing} {
			if why == "" {
				continue
			}
			if _, err := fmt.Fprintf(a.stdout, "%s/%s %s: %s\n", r.Pod.Namespace, r.Pod.Name, r.Interface, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// stateOf returns the state of a record.
func (a *app) stateOf(r *podsock.Record) string {
	switch {
	case r.Releasing:
		return a.t("agent.pods.state.releasing")
	case r.Pending:
		return a.t("agent.pods.state.pending")
	case r.Drift:
		return a.t("agent.pods.state.drift")
	case r.Tenant == "":
		return a.t("agent.pods.state.unbound")
	case r.Applied == podsock.Settings{}:
		return a.t("agent.pods.state.recorded")
	default:
		return a.t("agent.pods.state.verified")
	}
}

// setting formats an applied value, with the value that was read back if that differs.
func setting[T uint8 | uint32](applied, read *T) string {
	switch {
	case applied == nil:
		return "-"
	case read == nil:
		return fmt.Sprintf("%d (?)", *applied)
	case *read != *applied:
		return fmt.Sprintf("%d (%d)", *applied, *read)
	}
	return fmt.Sprint(*applied)
}

// checkPods checks whether the files of a configuration for pods exist and are valid.
func checkPods(c *Config) []error {
	if c.Pods.Socket == "" || len(c.Pods.check()) > 0 {
		return nil // CheckServing reports faults
	}
	var out []error
	if err := alone(filepath.Dir(c.Pods.State)); err != nil {
		out = append(out, phrase.Because(err, phrase.Of("agentconfig.pods-state", "reason", err)))
	}
	if _, _, err := openBindings(c, slog.New(slog.DiscardHandler)); err != nil {
		out = append(out, err)
	}
	return out
}
