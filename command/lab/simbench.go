package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/internal/phrase"
	"fairlane/internal/progress"
	"fairlane/internal/usage"
	"fairlane/sim/scenario"
)

// simBenchmarks are the default workloads of sim bench.
func simBenchmarks() []string {
	return []string{"incast20", "fattree128", "fattree128-hpcc", "fattree320", "dualdc", "flows10k", "ib16"}
}

// simBench is one element of the output of `fairlane sim bench --json`. CPU time is that of all threads, user and
// system, including the garbage collector. Time starts before the scenario is read; CPUS excludes what the process used
// before that, and IdleRSS is its memory at that point.
type simBench struct {
	Workload    string  `json:"workload"`
	Threads     int     `json:"threads"`
	PacketHops  uint64  `json:"packet_hops"`
	Events      uint64  `json:"events"`
	WallS       float64 `json:"wall_s"`
	CPUS        float64 `json:"cpu_s"`
	HopsPerCPUS float64 `json:"packet_hops_per_cpu_s"`
	PeakRSS     int64   `json:"peak_rss_bytes"`
	IdleRSS     int64   `json:"idle_rss_bytes"`
	SimulatedS  float64 `json:"simulated_s"`
	Flows       uint64  `json:"flows"`
	PeakFlows   int     `json:"peak_flows"`
}

// threadedBenchmarks returns those of simBenchmarks that several threads can share.
func threadedBenchmarks() []string {
	return []string{"fattree128", "fattree128-hpcc", "fattree320", "dualdc"}
}

func (a *app) simBenchCommand() *cobra.Command {
	var asJSON, child bool
	var threads int
	cmd := &cobra.Command{
		Use: "bench [SCENARIO...]", Short: a.T("sim.bench.short"),
		Long: a.T("sim.bench.long", "workloads", strings.Join(simBenchmarks(), ", "), "threaded", strings.Join(threadedBenchmarks(), ", ")),
		Example: `  fairlane sim bench
  fairlane sim bench incast20 fattree128 --json
  fairlane sim bench fattree320 --threads 2`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if child {
				if len(args) != 1 {
					return usage.Of(phrase.Of("usage.one-scenario", "n", len(args)))
				}
				return a.benchHere(cmd.Context(), args[0], threads)
			}
			return a.runSimBench(cmd.Context(), args, threads, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, a.T("flag.json"))
	cmd.Flags().IntVar(&threads, "threads", 1, a.T("sim.bench.flag.threads"))
	cmd.Flags().BoolVar(&child, "child", false, a.T("sim.bench.flag.child"))
	cmd.Flags().Lookup("child").Hidden = true
	return cmd
}

// runSimBench runs each workload in a separate process, one after another: on one thread and, on request, again on
// several.
func (a *app) runSimBench(ctx context.Context, names []string, threads int, asJSON bool) error {
	if len(names) == 0 {
		if names = simBenchmarks(); threads > 1 {
			names = threadedBenchmarks()
		}
	}
	for _, name := range names { // report all faults before the first run
		if err := checkBench(name, threads); err != nil {
			return usage.Wrap(err)
		}
	}
	counts := []int{1}
	if threads > 1 {
		counts = append(counts, threads)
	}
	p := progress.On(a.Stderr)
	defer p.Clear()
	results := make([]simBench, 0, len(names)*len(counts))
	for _, name := range names {
		for _, n := range counts {
			p.Show(a.T("sim.bench.progress", "name", name, "number", len(results)+1, "of", len(names)*len(counts)))
			r, err := benchChild(ctx, name, n, a.Stderr)
			if err != nil {
				return err
			}
			results = append(results, r)
		}
	}
	p.Clear()
	if asJSON {
		return cmdline.PrintJSON(a.Stdout, results)
	}
	return a.printBench(a.Stdout, results)
}

func checkBench(name string, threads int) error {
	s, err := scenario.Load(name)
	if err != nil {
		return err
	}
	if err := s.SetThreads(threads); err != nil {
		return phrase.Because(err, phrase.Of("scenario.reason", "scenario", s.Name, "reason", err))
	}
	return nil
}

// benchChild runs one workload in a new process of this binary.
func benchChild(ctx context.Context, name string, threads int, stderr io.Writer) (simBench, error) {
	exe, err := os.Executable()
	if err != nil {
		return simBench{}, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, "sim", "bench", "--child", "--threads", strconv.Itoa(threads), "--", name)
	cmd.Args[0] = os.Args[0]
	var words bytes.Buffer // if Ctrl-C ends the child too, its messages repeat the parent's
	cmd.Stderr = &words
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return simBench{}, fmt.Errorf("bench %s: %w", name, ctx.Err())
	}
	_, _ = stderr.Write(words.Bytes())
	if err != nil {
		return simBench{}, fmt.Errorf("bench %s: %w", name, err)
	}
	var r simBench
	if err := json.Unmarshal(out, &r); err != nil {
		return simBench{}, fmt.Errorf("bench %s: result of the child process: %w", name, err)
	}
	return r, nil
}

