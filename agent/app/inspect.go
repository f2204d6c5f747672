package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"fairlane/agent"
	"fairlane/agent/host"
	"fairlane/agent/pods"
	"fairlane/agent/pods/podsock"
	"fairlane/ccconfig/gnmi/gnmitree"
	"fairlane/ccconfig/nic/nicyang"
	"fairlane/internal/buildinfo"
	"fairlane/internal/phrase"
	"fairlane/internal/servertls"
	"fairlane/internal/usage"
)

// openReadOnly opens an agent that writes nothing, for one command; with restores it writes only restored values.
func (a *app) openReadOnly(ctx context.Context, c *Config, restores bool) (*agent.Agent, *host.Host, error) {
	o := c.hostOptions()
	o.Quiet, o.ReadOnly = true, !restores
	h, err := host.Open(o)
	if err != nil {
		return nil, nil, err
	}
	if !restores { // otherwise no pod holds a device any more when the agent writes
		if err := heldByRecords(ctx, c, h); err != nil {
			return nil, nil, errors.Join(err, h.Close())
		}
	}
	quiet := *c
	quiet.LogLevel = "warn"
	log, _ := quiet.logger(a.stderr)
	on, err := agent.New(ctx, agent.Options{Host: h, Journal: agent.NewFileJournal(c.Journal), Now: time.Now, Version: buildinfo.Version(), Passive: true, Fresh: time.Minute, FreshNV: time.Minute, Log: log})
	if err != nil {
		return nil, nil, errors.Join(err, h.Close())
	}
	return on, h, nil
}

// heldByRecords makes a host show the functions that pods hold as the running agent does.
func heldByRecords(ctx context.Context, c *Config, h *host.Host) error {
	boot, err := h.BootID(ctx)
	if err != nil {
		return err
	}
	beneath, err := pods.ReadBeneath(c.Pods.State, boot)
	if err != nil {
		return err
	}
	h.HeldBy(recorded(beneath))
	return nil
}

// recorded is the functions that pods hold by the records of the running agent; nothing can be set.
type recorded map[string]podsock.Settings

var errReadOnly = errors.New("only the running agent sets the functions that pods hold")

func (r recorded) Beneath() map[string]podsock.Settings { return r }

func (recorded) Hold(context.Context, []string) (func(), error) { return nil, errReadOnly }

func (recorded) SetBeneath(string, podsock.Settings) error { return errReadOnly }

// checked is the output of check.
type checked struct {
	Config   string         `json:"config"` // path; empty for the defaults
	Problems []string       `json:"problems"`
	NICs     []checkedNIC   `json:"nics"`
	Ways     []host.Finding `json:"ways"`
	Notes    []host.Note    `json:"notes"`
}

type checkedNIC struct {
	Name     string        `json:"name"`
	Model    string        `json:"model"`
	Firmware string        `json:"firmware"`
	Driver   string        `json:"driver"`
	Problem  string        `json:"problem,omitempty"`
	Ports    []checkedPort `json:"ports"`
}

type checkedPort struct {
	Number int    `json:"number"`
	ID     string `json:"id"`
	NetDev string `json:"net_dev"`
	RDMA   string `json:"rdma_device"`
	Params int    `json:"params"` // number with a value now
	// Algorithm is the port's congestion-control algorithm, and Evidence what shows it.
	Algorithm string `json:"algorithm"`
	Evidence  string `json:"algorithm_evidence"`
}

func (a *app) checkCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check", Short: a.t("agent.check.short"), Long: a.t("agent.check.long"), Args: cobra.NoArgs,
		Example: "  fairlane-agent check --config /etc/fairlane-agent/agent.yaml\n  fairlane-agent check --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.check(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.t("agent.flag.json"))
	return cmd
}

func (a *app) check(ctx context.Context, asJSON bool) (err error) {
	c, err := a.config()
	if err != nil {
		return err
	}
	out := checked{Config: a.path, Problems: []string{}, NICs: []checkedNIC{}, Ways: []host.Finding{}, Notes: []host.Note{}}
	if a.path != "" {
		for _, e := range slices.Concat(parts(c.CheckServing()), files(&c), checkPods(&c)) {
			said := a.text.Error(e)
			if asJSON {
				said = e.Error() // in English, for programs
			}
			out.Problems = append(out.Problems, said)
		}
	}
	on, h, err := a.openReadOnly(ctx, &c, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	nics, err := h.NICs(ctx)
	if err != nil {
		return err
	}
	for _, n := range nics {
		one := checkedNIC{Name: n.Name, Model: n.Model, Firmware: n.Firmware, Driver: n.Driver, Problem: n.Problem, Ports: []checkedPort{}}
		for _, p := range n.Ports {
			values, err := on.Get(ctx, gnmitree.Query{Paths: []gnmitree.Path{nicyang.Port(n.Name, p.Number).Child("params")}, Type: gnmitree.TypeConfig})
			if err != nil {
				return err
			}
			one.Ports = append(one.Ports, checkedPort{p.Number, p.ID.String(), p.NetDev, p.RDMA, len(values[0]), string(p.Algorithm.Name), p.Algorithm.Evidence})
		}
		out.NICs = append(out.NICs, one)
	}
	report := h.Report()
	out.Ways, out.Notes = append(out.Ways, report.Findings...), append(out.Notes, report.Notes...)
	if err := a.printChecked(&out, asJSON); err != nil {
		return err
	}
	if n := len(out.Problems); n > 0 {
		return usage.Wrap(errors.New(a.t("agent.check.problems", "count", n)))
	}
	return nil
}

// parts splits a joined error.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

// files checks whether the files of a configuration exist and are valid.
func files(c *Config) []error {
	var out []error
	if st, err := os.Stat(filepath.Dir(c.Journal)); err != nil || !st.IsDir() {
		out = append(out, fault(phrase.Of("agentjournal.want-directory", "dir", filepath.Dir(c.Journal))))
	} else if err := alone(filepath.Dir(c.Journal)); err != nil {
		out = append(out, phrase.Because(err, phrase.Of("agentjournal.reason", "reason", err)))
	}
	complete := c.secure()
	for _, f := range []struct{ name, path string }{{"tls.certificate", c.Certificate}, {"tls.key", c.Key}, {"tls.client_ca", c.ClientCA}} {
		if f.path == "" {
			complete = false
			continue
		}
		if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
			complete = false
			out = append(out, fault(phrase.Of("agentconfig.want-file", "key", f.name, "file", f.path)))
		}
	}
	if !complete {
		return out
	}
	if _, err := servertls.Open(c.tlsFiles(), nil); err != nil {
		return append(out, fmt.Errorf("tls: %w", err))
	}
	until, _, err := servertls.Expiry(c.Certificate, c.Key)
	if now := time.Now(); err == nil && now.After(until) {
		out = append(out, fault(phrase.Of("agentconfig.expired", "file", c.Certificate, "until", until.UTC().Format(time.RFC3339), "now", now.UTC().Format(time.RFC3339))))
	}
	return out
}

