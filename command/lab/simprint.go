package lab

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"fairlane/command/cmdline"
	"fairlane/internal/quantity"
	"fairlane/internal/stats"
	"fairlane/sim/scenario"
)

// printRun prints the result of an InfiniBand run.
func (a *app) printRun(w io.Writer, r *scenario.Result) error {
	var most quantity.BitRate
	for _, t := range r.Tenants {
		most = max(most, t.DeliveredBps)
	}
	tw := cmdline.NewTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.T("sim.run.head"))
	for _, t := range r.Tenants {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%d\n", t.Name, t.Weight, t.QPs, cmdline.RateBar(t.DeliveredBps, most, '█'), cmdline.Percent(t.Share), t.BECNs)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, a.T("sim.run.totals", "packets", r.Totals.Packets, "hops", r.Totals.Hops,
		"marks", r.Totals.Marks, "jain", fmt.Sprintf("%.4f", r.Jain), "digest", r.Totals.Digest))
	return err
}

// printEtherRun prints the result of an Ethernet run.
func (a *app) printEtherRun(w io.Writer, r *scenario.EtherResult) error {
	var most quantity.BitRate
	for _, t := range r.Tenants {
		most = max(most, t.DeliveredBps)
	}
	tw := cmdline.NewTable(w, 0)
	_, _ = fmt.Fprintln(tw, a.T("sim.ether.head"))
	for _, t := range r.Tenants {
		off := "-"
		if r.ContendedS > 0 {
			off = cmdline.Percent(t.ShareError)
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%s\t%s\t%s\n", t.Name, t.Weight, t.Completed, cmdline.RateBar(t.DeliveredBps, most, '█'), cmdline.Percent(t.Share), off)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if err := a.printSlowdowns(w, r); err != nil {
		return err
	}
	for _, j := range r.Jobs {
		_, _ = fmt.Fprintln(w, a.T("sim.ether.job", "kind", j.Kind, "ranks", j.Ranks, "rounds", j.Rounds,
			"round", fmt.Sprintf("%.1f", j.RoundUs), "bus", fmt.Sprintf("%.1f", j.BusBps/1e9)))
	}
	return a.printEtherTotals(w, r)
}

// printSlowdowns prints the slowdown of flows by size, then by tag and size.
func (a *app) printSlowdowns(w io.Writer, r *scenario.EtherResult) error {
	if len(r.BySize) == 0 {
		return nil
	}
	tw := cmdline.NewTable(w, tabwriter.AlignRight)
	line := func(before string, row stats.SlowdownRow) {
		_, _ = fmt.Fprintf(tw, "%s%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", before, a.sizeName(row), row.Flows, row.Mean, row.P50, row.P95, row.P99, row.Max)
	}
	_, _ = fmt.Fprintln(tw, "\n"+a.T("sim.ether.sizes"))
	for _, row := range append(r.BySize, r.Slowdown) {
		line("", row)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	column := ""
	for _, t := range r.ByTag {
		if t.Column != column {
			column = t.Column
			_, _ = fmt.Fprintln(tw, "\n"+strings.ToUpper(column)+"\t"+a.T("sim.ether.sizes"))
		}
		if len(t.BySize) > 1 {
			for _, row := range t.BySize {
				line(t.Tag+"\t", row)
			}
		}
		line(t.Tag+"\t", t.All)
	}
	return tw.Flush()
}

func (a *app) sizeName(row stats.SlowdownRow) string {
	switch {
	case row.UpTo == 0 && row.Above == 0:
		return a.T("sim.ether.all")
	case row.UpTo == 0:
		return "> " + cmdline.Size(row.Above)
	default:
		return "≤ " + cmdline.Size(row.UpTo)
	}
}

// expectedSize returns an expected size in bytes, which may far exceed the range of an integer.
func expectedSize(bytes float64) string {
	if bytes < 1e13 {
		return cmdline.Size(int64(bytes))
	}
	return fmt.Sprintf("%.4g TB", bytes/1e12)
}

// expectedTime rounds an expected time in seconds; one beyond the range of a Duration becomes its limit.
func expectedTime(seconds float64) time.Duration {
	if seconds >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(seconds * 1e9).Round(100 * time.Millisecond)
}

func (a *app) printEtherTotals(w io.Writer, r *scenario.EtherResult) error {
	t := r.Totals
	if r.Threads > 1 {
		if _, err := fmt.Fprintln(w, a.T("sim.ether.threads", "threads", r.Threads)); err != nil {
			return err
		}
	}
	for _, line := range []string{
		a.T("sim.ether.flows", "completed", r.Flows.Completed, "active", r.Flows.Active, "peak", r.Flows.PeakActive,
			"time", quantity.Picoseconds(r.SimulatedS*1e12), "jain", fmt.Sprintf("%.4f", r.Jain), "use", cmdline.Percent(r.Utilisation)),
		a.T("sim.ether.delay", "p50", fmt.Sprintf("%.1f", r.RTT.P50), "p99", fmt.Sprintf("%.1f", r.RTT.P99), "max", fmt.Sprintf("%.1f", r.RTT.Max),
			"queue", cmdline.Size(r.Queues.BusyP50), "tail", cmdline.Size(r.Queues.BusyP99), "peak", cmdline.Size(r.Queues.Peak)),
		a.T("sim.ether.signals", "marks", t.Marks, "cnps", t.CNPs, "fcnps", t.FCNPs, "pauses", t.Pauses,
			"paused", quantity.Picoseconds(t.PausedS*1e12), "drops", t.Dropped, "resent", cmdline.Size(int64(t.ResentBytes))),
		a.T("sim.ether.totals", "packets", t.SentPackets, "hops", t.Hops, "mean", fmt.Sprintf("%.2f", t.MeanHops), "events", t.Events, "digest", t.Digest),
	} {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// dryRun describes a run without starting it.
func (a *app) dryRun(s *scenario.Scenario, asJSON bool) error {
	est := s.Estimate()
	if asJSON {
		return cmdline.PrintJSON(a.Stdout, est)
	}
	_, err := fmt.Fprintln(a.Stdout, a.T("sim.run.estimate", "name", s.Name, "plane", est.Plane, "hosts", est.Hosts, "switches", est.Switches,
		"links", est.Links, "flows", fmt.Sprintf("%.0f", est.Flows), "bytes", expectedSize(est.Bytes), "hops", fmt.Sprintf("%.1f", est.PacketHops/1e6),
		"limit", s.Duration, "memory", expectedSize(est.MemoryBytes), "time", expectedTime(est.CPUSeconds)))
	if err != nil || len(est.Speeds) < 2 {
		return err
	}
	tw := cmdline.NewTable(a.Stdout, 0)
	_, _ = fmt.Fprintln(tw, "\n"+a.T("sim.run.speeds"))
	for _, v := range est.Speeds {
		marks := "-"
		if v.ECNMax > 0 {
			marks = fmt.Sprintf("%d-%d", v.ECNMin, v.ECNMax)
		}
		alpha := "-"
		if v.PFCAlpha > 0 {
			alpha = fmt.Sprintf("%g", v.PFCAlpha)
		}
		var steps []string
		for _, c := range v.Controls {
			for _, step := range c.Steps {
				steps = append(steps, fmt.Sprintf("%s.%s %s", c.Name, step.Name, quantity.BitRate(step.Bps)))
			}
		}
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%d\t%s\t%s\t%s\n", v.RateBps, v.Links, v.Hosts, marks, alpha, strings.Join(steps, ", "))
	}
	return tw.Flush()
}