// benchHere runs one workload in this process and prints its record.
func (a *app) benchHere(ctx context.Context, name string, threads int) error {
	idle, err := usageNow()
	if err != nil {
		return err
	}
	begun := time.Now()
	s, err := scenario.Load(name)
	if err != nil {
		return usage.Wrap(err)
	}
	if err := s.SetThreads(threads); err != nil {
		return usage.Wrap(phrase.Because(err, phrase.Of("scenario.reason", "scenario", s.Name, "reason", err)))
	}
	w, err := scenario.Drive(ctx, s)
	if err != nil {
		return err
	}
	wall := time.Since(begun)
	used, err := usageNow()
	if err != nil {
		return err
	}
	r := simBench{
		Workload: name, Threads: threads, PacketHops: w.PacketHops, Events: w.Events, WallS: wall.Seconds(), CPUS: (used.cpu - idle.cpu).Seconds(),
		PeakRSS: used.peak, IdleRSS: idle.rss, SimulatedS: w.SimulatedS, Flows: w.Flows, PeakFlows: w.PeakFlows,
	}
	if r.CPUS > 0 {
		r.HopsPerCPUS = float64(r.PacketHops) / r.CPUS
	}
	return json.NewEncoder(a.Stdout).Encode(r)
}

// resources are the resources that a process has used so far.
type resources struct {
	cpu       time.Duration // user and system, of all threads
	rss, peak int64         // resident bytes: current and maximum since the start
}

// usageNow reads the usage from the kernel.
func usageNow() (resources, error) {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return resources{}, fmt.Errorf("getrusage: %w", err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return resources{}, fmt.Errorf("memory of this process: %w", err)
	}
	u := resources{cpu: time.Duration(ru.Utime.Nano() + ru.Stime.Nano())}
	var errs [2]error
	u.rss, errs[0] = statusBytes(string(status), "VmRSS")
	u.peak, errs[1] = statusBytes(string(status), "VmHWM")
	return u, errors.Join(errs[:]...)
}

// statusBytes reads one line of /proc/PID/status, such as "VmHWM:	   12345 kB" (proc(5)).
func statusBytes(status, field string) (int64, error) {
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		if name != field {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s of /proc/self/status: %w", field, err)
		}
		return kb << 10, nil
	}
	return 0, fmt.Errorf("/proc/self/status has no %s", field)
}

func (a *app) printBench(w io.Writer, results []simBench) error {
	tw := cmdline.NewTable(w, tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, a.T("sim.bench.head"))
	for _, r := range results {
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%d\t%d\t\n", r.Workload, r.Threads, float64(r.PacketHops)/1e6, float64(r.Events)/1e6,
			r.WallS, r.CPUS, r.HopsPerCPUS/1e6, float64(r.PeakRSS-r.IdleRSS)/1e6, r.Flows, r.PeakFlows)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for i := 1; i < len(results); i++ {
		if one, many := &results[i-1], &results[i]; many.Threads > 1 && many.WallS > 0 {
			if _, err := fmt.Fprintln(w, a.T("sim.bench.ratio", "name", many.Workload, "threads", many.Threads, "ratio", fmt.Sprintf("%.2f", one.WallS/many.WallS))); err != nil {
				return err
			}
		}
	}
	return nil
}