func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (a *app) printChecked(c *checked, asJSON bool) error {
	if asJSON {
		return a.printJSON(c)
	}
	for _, p := range c.Problems {
		if _, err := fmt.Fprintln(a.stdout, a.t("agent.check.problem", "problem", p)); err != nil {
			return err
		}
	}
	if len(c.NICs) == 0 {
		if _, err := fmt.Fprintln(a.stdout, a.t("agent.check.none")); err != nil {
			return err
		}
	}
	var rows [][]string
	for _, n := range c.NICs {
		for _, p := range n.Ports {
			rows = append(rows, []string{n.Name, strconv.Itoa(p.Number), p.ID, p.NetDev, p.RDMA, n.Model, n.Firmware, n.Driver, p.Algorithm, strconv.Itoa(p.Params)})
		}
		if len(n.Ports) == 0 {
			rows = append(rows, []string{n.Name, "-", "-", "-", "-", n.Model, n.Firmware, n.Driver, "-", n.Problem})
		}
	}
	if len(rows) > 0 {
		if err := a.table(a.heads("nic", "port", "id", "net-dev", "rdma", "model", "firmware", "driver", "algorithm", "params"), rows); err != nil {
			return err
		}
	}
	rows = nil
	for _, f := range c.Ways {
		found := a.t("agent.no")
		if f.Found {
			found = a.t("agent.yes")
		}
		rows = append(rows, []string{f.NIC, strconv.Itoa(f.Port), string(f.Backend), found, strconv.Itoa(f.Params), f.Why})
	}
	if len(rows) > 0 {
		if err := a.table(a.heads("nic", "port", "way", "found", "params", "why"), rows); err != nil {
			return err
		}
	}
	for _, n := range c.Notes {
		if _, err := fmt.Fprintf(a.stdout, "%s: %s\n", n.What, n.Why); err != nil {
			return err
		}
	}
	return nil
}

// heads returns the headers of columns.
func (a *app) heads(names ...string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = a.t("agent.col." + n)
	}
	return out
}

func (a *app) getCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "get [PATH]", Short: a.t("agent.get.short"), Long: a.t("agent.get.long"), Args: cobra.MaximumNArgs(1),
		Example: "  fairlane-agent get /nics\n  fairlane-agent get '/nics/nic[name=*]/ports/port[number=1]/params/param[name=rpg_gd]' --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.get(cmd.Context(), append(args, "/")[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.t("agent.flag.json"))
	return cmd
}

func (a *app) get(ctx context.Context, path string, asJSON bool) (err error) {
	p, err := gnmitree.ParsePath(path)
	if err != nil {
		return usage.Wrap(err)
	}
	c, err := a.config()
	if err != nil {
		return err
	}
	on, h, err := a.openReadOnly(ctx, &c, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	found, err := on.Get(ctx, gnmitree.Query{Paths: []gnmitree.Path{p}})
	if err != nil {
		return err
	}
	leaves := found[0][:0]
	for _, l := range found[0] {
		if p.Covers(l.Path) {
			leaves = append(leaves, l)
		}
	}
	if len(leaves) == 0 && len(p.Elems) > 0 {
		return errors.New(a.t("agent.get.nothing", "path", p.String()))
	}
	if asJSON {
		_, err := fmt.Fprintf(a.stdout, "%s\n", gnmitree.Compose(gnmitree.Path{}, leaves, gnmitree.EncodingJSONIETF, nicyang.Module))
		return err
	}
	for _, l := range leaves {
		if _, err := fmt.Fprintf(a.stdout, "%s %s\n", l.Path, shown(l.Value)); err != nil {
			return err
		}
	}
	return nil
}

// shown formats a value on one line, untruncated.
func shown(v gnmitree.Value) string {
	if s, err := v.AsString(); err == nil {
		return strconv.Quote(s)
	}
	if list := v.List(); len(list) > 0 {
		s := ""
		for i, m := range list {
			if i > 0 {
				s += " "
			}
			s += shown(m)
		}
		return s
	}
	if n, err := v.AsUint(); err == nil {
		return strconv.FormatUint(n, 10)
	}
	return v.String()
}
