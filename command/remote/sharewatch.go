package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	apiclient "fairlane/api/client"
	"fairlane/api/gen"
	"fairlane/internal/texttable"
)

const (
	// recentTime is the period that the sparklines of share watch cover.
	recentTime = 15 * time.Minute
	// recentCells is the largest number of characters of a sparkline.
	recentCells = 30
)

// shareWatching is a watch of shares.
type shareWatching struct {
	c            *cli
	cmd          *cobra.Command
	client       *apiclient.ClientWithResponses
	fabric       string
	plan, tenant string
	window       time.Duration
	kept         *keptSeries // nil: not opened
	off, said    bool        // the service keeps no series; the watch said that it has no lines
	clear        bool        // on a terminal: each measurement replaces the one before
	blocks       int         // printed
}

// recentShares are the recent shares of tenants, as fractions of their entitlements.
type recentShares struct {
	CellSeconds float64 `json:"cell_seconds"`
	// Tenants has one value for each cell, the latest last; null where nothing was measured.
	Tenants map[string][]*float64 `json:"tenants"`
}

// watchedShares is a measurement with the recent shares before it, as one line of JSON.
type watchedShares struct {
	*gen.Shares

	Recent *recentShares `json:"recent,omitempty"`
}

// shareWatch measures until the context ends, which is its normal end.
func (c *cli) shareWatch(cmd *cobra.Command, plan, tenant string, window, every time.Duration) error {
	w := &shareWatching{c: c, cmd: cmd, plan: plan, tenant: tenant, window: window, clear: onTerminal(cmd.OutOrStdout()) && c.output == "table"}
	for {
		measure := w.once
		if w.blocks > 0 {
			measure = func() error { return c.patiently(cmd, w.once) }
		}
		err := measure()
		if incomplete := new(incompleteError); errors.As(err, &incomplete) { // the next one may be complete
			fmt.Fprintln(cmd.ErrOrStderr(), incomplete)
			err = nil
		}
		if err == nil {
			err = pause(cmd.Context(), every)
		}
		if errors.Is(cmd.Context().Err(), context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// once measures and prints.
func (w *shareWatching) once() error {
	c := w.c
	if w.client == nil {
		client, fabric, err := c.pick(w.cmd)
		if err != nil {
			return err
		}
		w.client, w.fabric = client, fabric
	}
	ms := w.window.Milliseconds()
	s, err := found[gen.Shares](c)(w.client.GetSharesWithResponse(w.cmd.Context(), w.fabric, &gen.GetSharesParams{WindowMs: &ms, Plan: given(w.plan)}))
	if err != nil {
		return err
	}
	recent, err := w.recent()
	if none := new(noSeriesError); errors.As(err, &none) { // the watch continues, without sparklines
		if w.off = none.off; !w.said {
			c.say(w.cmd, "msg.no-lines", "error", none)
		}
		w.said, err = true, nil
	}
	if err != nil {
		return err
	}
	if c.output == "table" {
		switch out := w.cmd.OutOrStdout(); {
		case w.clear:
			fmt.Fprint(out, "\x1b[H\x1b[2J") // cursor home, clear screen
		case w.blocks > 0:
			fmt.Fprintf(out, "\n%s\n", stamp(s.MeasuredAt))
		default:
			fmt.Fprintln(out, stamp(s.MeasuredAt))
		}
	}
	w.blocks++
	return c.showMeasured(w.cmd, s, w.tenant, recent, func(tables ...func() *table) error {
		if c.output == "table" {
			return c.printTables(w.cmd, tables)
		}
		return c.printLine(w.cmd.OutOrStdout(), watchedShares{s, recent})
	})
}

// recent reads the recent shares of tenants; nil without series.
func (w *shareWatching) recent() (*recentShares, error) {
	if w.off {
		return nil, nil
	}
	if w.kept == nil {
		kept, err := w.c.openSeries(w.cmd, w.client, w.fabric)
		if err != nil {
			return nil, err
		}
		w.kept = kept
	}
	cell := max(recentTime/recentCells, 2*w.kept.period)
	n := max(int(recentTime/cell), 1)
	span := "[" + duration(cell) + "]"
	query := "avg_over_time(" + w.kept.selector("fairlane_tenant_delivered_bits_per_second", w.tenant) + span + ") / avg_over_time(" +
		w.kept.selector("fairlane_tenant_entitled_bits_per_second", w.tenant) + span + ")"
	now := time.Now()
	from := now.Add(-time.Duration(n) * cell)
	list, err := w.kept.over(query, from.Add(cell), now, cell)
	if err != nil {
		return nil, err
	}
	out := &recentShares{CellSeconds: cell.Seconds(), Tenants: map[string][]*float64{}}
	at := &shareSteps{from: from, step: cell, n: n}
	for _, x := range list {
		cells := make([]*float64, n)
		at.each(x.Values, func(i int, v float64) { cells[i] = &v })
		out.Tenants[x.Metric["tenant"]] = cells
	}
	return out, nil
}

// line draws the cells of a tenant; nothing without any.
func (r *recentShares) line(tenant string) string { return sparkline(r.Tenants[tenant]) }

// sparkline draws fractions from 0 to 1 as blocks of an eighth; larger ones are full blocks. What was not measured is a dot: nothing is
// drawn between two measurements.
func sparkline(cells []*float64) string {
	var b strings.Builder
	for _, v := range cells {
		if v == nil {
			b.WriteRune('·')
			continue
		}
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[int(math.Round(7*min(max(*v, 0), 1)))])
	}
	return b.String()
}

// recentTable is shareTable with a sparkline of recent shares.
func (c *cli) recentTable(s *gen.Shares, recent *recentShares) *table {
	t := c.shareTable(s)
	if t == nil {
		return nil
	}
	t.head[len(t.head)-1] = c.t("col.recent")
	for i := range t.rows {
		row := t.rows[i]
		if x := &s.Tenants[i]; x.DeliveredBps != nil || x.Problem == nil { // a problem says why there is no rate
			row[len(row)-1] = texttable.Cell{Text: recent.line(x.Tenant)}
		}
	}
	return t
}

// printLine prints data as a line of JSON, or as a document of YAML.
func (c *cli) printLine(w io.Writer, data any) error {
	b, err := json.Marshal(data)
	if err == nil && c.output == "yaml" {
		if b, err = toYAML(b); err == nil {
			b = append([]byte("---\n"), b[:len(b)-1]...)
		}
	}
	if err != nil {
		return fmt.Errorf("encode output: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// onTerminal reports whether w is a character device.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && terminal(f)
}

func terminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
